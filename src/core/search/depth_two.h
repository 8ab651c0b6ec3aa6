// Depth 2, the inner loop of the search: a split whose children are stumps.
//
// For a threshold the weight w of a sample that reaches both children is shared, w = a + b. The best stump of each
// child under these weights is found by scans, and
//
//     cost(split) >= stump(left; a) + stump(right; b),
//
// because a lost shared sample costs a + b, of which the children charge a, b or both. Joined, the two stumps are a
// real tree. Where they disagree on a shared sample, weight moves to the child that loses it: a subgradient step, as
// long as the cutoff is far (Polyak). What remains of a gap is closed by branching on samples.
//
// A range of thresholds t1..t2. Who reaches left at t1 does so at every later threshold, who reaches right at t2 at
// every earlier one. Charging only these bounds the cost of the whole range at the price of one threshold.
//
// Witness. No bound of a range exceeds what any pair of stumps costs there. The pair that was joined last is often
// cheap at the next range, too: pricing it is one pass, and if it costs less than the cutoff, no feature is scanned.
#pragma once

#include "search/depth_two_node.h"
#include "search/stump_pair.h"

namespace hardwood::search
{
// The node of depth 2 for the problem's classes and limits.
[[nodiscard]] std::unique_ptr<Node> makeDepthTwo(Workspace &work, Index level);

template <class Classes>
class DepthTwo final : public DepthTwoNode
{
    using Stumps = StumpPair<Classes>;
    using Choice = typename Stumps::Choice;
    using Number = typename Classes::Number;

    struct Joined
    {
        Weight cost;      // of the real tree
        Index nDisputed;  // shared samples that exactly one side loses
        Index heaviest;   // of these, by place; -1: none
    };

    PlacedRanks ranks_;
    Stumps stumps_;
    // By place in the node:
    Array<Label> label_;
    Array<Weight> own_;
    Array<std::uint8_t> reach_;                // 1: left, 2: right, 3: both
    Array<std::uint8_t> wrong_;                // the same bits: who loses it
    std::array<Array<std::uint8_t>, 2> lost_;  // who is lost by the stump of each side
    Array<Sample> shared_;                     // samples that reach both sides
    Array<Sides<Number>> parts_;               // what the sides charge for them
    Array<Sample> disputed_;                   // shared samples that exactly one side loses
    Index nShared_ = 0;
    Index nDisputed_ = 0;
    bool hasStumps_ = false;
    bool knowsLost_ = false;  // whether `lost_` is theirs

    void fill(Span<Event const> source, Index sourceWidth) override;
    void keepEvents(Index feature, Span<Event const> source);
    void takeWeights() override;
    void markReach(Index feature, Rank first, Rank last);
    void setSides(Index feature, Rank first, Rank last);
    void countCertain(Index feature, Rank first, Rank last);
    void markLost(Stump const &stump, Span<std::uint8_t> lost);
    void findWrong();
    [[nodiscard]] Weight costOfPair() const;
    [[nodiscard]] Joined join(Choice const &choice);
    [[nodiscard]] bool isCheapAgain(Weight cutoff);
    void moveWeight(Index feature, Weight step);
    [[nodiscard]] Outcome evaluate(Index feature, Weight cutoff, Index rounds, bool isRange);
    void begin(Index feature) override;
    [[nodiscard]] Outcome look(Index feature, Index first, Index last, Weight cutoff) override;
    [[nodiscard]] Outcome settle(Index feature, Rank threshold, Weight cutoff, Index firstSample) override;

public:
    DepthTwo(Workspace &work, Index level);
};
}  // namespace hardwood::search
