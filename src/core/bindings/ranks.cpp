// Ranks and sorted events, for Python.
#include "ranks/ranks.h"

#include <cmath>
#include <limits>

#include "bindings/bind.h"
#include "bindings/boxes_around.h"
#include "bindings/events.h"

namespace hardwood
{
namespace
{
using FloatRows = In<double, 2>;

nb::object pyRankEnds(FloatRows low, FloatRows high, FloatRows down, FloatRows up, In<Index, 1> group,
                      FloatRows rounding, FloatRows value, Control *given)
{
    auto const arrays = boxesAround(low, high, down, up, group, rounding, value);
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
    return nb::make_tuple(handOver(std::move(ranked->lowerRank), n, p), handOver(std::move(ranked->upperRank), n, p),
                          handOver(std::move(ranked->nRanks)));
}

nb::object pyClusterEnds(In<std::int32_t, 2> lowerRank, In<std::int32_t, 2> upperRank, In<Index, 1> nRanks,
                         FloatRows low, FloatRows high, FloatRows down, FloatRows up, In<Index, 1> group,
                         FloatRows rounding)
{
    auto const arrays = attackedOf(low, high, down, up, group, rounding);
    auto const lower = gridOf(lowerRank), upper = gridOf(upperRank);
    requireSameShape(lower, upper, "lower_rank and upper_rank");
    requireSameShape(lower, arrays.attacked.low, "ranks and samples");
    require(spanOf(nRanks).size() == lower.columns(), "n_ranks must have an entry per feature");
    requireRange(spanOf(nRanks), 0, 2 * lower.rows(), "n_ranks");
    auto clusters = clusterEnds(lower, upper, spanOf(nRanks), arrays.attacked);
    return nb::make_tuple(handOver(std::move(clusters.offset)), handOver(std::move(clusters.first)),
                          handOver(std::move(clusters.last)), handOver(std::move(clusters.turn)));
}

nb::object pySortEvents(FloatRows low, FloatRows high, FloatRows down, FloatRows up, In<Index, 1> group,
                        FloatRows rounding, FloatRows value, In<Index, 1> label, Control *given)
{
    auto const arrays = boxesAround(low, high, down, up, group, rounding, value);
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

nb::object pyEndsAround(In<std::int32_t, 3> given, FloatRows low, FloatRows high, FloatRows down, FloatRows up,
                        In<Index, 1> group, FloatRows rounding, FloatRows value, In<Index, 1> feature,
                        In<Index, 1> rank)
{
    auto const events = eventsIn(given);
    auto const arrays = boxesAround(low, high, down, up, group, rounding, value);
    auto const &boxes = arrays.boxes;
    require(boxes.samples() * 3 == events.columns() && boxes.features() == events.rows(),
            "events must be those of the samples");
    auto const features = spanOf(feature), ranks = spanOf(rank);
    require(features.size() == ranks.size(), "feature and rank must be of one length");
    requireRange(features, 0, boxes.features() - 1, "feature");
    auto last = Array<double>::unwritten(features.size()), first = Array<double>::unwritten(features.size());
    for (Index k = 0; k != features.size(); ++k)
    {
        auto const around = endsAround(events.row(features[k]), boxes, features[k], ranks[k]);
        require(around.has_value(), "an event names a sample or a kind that is not there");
        last[k] = around->last;
        first[k] = around->first;
    }
    return nb::make_tuple(handOver(std::move(last)), handOver(std::move(first)));
}
}  // namespace

void bindRanks(nb::module_ &m)
{
    m.def(
        "rank_ends", pyRankEnds, array("low"), array("high"), array("down"), array("up"), array("group"),
        array("rounding"), array("values"), nb::arg("control").none() = nb::none(),
        "Rank the ends of all boxes: return the ranks of lower and upper ends, and the number of finite ranks of each "
        "feature; None if the control stopped it.");
    m.def("cluster_ends", pyClusterEnds, array("lower_rank"), array("upper_rank"), array("n_ranks"), array("low"),
          array("high"), array("down"), array("up"), array("group"), array("rounding"),
          "Return where the ranks of each feature begin, and the smallest, the largest and the largest lower end of "
          "each rank; for the last, the smallest where it has no lower one.");
    m.def("sort_events", pySortEvents, array("low"), array("high"), array("down"), array("up"), array("group"),
          array("rounding"), array("values"), array("label"), nb::arg("control").none() = nb::none(),
          "Sort lower ends, values and upper ends: return events as pairs of code and rank, of shape "
          "(n_features, 3 n, 2), and the number of finite ranks of each feature; None if the control stopped it.");
    m.def("events_of_samples", pyEventsOfSamples, array("events"), array("samples"),
          "Return the events of some samples, numbered as in `samples`.");
    m.def("ends_around", pyEndsAround, array("events"), array("low"), array("high"), array("down"), array("up"),
          array("group"), array("rounding"), array("values"), array("feature"), array("rank"),
          "Return, for each feature and rank, the largest end of that rank and the smallest of the next; infinite "
          "where there is none. The events may stand in any order.");
}
}  // namespace hardwood
