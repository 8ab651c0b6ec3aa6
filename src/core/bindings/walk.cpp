// Walks through one tree, for Python.
#include "walk/walk.h"

#include <algorithm>
#include <limits>

#include "bindings/attacked.h"
#include "bindings/bind.h"
#include "bindings/trees.h"
#include "walk/radius.h"

namespace hardwood
{
namespace
{
using Ints = In<Index, 1>;
using Floats = In<double, 1>;
using FloatRows = In<double, 2>;
using RankRows = In<std::int32_t, 2>;
using Flags = In<bool, 1>;

AttackedSamples boxesOf(FloatRows const &lower, FloatRows const &upper, Ints const &label)
{
    AttackedSamples const boxes{gridOf(lower), gridOf(upper), spanOf(label)};
    requireSameShape(boxes.lower, boxes.upper, "lower and upper");
    require(boxes.label.size() == boxes.lower.rows(), "label must have an entry per sample");
    return boxes;
}

auto pyApply(Ints feature, Floats threshold, Ints left, Ints right, FloatRows X)
{
    auto const rows = gridOf(X);
    auto const nodes =
        nodesOf<double>({spanOf(feature), spanOf(threshold), spanOf(left), spanOf(right), {}}, rows.columns());
    auto leaf = Array<Index>::unwritten(rows.rows());
    {
        nb::gil_scoped_release unlocked;
        Interruptible control;
        apply(nodes, rows, leaf.view(), control);
    }
    raisePending();
    return handOver(std::move(leaf));
}

auto pyFooled(Ints feature, Floats threshold, Ints left, Ints right, Ints leafLabel, FloatRows lower, FloatRows upper,
              Ints label)
{
    auto const samples = boxesOf(lower, upper, label);
    auto const nodes = nodesOf<double>(
        {spanOf(feature), spanOf(threshold), spanOf(left), spanOf(right), spanOf(leafLabel)}, samples.lower.columns());
    auto out = Array<bool>::unwritten(samples.lower.rows());
    {
        nb::gil_scoped_release unlocked;
        Interruptible control;
        fooled(nodes, samples, out.view(), control);
    }
    raisePending();
    return handOver(std::move(out));
}

auto pyFooledUnderAttack(Ints feature, Floats threshold, Ints left, Ints right, Ints leafLabel, FloatRows low,
                         FloatRows high, FloatRows down, FloatRows up, Ints group, FloatRows rounding, Ints label)
{
    auto const arrays = attackedOf(low, high, down, up, group, rounding);
    auto const own = spanOf(label);
    require(own.size() == arrays.attacked.low.rows(), "label must have an entry per sample");
    auto const nodes =
        nodesOf<double>({spanOf(feature), spanOf(threshold), spanOf(left), spanOf(right), spanOf(leafLabel)},
                        arrays.attacked.low.columns());
    auto out = Array<bool>::unwritten(own.size());
    {
        nb::gil_scoped_release unlocked;
        Interruptible control;
        fooled(nodes, arrays.attacked, own, out.view(), control);
    }
    raisePending();
    return handOver(std::move(out));
}

auto pyBoxEnds(FloatRows low, FloatRows high, FloatRows down, FloatRows up, Ints group, FloatRows rounding)
{
    auto const arrays = attackedOf(low, high, down, up, group, rounding);
    auto const n = arrays.attacked.low.rows(), p = arrays.attacked.low.columns();
    auto lower = Array<double>::unwritten(n * p), upper = Array<double>::unwritten(n * p);
    {
        nb::gil_scoped_release unlocked;
        Interruptible control;
        boxEnds(arrays.attacked, Grid<double>(lower.data(), n, p), Grid<double>(upper.data(), n, p), control);
    }
    raisePending();
    return nb::make_tuple(handOver(std::move(lower), n, p), handOver(std::move(upper), n, p));
}

auto pyReachedNodesUnderAttack(Ints feature, Floats threshold, Ints left, Ints right, FloatRows low, FloatRows high,
                               FloatRows down, FloatRows up, Ints group, FloatRows rounding)
{
    auto const arrays = attackedOf(low, high, down, up, group, rounding);
    auto const nodes = nodesOf<double>({spanOf(feature), spanOf(threshold), spanOf(left), spanOf(right), {}},
                                       arrays.attacked.low.columns());
    Index const n = arrays.attacked.low.rows();
    auto out = Array<bool>::unwritten(n * nodes.size());
    {
        nb::gil_scoped_release unlocked;
        Interruptible control;
        reachedNodes(nodes, arrays.attacked, Grid<bool>(out.data(), n, nodes.size()), control);
    }
    raisePending();
    return handOver(std::move(out), n, nodes.size());
}

auto pyNodeSums(Ints feature, Floats threshold, Ints left, Ints right, Ints leafLabel, FloatRows low, FloatRows high,
                FloatRows down, FloatRows up, Ints group, FloatRows rounding, Ints label, Floats weight, Index nClasses)
{
    auto const arrays = attackedOf(low, high, down, up, group, rounding);
    auto const own = spanOf(label);
    auto const weights = spanOf(weight);
    auto const n = arrays.attacked.low.rows();
    require(own.size() == n && weights.size() == n, "label and weight must have an entry per sample");
    require(nClasses > 0, "n_classes must be positive");
    requireRange(own, -1, nClasses - 1, "label");
    auto const nodes =
        nodesOf<double>({spanOf(feature), spanOf(threshold), spanOf(left), spanOf(right), spanOf(leafLabel)},
                        arrays.attacked.low.columns());
    auto const size = nodes.size();
    Array<double> certain(size * nClasses), kept(size * nClasses), lostBelow(size * nClasses), lost(size);
    Array<Index> count(size);
    auto const byClass = [&](Array<double> &sums) { return Grid<double>(sums.data(), size, nClasses); };
    {
        nb::gil_scoped_release unlocked;
        Interruptible control;
        addUp(nodes, arrays.attacked, own, weights,
              {byClass(certain), byClass(kept), byClass(lostBelow), lost.view(), count.view()}, control);
    }
    raisePending();
    return nb::make_tuple(handOver(std::move(certain), size, nClasses), handOver(std::move(kept), size, nClasses),
                          handOver(std::move(lostBelow), size, nClasses), handOver(std::move(lost)),
                          handOver(std::move(count)));
}

auto pyReachedNodes(Ints feature, Floats threshold, Ints left, Ints right, FloatRows lower, FloatRows upper)
{
    auto const low = gridOf(lower), high = gridOf(upper);
    requireSameShape(low, high, "lower and upper");
    auto const nodes =
        nodesOf<double>({spanOf(feature), spanOf(threshold), spanOf(left), spanOf(right), {}}, low.columns());
    auto out = Array<bool>::unwritten(low.rows() * nodes.size());
    {
        nb::gil_scoped_release unlocked;
        Interruptible control;
        reachedNodes(nodes, low, high, Grid<bool>(out.data(), low.rows(), nodes.size()), control);
    }
    raisePending();
    return handOver(std::move(out), low.rows(), nodes.size());
}

template <class Threshold, class End>
auto pyReachedLeaves(Ints feature, In<Threshold, 1> threshold, Ints left, Ints right, Flags canLeft, Flags canRight,
                     In<End, 2> lower, In<End, 2> upper)
{
    auto const low = gridOf(lower), high = gridOf(upper);
    requireSameShape(low, high, "lower and upper");
    auto const nodes =
        nodesOf<Threshold>({spanOf(feature), spanOf(threshold), spanOf(left), spanOf(right), {}}, low.columns());
    OpenSides const open{spanOf(canLeft), spanOf(canRight)};
    require(open.left.size() == nodes.size() && open.right.size() == nodes.size(),
            "can_left and can_right must have an entry per node");
    auto leafNumber = Array<Index>::unwritten(nodes.size());
    Index nLeaves = 0;
    for (Index node = 0; node != nodes.size(); ++node)
        leafNumber[node] = nodes[node].isLeaf() ? nLeaves++ : -1;
    Index const nWords = (nLeaves + 63) / 64;
    auto mask = Array<std::uint64_t>::unwritten(low.rows() * nWords);
    {
        nb::gil_scoped_release unlocked;
        Interruptible control;
        reachedLeaves<Threshold, End>(nodes, open, leafNumber, low, high,
                                      Grid<std::uint64_t>(mask.data(), low.rows(), nWords), control);
    }
    raisePending();
    return handOver(std::move(mask), low.rows(), nWords);
}

Regions regionsOf(FloatRows const &low, FloatRows const &high, Ints const &label)
{
    Regions const regions{gridOf(low), gridOf(high), spanOf(label)};
    requireSameShape(regions.low, regions.high, "region_low and region_high");
    require(regions.label.size() == regions.low.rows(), "region_label must have an entry per region");
    return regions;
}

auto pyNearestWrongPoints(FloatRows regionLow, FloatRows regionHigh, Ints regionLabel, FloatRows X, FloatRows lower,
                          FloatRows upper, Ints label)
{
    auto const regions = regionsOf(regionLow, regionHigh, regionLabel);
    PointsUnderAttack const samples{gridOf(X), boxesOf(lower, upper, label)};
    require(samples.X.columns() == regions.low.columns(), "the regions and X must have the same features");
    requireSameShape(samples.X, samples.boxes.lower, "X and lower");
    auto point = Array<double>::unwritten(samples.X.rows() * samples.X.columns());
    auto distance = Array<double>::unwritten(samples.X.rows());
    {
        nb::gil_scoped_release unlocked;
        Interruptible control;
        nearestWrongPoints(regions, samples, Grid<double>(point.data(), samples.X.rows(), samples.X.columns()),
                           distance.view(), control);
    }
    raisePending();
    return nb::make_tuple(handOver(std::move(point), samples.X.rows(), samples.X.columns()),
                          handOver(std::move(distance)));
}

auto pyLargestFactors(FloatRows regionLow, FloatRows regionHigh, Ints regionLabel, FloatRows low, FloatRows high,
                      FloatRows down, FloatRows up, Ints group, FloatRows rounding, Ints label)
{
    auto const regions = regionsOf(regionLow, regionHigh, regionLabel);
    auto const arrays = attackedOf(low, high, down, up, group, rounding);
    auto const own = spanOf(label);
    require(own.size() == arrays.attacked.low.rows(), "label must have an entry per sample");
    require(arrays.attacked.low.columns() == regions.low.columns(),
            "the regions and the samples must have the same features");
    auto factor = Array<double>::unwritten(own.size());
    {
        nb::gil_scoped_release unlocked;
        Interruptible control;
        largestFactors(regions, arrays.attacked, own, factor.view(), control);
    }
    raisePending();
    return handOver(std::move(factor));
}
}  // namespace

void bindWalk(nb::module_ &m)
{
    m.def("apply", pyApply, array("feature"), array("threshold"), array("left"), array("right"), array("X"),
          "Return the leaf in which each row of X ends.");
    m.def("fooled", pyFooled, array("feature"), array("threshold"), array("left"), array("right"), array("leaf_label"),
          array("lower"), array("upper"), array("label"),
          "Return whether the box of each row reaches a leaf whose label is not the row's.");
    m.def("fooled_under_attack", pyFooledUnderAttack, array("feature"), array("threshold"), array("left"),
          array("right"), array("leaf_label"), array("low"), array("high"), array("down"), array("up"), array("group"),
          array("rounding"), array("label"),
          "As `fooled`, for boxes around samples whose ends are computed where the tree asks for them.");
    m.def("box_ends", pyBoxEnds, array("low"), array("high"), array("down"), array("up"), array("group"),
          array("rounding"), "Return both ends of the boxes of all samples; see hardwood.problem.boxes.");
    m.def("reached_nodes", pyReachedNodes, array("feature"), array("threshold"), array("left"), array("right"),
          array("lower"), array("upper"), "Return whether the box of each row reaches each node.");
    m.def("reached_nodes_under_attack", pyReachedNodesUnderAttack, array("feature"), array("threshold"), array("left"),
          array("right"), array("low"), array("high"), array("down"), array("up"), array("group"), array("rounding"),
          "As `reached_nodes`, for boxes around samples whose ends are computed where the tree asks for them.");
    m.def("node_sums", pyNodeSums, array("feature"), array("threshold"), array("left"), array("right"),
          array("leaf_label"), array("low"), array("high"), array("down"), array("up"), array("group"),
          array("rounding"), array("label"), array("weight"), nb::arg("n_classes"),
          "Return what samples add up to at the nodes: by node and class the weight of those that reach one leaf only, "
          "of those that can reach the node and no leaf of another class, and of those whose leaves of other classes "
          "all lie there or below; by node the weight of those that can reach it and are lost, and how many reach it.");
    char const *const aboutLeaves =
        "Return the leaves that the box of each row reaches as bits of 64-bit words, leaves numbered in the order of "
        "the nodes; `can_left` and `can_right` tell whether any point can go there from a node. Thresholds and boxes "
        "are both numbers or both ranks.";
    m.def("reached_leaves", pyReachedLeaves<double, double>, array("feature"), array("threshold"), array("left"),
          array("right"), array("can_left"), array("can_right"), array("lower"), array("upper"), aboutLeaves);
    m.def("reached_leaves", pyReachedLeaves<Index, std::int32_t>, array("feature"), array("threshold"), array("left"),
          array("right"), array("can_left"), array("can_right"), array("lower"), array("upper"), aboutLeaves);
    m.def("nearest_wrong_points", pyNearestWrongPoints, array("region_low"), array("region_high"),
          array("region_label"), array("X"), array("lower"), array("upper"), array("label"),
          "Return the L-infinity-nearest point inside each row's box that lies in a region of another label, and its "
          "distance; NaN and infinity where there is none.");
    m.def("largest_factors", pyLargestFactors, array("region_low"), array("region_high"), array("region_label"),
          array("low"), array("high"), array("down"), array("up"), array("group"), array("rounding"), array("label"),
          "Return the largest multiple of the attack under which each row keeps out of all regions of another label: "
          "-inf for one that stands in such a region, inf where no multiple leads into one.");
}
}  // namespace hardwood
