// Ends in order: from the ends of boxes to ranks, and to the sorted events of the greedy learners.
//
// Only the order of ends matters to a tree, so ends become ranks. Ends of a feature share a rank if they are equal, or
// if they are neighbours within the noise of their boxes (ends.h) and no upper end stands below a lower end among them.
// Why the second rule loses no threshold that matters is told in hardwood/problem/endpoints.py.
//
// Sorting: the values of a feature are sorted; where all samples have the same radius, ends are then sorted already, in
// the same order, and need only be merged: O(n) per feature but for one radix sort. Among equal ends lower ones come
// first and upper ones last, and equal ends of one kind stand in the order of their values. The noise of an end is a
// function of itself and its value, so ranks do not depend on the order of the samples.
#pragma once

#include <optional>
#include <vector>

#include "control.h"
#include "ends.h"
#include "greedy/impurity.h"

namespace hardwood
{
// Boxes, and the samples that they are around; where they are sorted already, with their events.
struct BoxesAround
{
    Attacked ends;
    Grid<double const> value;
    Grid<Event const> events{};  // (n_features, 3 n), or nothing

    // The end of a box, or the value that it is around.
    [[nodiscard]] double at(Event::Kind kind, Index sample, Index feature) const
    {
        return kind == Event::lower   ? ends.lower(sample, feature)
               : kind == Event::value ? value(sample, feature)
                                      : ends.upper(sample, feature);
    }

    [[nodiscard]] Index samples() const { return value.rows(); }
    [[nodiscard]] Index features() const { return value.columns(); }
    // The largest of a feature's values, without their signs.
    [[nodiscard]] double largest(Index feature) const;
};

// Ends that are farther apart than this are never one; generous, so that most are told apart without their noises.
// `largest` is the largest of the values that boxes are around, without their signs.
[[nodiscard]] inline double farthestOfOne(double end, double other, double largest, Rounding rounding)
{
    constexpr double unit = std::numeric_limits<double>::epsilon();
    auto const size = 4 * largest + std::abs(end) + std::abs(other);
    return (4e-9 + 32 * unit * rounding.relative) * size + 32 * rounding.generousLeast();
}

struct RankedEnds
{
    Array<std::int32_t> lowerRank;  // (n_samples, n_features) or, feature by feature, (n_features, n_samples)
    Array<std::int32_t> upperRank;  // -1 for -inf and the number of ranks for +inf
    Array<Index> nRanks;            // finite ranks of each feature
};

// Rank the ends of all boxes; nothing where the Control stopped it.
std::optional<RankedEnds> rankEnds(BoxesAround const &boxes, bool byFeature, Control &control);

// The numbers behind ranks, feature by feature.
struct ClusterEnds
{
    Array<Index> offset;  // where those of each feature begin, and, last, their number
    Array<double> first;  // smallest end of each rank
    Array<double> last;   // and the largest one
    Array<double> turn;   // the largest lower end, or the smallest end where there is no lower one
};

// Find them from the ranks of all ends; ranks that are not finite have none.
ClusterEnds clusterEnds(Grid<std::int32_t const> lowerRank, Grid<std::int32_t const> upperRank,
                        Span<Index const> nRanks, Attacked const &boxes);

struct SortedEvents
{
    Array<Event> events;  // (n_features, 3 n)
    Array<FiniteEvents> finite;
};

// Sort lower ends, values and upper ends of all samples; nothing where the Control stopped it.
std::optional<SortedEvents> sortEvents(BoxesAround const &boxes, Span<Index const> label, Control &control);

struct EndsAround
{
    double last;
    double first;
};

// The largest end or value of the rank of the event at a place, and the next one, infinite if there is none.
EndsAround gapBehind(Span<Event const> events, Index place, BoxesAround const &boxes, Index feature);

// The largest end of the rank of one end of a feature, `gap.last`, and the smallest of the rank of another,
// `gap.first`, found without ranking all ends: O(n), or O(log n) where events are sorted. Either may be infinite.
// Values are no ends here; `largest` is the largest of the feature's values without their signs.
EndsAround betweenClusters(EndsAround gap, BoxesAround const &boxes, Index feature, double largest);
}  // namespace hardwood
