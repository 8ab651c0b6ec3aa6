// Robust boosting for Python.
#include <algorithm>
#include <cmath>

#include "bindings/bind.h"
#include "boosting/binned_scan.h"
#include "boosting/leaf_values.h"
#include "boosting/split_scan.h"
#include "boosting/step_function.h"

namespace hardwood
{
namespace
{
using Ranks = In<std::int32_t, 2>;

Array<PricedSample> pricedSamples(Span<std::int8_t const> sign, Span<double const> gradient,
                                  Span<double const> curvature, Span<std::int32_t const> node)
{
    auto samples = Array<PricedSample>::unwritten(sign.size());
    for (Index i = 0; i != sign.size(); ++i)
        samples[i] = {sign[i] * gradient[i], curvature[i], node[i], sign[i] > 0};
    return samples;
}

// What both scans ask of samples and nodes, and what they hand over: for each node and chosen feature the best gain,
// its threshold and its direction. `scan` writes the best splits of all nodes on one feature.
class Scanning
{
public:
    Scanning(In<std::int8_t, 1> const &sign, In<double, 1> const &gradient, In<double, 1> const &curvature,
             In<std::int32_t, 1> const &node, Index nNodes, double l2, In<Index, 1> const &features, Index nFeatures)
        : signs_(spanOf(sign)),
          gradients_(spanOf(gradient)),
          curvatures_(spanOf(curvature)),
          nodes_(spanOf(node)),
          chosen_(spanOf(features)),
          nNodes_(nNodes)
    {
        Index const n = signs_.size();
        require(gradients_.size() == n && curvatures_.size() == n && nodes_.size() == n,
                "sign, gradient, curvature and node must be of one length");
        require(nNodes >= 1 && l2 >= 0.0, "at least one node, and l2 >= 0");
        requireRange(nodes_, -1, nNodes - 1, "node");
        requireRange(chosen_, 0, nFeatures - 1, "features");
    }

