#include "search/problem.h"

#include <algorithm>

namespace hardwood::search
{
// Counting sort by (rank, upper), samples in order where they tie: O(n + ranks).
void Problem::sortEvents(Index feature, Span<Event> row) const
{
    auto const lowers = lower(feature);
    auto const uppers = upper(feature);
    // Ranks go from -1 (minus infinity) to nRanks (infinity).
    auto const keyOf = [](Rank rank, bool isUpper) { return 2 * (Index{rank} + 1) + (isUpper ? 1 : 0); };
    Array<std::uint32_t> start(2 * (nRanks[feature] + 2) + 1);
    for (Index i = 0; i < nSamples; ++i)
    {
        ++start[keyOf(lowers[i], false) + 1];
        ++start[keyOf(uppers[i], true) + 1];
    }
    for (Index key = 1; key < start.size(); ++key)
        start[key] += start[key - 1];
    for (Index i = 0; i < nSamples; ++i)
    {
        row[start[keyOf(lowers[i], false)]++] = Event(i, false);
        row[start[keyOf(uppers[i], true)]++] = Event(i, true);
    }
}

void Problem::orderEvents(bool keepsEvents)
{
    sharesNothing = std::equal(lowerRank.begin(), lowerRank.end(), upperRank.begin());
    if (!keepsEvents)
        return;
    events = Array<Event>::unwritten(nFeatures * 2 * nSamples);
    for (Index j = 0; j < nFeatures; ++j)
        sortEvents(j, events.view().part(j * 2 * nSamples, 2 * nSamples));
}

Span<Event const> Problem::eventsOf(Index feature, Array<Event> &scratch) const
{
    if (!events.empty())
        return events.view().part(feature * 2 * nSamples, 2 * nSamples);
    if (scratch.empty())
        scratch = Array<Event>::unwritten(2 * nSamples);
    sortEvents(feature, scratch.view());
    return scratch.view();
}

Problem Problem::part(Span<Index const> samples, Span<Weight const> weights) const
{
    Problem part;
    part.nSamples = samples.size();
    part.nFeatures = nFeatures;
    part.nClasses = nClasses;
    part.nRanks = Array<Index>::copy(nRanks.view());
    part.weight = Array<Weight>::copy(weights);
    part.penalty = penalty;
    part.forbidden = forbidden;
    part.minLeaf = minLeaf;
    auto const chosen = [&]<class T>(Span<T const> all)
    {
        auto some = Array<T>::unwritten(samples.size());
        for (Index k = 0; k < samples.size(); ++k)
            some[k] = all[samples[k]];
        return some;
    };
    part.label = chosen(label.view());
    if (!count.empty())
        part.count = chosen(count.view());
    part.lowerRank = Array<Rank>::unwritten(nFeatures * part.nSamples);
    part.upperRank = Array<Rank>::unwritten(nFeatures * part.nSamples);
    for (Index j = 0; j < nFeatures; ++j)
    {
        auto const lowers = chosen(lower(j));
        auto const uppers = chosen(upper(j));
        std::copy(lowers.begin(), lowers.end(), part.lowerRank.view().part(j * part.nSamples, part.nSamples).begin());
        std::copy(uppers.begin(), uppers.end(), part.upperRank.view().part(j * part.nSamples, part.nSamples).begin());
    }
    part.orderEvents();
    part.sharesNothing = sharesNothing;  // even if these are all points: some may weigh as much as is forbidden
    return part;
}
}  // namespace hardwood::search
