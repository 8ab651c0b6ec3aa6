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
    auto ranked = rankUnlocked(arrays.boxes, false, given);
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
    require(n <= Event::mostSamples, "more samples than an event can number");
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
    return nb::make_tuple(handOverEvents(std::move(sorted->events), p, 3 * n), handOverFinite(sorted->finite));
}

nb::object pyGapsBehind(FloatRows low, FloatRows high, FloatRows down, FloatRows up, In<Index, 1> group,
                        FloatRows rounding, FloatRows value, EventLists const &lists, In<Index, 1> feature,
                        In<Index, 1> place)
{
    auto const arrays = boxesAround(low, high, down, up, group, rounding, value);
    auto const features = spanOf(feature), places = spanOf(place);
    auto const events = eventsOf(lists, arrays.boxes);
    require(features.size() == places.size(), "feature and place must be of one length");
    requireRange(features, 0, events.rows() - 1, "feature");
    requireRange(places, 0, events.columns() - 1, "place");
    auto last = Array<double>::unwritten(features.size()), first = Array<double>::unwritten(features.size());
    for (Index k = 0; k != features.size(); ++k)
    {
        auto const gap = gapBehind(events.row(features[k]), places[k], arrays.boxes, features[k]);
        last[k] = gap.last;
        first[k] = gap.first;
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
          "Sort lower ends, values and upper ends: return events, of shape (n_features, 3 n), and which of them are at "
          "finite numbers, first and end for each feature; None if the control stopped it.");
    m.def("gaps_behind", pyGapsBehind, array("low"), array("high"), array("down"), array("up"), array("group"),
          array("rounding"), array("values"), nb::arg("events"), array("feature"), array("place"),
          "Return the largest end or value of the rank of each event at a place and the smallest of the next rank; "
          "infinite where there is none.");
}
}  // namespace hardwood
