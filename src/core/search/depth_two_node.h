// A node whose children are stumps: the sweep over its thresholds, whatever the way in which the stumps are found.
//
// A range of candidates is looked at as a whole: is it settled, doomed to be halved, or, if it is one threshold, is
// there a pair of stumps below the cutoff? `DepthTwo` answers where samples may reach both children, `Unshared` where
// none does.
#pragma once

#include "search/node.h"

namespace hardwood::search
{
class DepthTwoNode : public Node
{
protected:
    struct Outcome
    {
        Verdict verdict = Verdict::undecided;
        Weight value = 0;             // pruned: the bound, found: the cost
        Index sample = -1;            // undecided: the disputed sample of largest weight, by place
        Weight nearest = everything;  // undecided: what the pair that was joined last costs
    };

    std::array<Stump, 2> stump_;  // the pair that was joined last

    // Called before the first threshold of a feature is looked at.
    virtual void begin(Index feature) = 0;
    // Look at the candidates first..last of the feature.
    [[nodiscard]] virtual Outcome look(Index feature, Index first, Index last, Weight cutoff) = 0;
    // Close what remains of the gap of one threshold, by branching on the sample first.
    [[nodiscard]] virtual Outcome settle(Index feature, Rank threshold, Weight cutoff, Index sample) = 0;
    void writeSettled(Index feature);

public:
    DepthTwoNode(Workspace &work, Index level) : Node(work, level, 2) {}
    [[nodiscard]] SweepEnd sweep(Index feature, Weight cutoff, Index start) final;
};
}  // namespace hardwood::search
