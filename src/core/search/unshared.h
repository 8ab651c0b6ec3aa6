// Depth 2 where every box is a point: no sample is shared, so nothing is divided, disputed or branched on.
//
// What the two best stumps cost together is the cost of the split, and the bound of a threshold is exact. All that is
// left of `DepthTwo` is ranges of thresholds and lazy scans, and the scans read blocks of samples (see BlockStumps).
#pragma once

#include "search/block_stumps.h"
#include "search/depth_two_node.h"

namespace hardwood::search
{
// Whether nodes of depth 2 are of this kind.
[[nodiscard]] bool usesBlocks(Problem const &problem, Options const &options);
[[nodiscard]] std::unique_ptr<Node> makeUnshared(Workspace &work, Index level);

template <class Number>
class Unshared final : public DepthTwoNode
{
    BlockStumps<Number> stumps_;
    Array<Sample> places_;                  // scratch: the order of one feature
    Array<Rank> rank_;                      // scratch: ranks along it
    Array<Weight> own_;                     // by place
    std::vector<std::vector<Sample>> cut_;  // by feature and candidate: how many samples go left

    void fill(Span<Event const> source, Index sourceWidth) override;
    void takeWeights() override;
    void begin(Index feature) override { stumps_.begin(feature); }
    [[nodiscard]] Outcome look(Index feature, Index first, Index last, Weight cutoff) override;
    [[nodiscard]] Outcome settle(Index feature, Rank threshold, Weight cutoff, Index sample) override;

public:
    Unshared(Workspace &work, Index level);
};
}  // namespace hardwood::search
