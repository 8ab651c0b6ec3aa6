// Thresholds at maximum margin, for Python.
#include "placing/placing.h"

#include "bindings/bind.h"
#include "bindings/boxes_around.h"
#include "bindings/events.h"
#include "bindings/trees.h"

namespace hardwood
{
namespace
{
using Ints = In<Index, 1>;
using FloatRows = In<double, 2>;
using Flags = In<bool, 1>;

// A tree that can be walked: cuts of any type are checked as if they were numbers.
CutTree treeOf(Ints const &feature, Ints const &left, Ints const &right, Ints const &label, Index nCuts,
               Index nFeatures)
{
    CutTree const tree{spanOf(feature), spanOf(left), spanOf(right), spanOf(label)};
    require(nCuts == tree.feature.size(), "the arrays of a tree must be of one length");
    nodesOf<Index>({tree.feature, tree.feature, tree.left, tree.right, tree.label}, nFeatures);
    return tree;
}

FeatureKinds kindsOf(Flags const &isQuestion, Flags const &isWhole, Index nFeatures)
{
    FeatureKinds const kinds{spanOf(isQuestion), spanOf(isWhole)};
    require(kinds.isQuestion.size() == nFeatures && kinds.isWhole.size() == nFeatures,
            "is_question and is_whole must have an entry per feature");
    return kinds;
}

// Feature, threshold, left, right, label and margin of the nodes.
nb::tuple handOverPlaced(std::vector<PlacedNode> const &nodes)
{
    auto const n = static_cast<Index>(nodes.size());
    auto feature = Array<Index>::unwritten(n), left = Array<Index>::unwritten(n), right = Array<Index>::unwritten(n),
         label = Array<Index>::unwritten(n);
    auto threshold = Array<double>::unwritten(n), margin = Array<double>::unwritten(2 * n);
    for (Index k = 0; k != n; ++k)
    {
        PlacedNode const &node = Span<PlacedNode const>(nodes)[k];
        feature[k] = node.feature;
        threshold[k] = node.threshold;
        left[k] = node.left;
        right[k] = node.right;
        label[k] = node.label;
        margin[2 * k] = node.low;
        margin[2 * k + 1] = node.high;
    }
    return nb::make_tuple(handOver(std::move(feature)), handOver(std::move(threshold)), handOver(std::move(left)),
                          handOver(std::move(right)), handOver(std::move(label)), handOver(std::move(margin), n, 2));
}

nb::tuple pyPlaceRanks(Ints feature, Ints index, Ints left, Ints right, Ints label, In<std::int32_t, 2> lowerRank,
                       In<std::int32_t, 2> upperRank, Ints nRanks, Ints column, FloatRows low, FloatRows high,
                       FloatRows down, FloatRows up, Ints group, FloatRows rounding, FloatRows value, Flags isQuestion,
                       Flags isWhole)
{
    auto const arrays = boxesAround(low, high, down, up, group, rounding, value);
    Index const n = arrays.boxes.samples(), p = arrays.boxes.features();
    auto const tree = treeOf(feature, left, right, label, spanOf(index).size(), p);
    RankedFeatures const ranks{gridOf(lowerRank), gridOf(upperRank), spanOf(nRanks), spanOf(column)};
    requireSameShape(ranks.lower, ranks.upper, "lower_rank and upper_rank");
    require(ranks.lower.rows() == n, "lower_rank and upper_rank must have a row per sample");
    require(ranks.nRanks.size() == p && ranks.column.size() == p, "n_ranks and column must have an entry per feature");
    for (Index node = 0; node != tree.feature.size(); ++node)
        if (tree.left[node] >= 0)
        {
            Index const at = ranks.column[tree.feature[node]];
            require(at >= 0 && at < ranks.lower.columns(), "a split names a feature without ranks");
        }
    auto const kinds = kindsOf(isQuestion, isWhole, p);
    std::vector<PlacedNode> placed;
    {
        nb::gil_scoped_release unlocked;
        Interruptible control;
        placed = placeRanks(tree, spanOf(index), ranks, arrays.boxes, kinds, control);
    }
    raisePending();
    return handOverPlaced(placed);
}

nb::object pyPlaceGaps(Ints feature, In<double, 1> last, In<double, 1> first, Ints left, Ints right, Ints label,
                       FloatRows low, FloatRows high, FloatRows down, FloatRows up, Ints group, FloatRows rounding,
                       FloatRows value, Flags isQuestion, Flags isWhole, EventLists const *events)
{
    auto arrays = boxesAround(low, high, down, up, group, rounding, value);
    Index const p = arrays.boxes.features();
    if (events != nullptr)
        arrays.boxes.events = eventsOf(*events, arrays.boxes);
    auto const tree = treeOf(feature, left, right, label, spanOf(last).size(), p);
    require(spanOf(first).size() == tree.feature.size(), "the arrays of a tree must be of one length");
    auto gaps = Array<Gap>::unwritten(tree.feature.size());
    for (Index node = 0; node != gaps.size(); ++node)
        gaps[node] = {spanOf(last)[node], spanOf(first)[node]};
    auto const kinds = kindsOf(isQuestion, isWhole, p);
    std::vector<PlacedNode> placed;
    {
        nb::gil_scoped_release unlocked;
        Interruptible control;
        placed = placeGaps(tree, gaps.view(), arrays.boxes, kinds, control);
    }
    raisePending();
    return placed.empty() ? nb::none() : nb::object(handOverPlaced(placed));
}
}  // namespace

void bindPlacing(nb::module_ &m)
{
    m.def("place_ranks", pyPlaceRanks, array("feature"), array("index"), array("left"), array("right"), array("label"),
          array("lower_rank"), array("upper_rank"), array("n_ranks"), array("column"), array("low"), array("high"),
          array("down"), array("up"), array("group"), array("rounding"), array("values"), array("is_question"),
          array("is_whole"),
          "Turn threshold indices into thresholds at maximum margin: return feature, threshold, left, right, label and "
          "margin of the nodes that are needed. `column` says where the ranks of a feature stand.");
    m.def("place_gaps", pyPlaceGaps, array("feature"), array("last"), array("first"), array("left"), array("right"),
          array("label"), array("low"), array("high"), array("down"), array("up"), array("group"), array("rounding"),
          array("values"), array("is_question"), array("is_whole"), nb::arg("events").none() = nb::none(),
          "As `place_ranks`, for splits that lie anywhere from an end or value, `last`, to the next one, `first`; None "
          "where the ends around a gap count as one. Faster where the events are sorted already.");
}
}  // namespace hardwood