    template <class Scan>
    nb::tuple splits(Control *given, Scan const &scan) const
    {
        Index const size = nNodes_ * chosen_.size();
        auto gain = Array<double>(size);
        auto index = Array<std::int32_t>(size, -1);
        auto rising = Array<std::uint8_t>(size);
        {
            nb::gil_scoped_release unlocked;
            Interruptible own;
            Control &control = given != nullptr ? *given : own;
            auto const samples = pricedSamples(signs_, gradients_, curvatures_, nodes_);
            Array<ScannedSplit> best(nNodes_);
            for (Index k = 0; k != chosen_.size() && !control.stopRequested(); ++k)
            {
                scan(chosen_[k], samples.view(), best.view(), control);
                for (Index node = 0; node != nNodes_; ++node)
                {
                    Index const place = node * chosen_.size() + k;
                    gain[place] = best[node].gain;
                    index[place] = best[node].index;
                    rising[place] = best[node].rising ? 1 : 0;
                }
            }
        }
        raisePending();
        return nb::make_tuple(handOver(std::move(gain), nNodes_, chosen_.size()),
                              handOver(std::move(index), nNodes_, chosen_.size()),
                              handOver(std::move(rising), nNodes_, chosen_.size()));
    }

private:
    Span<std::int8_t const> signs_;
    Span<double const> gradients_, curvatures_;
    Span<std::int32_t const> nodes_;
    Span<Index const> chosen_;
    Index nNodes_;
};

nb::tuple pyScanSplits(Ranks lowerRank, Ranks lowerSample, Ranks upperRank, Ranks upperSample, In<std::int8_t, 1> sign,
                       In<double, 1> gradient, In<double, 1> curvature, In<std::int32_t, 1> node, Index nNodes,
                       double l2, In<Index, 1> features, Control *given)
{
    Index const n = spanOf(sign).size(), p = gridOf(lowerRank).rows();
    for (auto const &grid : {gridOf(lowerRank), gridOf(lowerSample), gridOf(upperRank), gridOf(upperSample)})
        require(grid.rows() == p && grid.columns() == n, "the ends must be of shape (n_features, n_samples)");
    requireRange(gridOf(lowerSample).all(), 0, n - 1, "lower_sample");
    requireRange(gridOf(upperSample).all(), 0, n - 1, "upper_sample");
    Scanning const scanning(sign, gradient, curvature, node, nNodes, l2, features, p);
    return scanning.splits(given,
                           [&](Index j, auto samples, auto best, Control &control)
                           {
                               scanSplits({gridOf(lowerRank).row(j), gridOf(lowerSample).row(j),
                                           gridOf(upperRank).row(j), gridOf(upperSample).row(j)},
                                          samples, l2, best, control);
                           });
}

nb::tuple pyScanBins(In<std::uint16_t, 2> enters, In<std::uint16_t, 2> leaves, In<Index, 1> thresholds,
                     In<std::int8_t, 1> sign, In<double, 1> gradient, In<double, 1> curvature, In<std::int32_t, 1> node,
                     Index nNodes, double l2, In<Index, 1> features, Control *given)
{
    auto const counts = spanOf(thresholds);
    auto const first = gridOf(enters), last = gridOf(leaves);
    Index const n = spanOf(sign).size(), p = counts.size();
    require(first.rows() == p && first.columns() == n && last.rows() == p && last.columns() == n,
            "the bins must be of shape (n_features, n_samples)");
    requireRange(counts, 0, 65534, "thresholds");
    Scanning const scanning(sign, gradient, curvature, node, nNodes, l2, features, p);
    for (Index const j : spanOf(features))
    {
        auto const most = [&](Span<std::uint16_t const> bins) { return *std::max_element(bins.begin(), bins.end()); };
        require(n > 0 && most(first.row(j)) <= counts[j] && most(last.row(j)) <= counts[j], "bins beyond thresholds");
    }
    return scanning.splits(given,
                           [&](Index j, auto samples, auto best, Control &control) {
                               scanBins({first.row(j), last.row(j), counts[j]}, samples, l2, best, control);
                           });
}

nb::tuple pyFitLeaves(In<double, 1> rest, In<std::int8_t, 1> sign, In<double, 1> weight, In<Index, 1> start,
                      In<std::int32_t, 1> leaf, In<double, 1> offset, In<Index, 1> groupStart,
                      In<std::int32_t, 1> groupLeaf, Index leaves, bool exponential, double l2, double largest,
                      Index rounds, Control *given)
{
    LeafProblem const problem{spanOf(rest),
                              spanOf(sign),
                              spanOf(weight),
                              spanOf(start),
                              spanOf(leaf),
                              spanOf(offset),
                              spanOf(groupStart),
                              spanOf(groupLeaf),
                              exponential ? BoostingLoss::exponential : BoostingLoss::logistic,
                              l2,
                              largest};
    Index const n = problem.sign.size();
    require(problem.rest.size() == n && problem.weight.size() == n && problem.start.size() == n + 1,
            "rest, sign and weight must be of one length, start one longer");
    require(problem.offset.size() == problem.leaf.size(), "leaf and offset must be of one length");
    require(leaves >= 1 && l2 >= 0.0 && largest > 0.0 && rounds >= 0, "leaves >= 1, l2 >= 0, largest > 0, rounds >= 0");
    require(problem.start[0] == 0 && problem.start[n] == problem.leaf.size(), "start must end with the entries");
    for (Index i = 0; i != n; ++i)
        require(problem.start[i] < problem.start[i + 1], "every sample reaches a leaf");
    Index const groups = problem.groupStart.size() - 1;
    require(groups >= 0 && problem.groupStart[0] == 0 && problem.groupStart[groups] == problem.groupLeaf.size(),
            "group_start must begin with 0 and end with the entries");
    for (Index g = 0; g != groups; ++g)
        require(problem.groupStart[g] < problem.groupStart[g + 1], "every group has a leaf");
    requireRange(problem.leaf, 0, leaves - 1, "leaf");
    requireRange(problem.groupLeaf, 0, leaves - 1, "group_leaf");
    Array<double> value(leaves);
    double loss = 0.0;
    {
        nb::gil_scoped_release unlocked;
        Interruptible own;
        loss = fitLeaves(problem, value.view(), rounds, given != nullptr ? *given : own);
    }
    raisePending();
    return nb::make_tuple(handOver(std::move(value)), loss);
}

nb::tuple pyStepExtremes(In<double, 1> cut, In<double, 1> value, In<double, 1> lower, In<double, 1> upper)
{
    auto const cuts = spanOf(cut), low = spanOf(lower), high = spanOf(upper);
    require(spanOf(value).size() == cuts.size() + 1, "one value more than cuts");
    require(low.size() == high.size(), "lower and upper must be of one length");
    for (Index k = 0; k + 1 < cuts.size(); ++k)
        require(cuts[k] < cuts[k + 1], "cuts must rise");
    auto least = Array<double>::unwritten(low.size()), largest = Array<double>::unwritten(low.size());
    {
        nb::gil_scoped_release unlocked;
        StepFunction const function(cuts, spanOf(value));
        for (Index i = 0; i != low.size(); ++i)
        {
            auto const found = function.over(low[i], high[i]);
            least[i] = found.least;
            largest[i] = found.largest;
        }
    }
    return nb::make_tuple(handOver(std::move(least)), handOver(std::move(largest)));
}

nb::tuple pyBoostingLoss(In<double, 1> margin, bool exponential)
{
    auto const margins = spanOf(margin);
    Index const n = margins.size();
    auto value = Array<double>::unwritten(n), slope = Array<double>::unwritten(n);
    auto curvature = Array<double>::unwritten(n);
    BoostingLoss const loss = exponential ? BoostingLoss::exponential : BoostingLoss::logistic;
    for (Index i = 0; i != n; ++i)
    {
        LossAt const at = lossAt(loss, margins[i]);
        value[i] = at.value;
        slope[i] = at.slope;
        curvature[i] = at.curvature;
    }
    return nb::make_tuple(handOver(std::move(value)), handOver(std::move(slope)), handOver(std::move(curvature)));
}
}  // namespace

void bindBoosting(nb::module_ &m)
{
    m.def(
        "scan_splits", pyScanSplits, array("lower_rank"), array("lower_sample"), array("upper_rank"),
        array("upper_sample"), array("sign"), array("gradient"), array("curvature"), array("node"), nb::arg("n_nodes"),
        nb::arg("l2"), array("features"), nb::arg("control").none() = nb::none(),
        "Return, for the best split of each node on each of the features, gain, threshold index (-1 where none is any "
        "good), and whether the right leaf has the larger value.");
    m.def("scan_bins", pyScanBins, array("enters"), array("leaves"), array("thresholds"), array("sign"),
          array("gradient"), array("curvature"), array("node"), nb::arg("n_nodes"), nb::arg("l2"), array("features"),
          nb::arg("control").none() = nb::none(),
          "The same for samples in bins: which threshold of each feature, of so many, is best.");
    m.def("fit_leaves", pyFitLeaves, array("rest"), array("sign"), array("weight"), array("start"), array("leaf"),
          array("offset"), array("group_start"), array("group_leaf"), nb::arg("n_leaves"), nb::arg("exponential"),
          nb::arg("l2"), nb::arg("largest"), nb::arg("rounds"), nb::arg("control").none() = nb::none(),
          "Return values of leaves that minimise the loss of the worst-case margins, and that loss.");
    m.def("step_extremes", pyStepExtremes, array("cut"), array("value"), array("lower"), array("upper"),
          "Return the least and the largest value of a step function over each interval.");
    m.def("boosting_loss", pyBoostingLoss, array("margin"), nb::arg("exponential"),
          "Return the loss of margins and its first two derivatives.");
}
}  // namespace hardwood
