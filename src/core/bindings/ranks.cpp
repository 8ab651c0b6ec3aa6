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

nb::object pyEventsOfSamples(In<std::uint32_t, 2> given, In<Index, 2> finite, In<Index, 1> samples)
{
    auto const all = eventsIn(given);
    auto const finiteOfAll = finiteIn(finite, all);
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
    auto keptFinite = Array<FiniteEvents>::unwritten(all.rows());
    bool fits = true;
    {
        nb::gil_scoped_release unlocked;
        Grid<Event> const rows(kept.data(), all.rows(), 3 * m);
        fits = eventsOfSamples(all, finiteOfAll, place.view(), rows, keptFinite.view());
    }
    require(fits, "every sample must have three events on every feature");
    return nb::make_tuple(handOverEvents(std::move(kept), all.rows(), 3 * m), handOverFinite(keptFinite));
}

// The largest of a feature's values, without their signs.
double largestOf(BoxesAround const &boxes, Index feature)
{
    double largest = 0.0;
    for (Index i = 0; i != boxes.samples(); ++i)
        largest = std::max(largest, std::abs(boxes.value(i, feature)));
    return largest;
}

nb::object pyGapsBehind(FloatRows low, FloatRows high, FloatRows down, FloatRows up, In<Index, 1> group,
                        FloatRows rounding, FloatRows value, In<Index, 1> feature, In<Index, 1> name)
{
    auto const arrays = boxesAround(low, high, down, up, group, rounding, value);
    auto const &boxes = arrays.boxes;
    auto const features = spanOf(feature), names = spanOf(name);
    require(features.size() == names.size(), "feature and name must be of one length");
    requireRange(features, 0, boxes.features() - 1, "feature");
    requireRange(names, 0, 4 * boxes.samples() - 1, "name");
    auto last = Array<double>::unwritten(features.size()), first = Array<double>::unwritten(features.size());
    auto largest = Array<double>(boxes.features(), -1.0);  // of the values of each feature, without signs
    for (Index k = 0; k != features.size(); ++k)
    {
        require(names[k] % 4 != 3, "an event is a lower end, a value or an upper end");
        auto &most = largest[features[k]];
        if (most < 0.0)
            most = largestOf(boxes, features[k]);
        auto const kind = static_cast<Event::Kind>(2 * (names[k] % 4));
        auto const gap = gapBehind(kind, names[k] / 4, boxes, features[k], most);
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
    m.def("events_of_samples", pyEventsOfSamples, array("events"), array("finite"), array("samples"),
          "Return the events of some samples, numbered as in `samples`, and which of them are at finite numbers.");
    m.def(
        "gaps_behind", pyGapsBehind, array("low"), array("high"), array("down"), array("up"), array("group"),
        array("rounding"), array("values"), array("feature"), array("name"),
        "Return, for the events of these names (4 * sample + 0, 1 or 2), the largest end or value of the rank of each "
        "and the smallest of the next one; infinite where there is none.");
}
}  // namespace hardwood
