// Walks through one tree, for Python.
#include "walk/walk.h"

#include <algorithm>

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

void requireSameShape(auto const &a, auto const &b, char const *what)
{
    require(a.rows() == b.rows() && a.columns() == b.columns(), std::string(what) + " must be of one shape");
}

GroupReach groupReach(FloatRows const &down, FloatRows const &up, Ints const &group, Index nSamples, Index nFeatures)
{
    GroupReach const reach{gridOf(down), gridOf(up), spanOf(group)};
    requireSameShape(reach.down, reach.up, "down and up");
    require(reach.down.columns() == nFeatures, "down and up must have a column per feature");
    require(reach.group.size() == nSamples, "group must have an entry per sample");
    requireRange(reach.group, 0, reach.down.rows() - 1, "group");
    return reach;
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

auto pyFooled(Ints feature, Floats threshold, Ints left, Ints right, Ints leafLabel, FloatRows low, FloatRows high,
              FloatRows down, FloatRows up, Ints group, Ints label)
{
    AttackedSamples const samples{
        gridOf(low), gridOf(high),
        groupReach(down, up, group, static_cast<Index>(low.shape(0)), static_cast<Index>(low.shape(1))), spanOf(label)};
    requireSameShape(samples.low, samples.high, "low and high");
    require(samples.label.size() == samples.low.rows(), "label must have an entry per sample");
    auto const nodes = nodesOf<double>(
        {spanOf(feature), spanOf(threshold), spanOf(left), spanOf(right), spanOf(leafLabel)}, samples.low.columns());
    auto out = Array<bool>::unwritten(samples.low.rows());
    {
        nb::gil_scoped_release unlocked;
        Interruptible control;
        fooled(nodes, samples, out.view(), control);
    }
    raisePending();
    return handOver(std::move(out));
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

PointsUnderAttack pointsOf(Regions const &regions, FloatRows const &X, FloatRows const &down, FloatRows const &up,
                           Ints const &group, Ints const &label)
{
    auto const rows = gridOf(X);
    require(rows.columns() == regions.low.columns(), "the regions and X must have the same features");
    require(static_cast<Index>(label.shape(0)) == rows.rows(), "label must have an entry per sample");
    return {rows, groupReach(down, up, group, rows.rows(), rows.columns()), spanOf(label)};
}

auto pyNearestWrongPoints(FloatRows regionLow, FloatRows regionHigh, Ints regionLabel, FloatRows X, FloatRows down,
                          FloatRows up, Ints group, Ints label)
{
    auto const regions = regionsOf(regionLow, regionHigh, regionLabel);
    auto const samples = pointsOf(regions, X, down, up, group, label);
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

auto pyRobustFactors(FloatRows regionLow, FloatRows regionHigh, Ints regionLabel, FloatRows X, FloatRows down,
                     FloatRows up, Ints group, Ints label)
{
    auto const regions = regionsOf(regionLow, regionHigh, regionLabel);
    auto const samples = pointsOf(regions, X, down, up, group, label);
    auto factor = Array<double>::unwritten(samples.X.rows());
    {
        nb::gil_scoped_release unlocked;
        Interruptible control;
        robustFactors(regions, samples, factor.view(), control);
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
          array("low"), array("high"), array("down"), array("up"), array("group"), array("label"),
          "Return whether the box of each row, ``low - down[group]`` to ``high + up[group]``, reaches a leaf whose "
          "label is not the row's.");
    m.def("reached_nodes", pyReachedNodes, array("feature"), array("threshold"), array("left"), array("right"),
          array("lower"), array("upper"), "Return whether the box of each row reaches each node.");
    char const *const aboutLeaves =
        "Return the leaves that the box of each row reaches as bits of 64-bit words, leaves numbered in the order of "
        "the nodes; `can_left` and `can_right` tell whether any point can go there from a node. Thresholds and boxes "
        "are both numbers or both ranks.";
    m.def("reached_leaves", pyReachedLeaves<double, double>, array("feature"), array("threshold"), array("left"),
          array("right"), array("can_left"), array("can_right"), array("lower"), array("upper"), aboutLeaves);
    m.def("reached_leaves", pyReachedLeaves<Index, std::int32_t>, array("feature"), array("threshold"), array("left"),
          array("right"), array("can_left"), array("can_right"), array("lower"), array("upper"), aboutLeaves);
    m.def("nearest_wrong_points", pyNearestWrongPoints, array("region_low"), array("region_high"),
          array("region_label"), array("X"), array("down"), array("up"), array("group"), array("label"),
          "Return the L-infinity-nearest point inside each row's box that lies in a region of another label, and its "
          "distance; NaN and infinity where there is none.");
    m.def("robust_factors", pyRobustFactors, array("region_low"), array("region_high"), array("region_label"),
          array("X"), array("down"), array("up"), array("group"), array("label"),
          "Return the largest multiple of the attack under which each row stays right; -inf where it is wrong as it "
          "is.");
}
}  // namespace hardwood
