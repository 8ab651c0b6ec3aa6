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
// Boxes, and the samples that they are around, feature by feature.
struct BoxesAround
{
    Grid<double const> lower;
    Grid<double const> upper;
    Grid<double const> value;
    Span<Rounding const> rounding;  // of each feature

    [[nodiscard]] Index samples() const { return value.rows(); }
    [[nodiscard]] Index features() const { return value.columns(); }
};

struct RankedEnds
{
    Array<std::int32_t> lowerRank;  // (n_samples, n_features); -1 for -inf and the number of ranks for +inf
    Array<std::int32_t> upperRank;
    Array<Index> nRanks;               // finite ranks of each feature
    std::vector<Array<double>> first;  // smallest end of each rank, by feature
    std::vector<Array<double>> last;   // and the largest one; empty where each rank is one number
};

// Rank the ends of all boxes; nothing where the Control stopped it.
std::optional<RankedEnds> rankEnds(BoxesAround const &boxes, Control &control);

struct SortedEvents
{
    Array<Event> events;  // (n_features, 3 n)
    Array<Index> nRanks;
};

// Sort lower ends, values and upper ends of all samples; nothing where the Control stopped it.
std::optional<SortedEvents> sortEvents(BoxesAround const &boxes, Span<Index const> label, Control &control);

// The events of those samples that have a place (others: -1), numbered by it; false unless that fills `kept`.
bool eventsOfSamples(Grid<Event const> all, Span<std::int32_t const> place, Grid<Event> kept);

// The largest end of a rank of a feature, and the smallest of the next one, among events in any order.
struct EndsAround
{
    double last;
    double first;
};
EndsAround endsAround(Span<Event const> events, BoxesAround const &boxes, Index feature, Index rank);
}  // namespace hardwood
