// One pass over the thresholds of a feature that are worth a look.
//
// As threshold index t grows, the left set grows at lower ends and the right set shrinks at upper ends. Both sets want
// to be small, so t is undominated only if the last end passed is an upper one and the next one is a lower one: any
// other threshold has the same left set and a larger right set, or the same right set and a larger left set, as one
// that is visited (docs: "which thresholds matter").
#pragma once

#include "greedy/growing.h"

namespace hardwood
{
// The ends of some samples on one feature, and their places in order.
struct SortedEnds
{
    Span<std::int32_t const> lower;
    Span<std::int32_t const> upper;
    Span<std::int32_t const> byLower;
    Span<std::int32_t const> byUpper;
};

// Tell `passing` of every upper end (`passUpper(place)`: cannot reach right any more) and lower end
// (`passLower(place)`: can reach left from now on) that is passed, and let it `visit(t, following, nUppers)` every
// undominated threshold inside the region: t is the last upper end, `following` the next lower end, nUppers how many
// upper ends are passed.
template <class Passing>
void sweepThresholds(SortedEnds const &ends, RankRegion inside, Passing &passing)
{
    Index const n = ends.lower.size();
    Index passed = 0;
    for (Index k = 0; k != n; ++k)
    {
        passing.passUpper(ends.byUpper[k]);
        Index const t = ends.upper[ends.byUpper[k]];
        for (; passed != n && ends.lower[ends.byLower[passed]] <= t; ++passed)
            passing.passLower(ends.byLower[passed]);
        if (passed == n || t >= inside.highest)
            return;
        Index const following = ends.lower[ends.byLower[passed]];
        bool const upperComesNext = k + 1 != n && ends.upper[ends.byUpper[k + 1]] < following;
        if (t > inside.lowest && !upperComesNext)
            passing.visit(t, following, k + 1);
    }
}
}  // namespace hardwood
