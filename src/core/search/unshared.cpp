#include "search/unshared.h"

namespace hardwood::search
{
bool usesBlocks(Problem const &problem, Options const &options)
{
    auto const isLarge = problem.nSamples >= options.blocksFrom;
    return problem.sharesNothing && problem.minLeaf == 0 && options.useBlocks && isLarge;
}

std::unique_ptr<Node> makeUnshared(Workspace &work, Index level)
{
    // No sum exceeds what all samples weigh.
    if (work.problem.forbidden < std::numeric_limits<std::int32_t>::max())
        return std::make_unique<Unshared<std::int32_t>>(work, level);
    return std::make_unique<Unshared<Weight>>(work, level);
}

template <class Number>
Unshared<Number>::Unshared(Workspace &work, Index level)
    : DepthTwoNode(work, level), stumps_(work), cut_(static_cast<std::size_t>(work.problem.nFeatures))
{
}

template <class Number>
void Unshared<Number>::fill(Span<Event const> source, Index sourceWidth)
{
    auto const n = problem_.nSamples;
    makeRoom(places_, size_ + 1, n + 1);
    makeRoom(rank_, size_ + 1, n + 1);
    makeRoom(own_, size_, n);
    stumps_.open(ids());
    for (Index j = 0; j < problem_.nFeatures && !work_.shouldStop(); ++j)
    {
        work_.lookedAt(sourceWidth);
        auto const rank = problem_.upper(j);
        Index nKept = 0;
        for (auto const event : rowOf(source, sourceWidth, j))
        {
            auto const place = work_.place[event.sample()];
            places_[nKept] = static_cast<Sample>(place);
            rank_[nKept] = rank[event.sample()];
            nKept += Index{place >= 0} & Index{event.isUpper()};
        }
        stumps_.order(j, places_.view().part(0, size_), rank_.view().part(0, size_));
        auto &cut = cut_[static_cast<std::size_t>(j)];
        cut.clear();
        for (Index k = 0; k + 1 < size_; ++k)
            if (rank_[k] != rank_[k + 1])
                cut.push_back(static_cast<Sample>(k + 1));
        noteValues(j, rank_.view().part(0, size_));
    }
}

template <class Number>
void Unshared<Number>::takeWeights()
{
    for (Index k = 0; k < size_; ++k)
        own_[k] = weight_[ids_[k]];
    stumps_.takeWeights(own_.view());
}

template <class Number>
DepthTwoNode::Outcome Unshared<Number>::look(Index feature, Index first, Index last, Weight cutoff)
{
    ++counters_.evaluations;
    auto const &cut = cut_[static_cast<std::size_t>(feature)];
    stumps_.setSides(cut[static_cast<std::size_t>(first)], cut[static_cast<std::size_t>(last)]);
    auto const isRange = first != last;
    auto const [verdict, cost] = stumps_.choose(cutoff, counters_.scans, isRange && work_.options.useEarlyJoin);
    if (verdict == Verdict::found && !isRange)
        for (std::size_t side = 0; side < 2; ++side)
            stump_[side] = stumps_.stump(static_cast<Index>(side));
    return {verdict, cost};
}

template <class Number>
DepthTwoNode::Outcome Unshared<Number>::settle(Index, Rank, Weight, Index)
{
    throw std::logic_error("a gap remains where nothing is shared");
}

template class Unshared<std::int32_t>;
template class Unshared<Weight>;
}  // namespace hardwood::search
