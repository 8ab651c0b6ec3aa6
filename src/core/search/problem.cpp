#include "search/problem.h"

#include <algorithm>

namespace hardwood::search
{
// Counting sort by (rank, upper), samples in order where they tie: O(n + ranks) per feature.
void Problem::orderEvents()
{
    sharesNothing = std::equal(lowerRank.begin(), lowerRank.end(), upperRank.begin());
    events = Array<Event>::unwritten(nFeatures * 2 * nSamples);
    for (Index j = 0; j < nFeatures; ++j)
    {
        auto const lowers = lower(j);
        auto const uppers = upper(j);
        // Ranks go from -1 (minus infinity) to nRanks (infinity).
        auto const keyOf = [](Rank rank, bool isUpper) { return 2 * (Index{rank} + 1) + (isUpper ? 1 : 0); };
        Array<std::uint32_t> start(2 * (nRanks[j] + 2) + 1);
        for (Index i = 0; i < nSamples; ++i)
        {
            ++start[keyOf(lowers[i], false) + 1];
            ++start[keyOf(uppers[i], true) + 1];
        }
        for (Index key = 1; key < start.size(); ++key)
            start[key] += start[key - 1];
        auto const row = events.view().part(j * 2 * nSamples, 2 * nSamples);
        for (Index i = 0; i < nSamples; ++i)
        {
            row[start[keyOf(lowers[i], false)]++] = Event(i, false);
            row[start[keyOf(uppers[i], true)]++] = Event(i, true);
        }
    }
}
}  // namespace hardwood::search
