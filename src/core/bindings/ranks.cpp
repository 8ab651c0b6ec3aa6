// Ranks and sorted events, for Python.
#include "ranks/ranks.h"

#include <cmath>
#include <limits>

#include "bindings/bind.h"
#include "bindings/events.h"
#include "bindings/rounding.h"

namespace hardwood
{
namespace
{
using FloatRows = In<double, 2>;

struct BoxArrays
{
    Array<Rounding> rounding;
    BoxesAround boxes;
};

BoxArrays boxesAround(FloatRows const &lower, FloatRows const &upper, FloatRows const &value, FloatRows const &rounding)
{
    BoxesAround boxes{gridOf(lower), gridOf(upper), gridOf(value), {}};
    for (auto const &other : {boxes.lower, boxes.upper})
        require(other.rows() == boxes.value.rows() && other.columns() == boxes.value.columns(),
                "lower, upper and values must be of one shape");
    require(boxes.samples() < (Index{1} << 28), "more samples than an event can number");
    auto each = roundingOf(rounding, boxes.features());
    boxes.rounding = each.view();
    return {std::move(each), boxes};
}

void requireNumbers(BoxesAround const &boxes)
{
    for (auto const &ends : {boxes.lower, boxes.upper, boxes.value})
        for (double const number : ends.all())
            if (std::isnan(number))
                require(false, "an end of a box must be a number, not NaN");
}

nb::object pyRankEnds(FloatRows lower, FloatRows upper, FloatRows value, FloatRows rounding, Control *given)
{
    auto const arrays = boxesAround(lower, upper, value, rounding);
    requireNumbers(arrays.boxes);
    std::optional<RankedEnds> ranked;
    {
        nb::gil_scoped_release unlocked;
        Interruptible own;
        ranked = rankEnds(arrays.boxes, given != nullptr ? *given : own);
    }
    raisePending();
    if (!ranked)
        return nb::none();
    auto const n = arrays.boxes.samples(), p = arrays.boxes.features();
    nb::list first, last;
    for (std::size_t j = 0; j != ranked->first.size(); ++j)
    {
        bool const isOneNumberEach = ranked->last[j].empty();
        first.append(handOver(std::move(ranked->first[j])));
        if (isOneNumberEach)
            last.append(first[j]);
        else
            last.append(handOver(std::move(ranked->last[j])));
    }
    return nb::make_tuple(handOver(std::move(ranked->lowerRank), n, p), handOver(std::move(ranked->upperRank), n, p),
                          handOver(std::move(ranked->nRanks)), first, last);
}

nb::object pySortEvents(FloatRows lower, FloatRows upper, FloatRows value, FloatRows rounding, In<Index, 1> label,
                        Control *given)
{
    auto const arrays = boxesAround(lower, upper, value, rounding);
    requireNumbers(arrays.boxes);
    auto const own = spanOf(label);
    auto const n = arrays.boxes.samples(), p = arrays.boxes.features();
    require(own.size() == n, "label must have an entry per sample");
    for (double const x : arrays.boxes.value.all())
        if (!std::isfinite(x))
            require(false, "values must be finite");
    std::optional<SortedEvents> sorted;
    {
        nb::gil_scoped_release unlocked;
        Interruptible ownControl;
        sorted = sortEvents(arrays.boxes, own, given != nullptr ? *given : ownControl);
    }
    raisePending();
    if (!sorted)
        return nb::none();
    return nb::make_tuple(handOverEvents(std::move(sorted->events), p, 3 * n), handOver(std::move(sorted->nRanks)));
}

nb::object pyEventsOfSamples(In<std::int32_t, 3> given, In<Index, 1> samples)
{
    auto const all = eventsIn(given);
    auto const chosen = spanOf(samples);
    Index const n = all.columns() / 3, m = chosen.size();
    requireRange(chosen, 0, n - 1, "samples");
    auto place = Array<std::int32_t>(n, -1);
    for (Index k = 0; k != m; ++k)
    {
        require(place[chosen[k]] < 0, "samples must differ");
        place[chosen[k]] = static_cast<std::int32_t>(k);
    }
    auto kept = Array<Event>::unwritten(all.rows() * 3 * m);
    bool fits = true;
    {
        nb::gil_scoped_release unlocked;
        fits = eventsOfSamples(all, place.view(), Grid<Event>(kept.data(), all.rows(), 3 * m));
    }
    require(fits, "every sample must have three events on every feature");
    return nb::cast(handOverEvents(std::move(kept), all.rows(), 3 * m));
}

nb::object pyEndsAround(In<std::int32_t, 3> given, FloatRows lower, FloatRows upper, FloatRows value,
                        In<Index, 1> feature, In<Index, 1> rank)
{
    auto const events = eventsIn(given);
    BoxesAround const boxes{gridOf(lower), gridOf(upper), gridOf(value), {}};
    for (auto const &ends : {boxes.lower, boxes.upper, boxes.value})
        require(ends.rows() * 3 == events.columns() && ends.columns() == events.rows(),
                "events must be those of lower, upper and values");
    auto const features = spanOf(feature), ranks = spanOf(rank);
    require(features.size() == ranks.size(), "feature and rank must be of one length");
    requireRange(features, 0, boxes.features() - 1, "feature");
    for (Index const j : features)
        for (Event const event : events.row(j))
            if (!isEventOf(event, boxes.samples()))
                require(false, "an event names a sample or a kind that is not there");
    auto last = Array<double>::unwritten(features.size()), first = Array<double>::unwritten(features.size());
    for (Index k = 0; k != features.size(); ++k)
    {
        auto const around = endsAround(events.row(features[k]), boxes, features[k], ranks[k]);
        last[k] = around.last;
        first[k] = around.first;
    }
    return nb::make_tuple(handOver(std::move(last)), handOver(std::move(first)));
}
}  // namespace

void bindRanks(nb::module_ &m)
{
    m.def("rank_ends", pyRankEnds, array("lower"), array("upper"), array("values"), array("rounding"),
          nb::arg("control").none() = nb::none(),
          "Rank the ends of all boxes: return the ranks of lower and upper ends, the number of finite ranks of each "
          "feature, and, by feature, the smallest and the largest end of each rank; None if the control stopped it.");
    m.def("sort_events", pySortEvents, array("lower"), array("upper"), array("values"), array("rounding"),
          array("label"), nb::arg("control").none() = nb::none(),
          "Sort lower ends, values and upper ends: return events as pairs of code and rank, of shape "
          "(n_features, 3 n, 2), and the number of finite ranks of each feature; None if the control stopped it.");
    m.def("events_of_samples", pyEventsOfSamples, array("events"), array("samples"),
          "Return the events of some samples, numbered as in `samples`.");
    m.def("ends_around", pyEndsAround, array("events"), array("lower"), array("upper"), array("values"),
          array("feature"), array("rank"),
          "Return, for each feature and rank, the largest end of that rank and the smallest of the next; infinite "
          "where there is none. The events may stand in any order.");
}
}  // namespace hardwood
