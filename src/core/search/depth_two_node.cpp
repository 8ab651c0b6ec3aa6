#include "search/depth_two_node.h"

namespace hardwood::search
{
void DepthTwoNode::writeSettled(Index feature)
{
    if (work_.proof == nullptr)
        return;
    writeShares(feature);
    work_.proof->settled();
}

SweepEnd DepthTwoNode::sweep(Index feature, Weight cutoff, Index start)
{
    if (start == 0)
    {
        listActive(feature, cutoff);
        if (nActive() > 0)
            begin(feature);
    }
    Index position = start;
    while (position < nActive() && !work_.shouldStop())
    {
        cutoff = share(feature, position, cutoff);
        if (isAnswered())
            return takeAnswer(position);
        auto const last = std::min(position + width_, nActive()) - 1;
        auto const firstCandidate = active(position);
        auto const lastCandidate = active(last);
        auto const isRange = firstCandidate != lastCandidate;
        auto outcome = look(feature, firstCandidate, lastCandidate, cutoff);
        if (outcome.verdict == Verdict::stopped)
            break;
        if (outcome.verdict == Verdict::pruned)
        {
            if (work_.proof != nullptr)
                writeRange(feature, firstCandidate, lastCandidate);
            writeSettled(feature);
            remember(feature, firstCandidate, lastCandidate, outcome.value);
            position = last + 1;
            widen();
            continue;
        }
        if (isRange)
        {
            width_ = std::max<Index>(1, (last - position + 1) / 2);
            continue;
        }
        if (outcome.verdict == Verdict::undecided && canPutOff())
        {
            if (sharing_ != nullptr)
                sharing_->missed(outcome.nearest, Tree::join(feature, candidates(feature).at(firstCandidate),
                                                             Tree::of(stump_[0]), Tree::of(stump_[1])));
            putOff(feature, firstCandidate, cutoff);
            ++position;
            continue;
        }
        auto const threshold = candidates(feature).at(firstCandidate);
        if (outcome.verdict == Verdict::undecided)
        {
            if (work_.proof != nullptr)
                writeRange(feature, firstCandidate, lastCandidate);
            outcome = settle(feature, threshold, cutoff, outcome.sample);
        }
        if (outcome.verdict == Verdict::stopped)
            break;
        if (outcome.verdict == Verdict::pruned)
        {
            remember(feature, firstCandidate, lastCandidate, cutoff);
            ++position;
            continue;
        }
        found_ = Tree::join(feature, threshold, Tree::of(stump_[0]), Tree::of(stump_[1]));
        return {true, outcome.value, position};
    }
    return {false, cutoff, nActive()};
}
}  // namespace hardwood::search
