// Trees that vote, for Python.
#include "ensemble/ensemble.h"

#include "bindings/bind.h"
#include "bindings/trees.h"

namespace hardwood
{
namespace
{
using Ints = In<Index, 1>;
using Floats = In<double, 1>;
using FloatRows = In<double, 2>;

// The trees of an ensemble, checked, with children counted among all nodes.
class OwnedForest
{
    Array<FloatNode> nodes_;
    Span<Index const> begin_;
    Index nClasses_;

public:
    OwnedForest(Ints const &begin, TreeArrays<double> const &trees, Index nFeatures, Index nClasses)
        : nodes_(Array<FloatNode>::unwritten(trees.feature.size())), begin_(spanOf(begin)), nClasses_(nClasses)
    {
        requireEqualLengths(trees);
        require(nClasses >= 1, "n_classes must be at least 1");
        require(!begin_.empty() && begin_[0] == 0, "begin must hold the first node of each tree, the first of them 0");
        for (Index t = 0; t != begin_.size(); ++t)
        {
            Index const first = begin_[t], end = t + 1 == begin_.size() ? nodes_.size() : begin_[t + 1];
            require(first < end && end <= nodes_.size(), "begin must hold the first node of each tree, increasing");
            writeNodes(trees, first, end, nFeatures, nodes_.view());
            for (FloatNode &node : nodes_.view().part(first, end - first))
            {
                if (node.isLeaf())
                {
                    require(node.label >= 0 && node.label < nClasses, "a leaf has a class that is not there");
                    continue;
                }
                node.left += static_cast<std::int32_t>(first);
                node.right += static_cast<std::int32_t>(first);
            }
        }
    }

    [[nodiscard]] Forest forest() const { return {begin_, nodes_, nClasses_}; }
};

ForestSamples samplesOf(FloatRows const &X, FloatRows const &lower, FloatRows const &upper, Ints const &truth,
                        Index nClasses)
{
    ForestSamples const samples{gridOf(X), gridOf(lower), gridOf(upper), spanOf(truth)};
    for (auto const &grid : {samples.X, samples.lower})
        require(grid.rows() == samples.upper.rows() && grid.columns() == samples.upper.columns(),
                "X, lower and upper must be of one shape");
    require(samples.truth.size() == samples.upper.rows(), "truth must have an entry per sample");
    requireRange(samples.truth, -1, nClasses - 1, "truth");
    return samples;
}

auto pyVotes(Ints begin, Ints feature, Floats threshold, Ints left, Ints right, Ints label, FloatRows X, Index nClasses)
{
    auto const rows = gridOf(X);
    OwnedForest const owned(begin, {spanOf(feature), spanOf(threshold), spanOf(left), spanOf(right), spanOf(label)},
                            rows.columns(), nClasses);
    auto out = Array<Index>::unwritten(rows.rows() * nClasses);
    {
        nb::gil_scoped_release unlocked;
        Interruptible control;
        countVotes(owned.forest(), rows, Grid<Index>(out.data(), rows.rows(), nClasses), control);
    }
    raisePending();
    return handOver(std::move(out), rows.rows(), nClasses);
}

auto pyCertified(Ints begin, Ints feature, Floats threshold, Ints left, Ints right, Ints label, FloatRows lower,
                 FloatRows upper, Ints truth, Index nClasses, Control *given)
{
    auto const samples = samplesOf(lower, lower, upper, truth, nClasses);
    OwnedForest const owned(begin, {spanOf(feature), spanOf(threshold), spanOf(left), spanOf(right), spanOf(label)},
                            samples.lower.columns(), nClasses);
    auto out = Array<bool>::unwritten(samples.lower.rows());
    {
        nb::gil_scoped_release unlocked;
        Interruptible own;
        certify(owned.forest(), samples, out.view(), given != nullptr ? *given : own);
    }
    raisePending();
    return handOver(std::move(out));
}

auto pyAttacked(Ints begin, Ints feature, Floats threshold, Ints left, Ints right, Ints label, FloatRows X,
                FloatRows lower, FloatRows upper, Ints truth, Index nClasses, Ints offset, Floats cut, Control *given)
{
    auto const samples = samplesOf(X, lower, upper, truth, nClasses);
    Index const n = samples.X.rows(), p = samples.X.columns();
    OwnedForest const owned(begin, {spanOf(feature), spanOf(threshold), spanOf(left), spanOf(right), spanOf(label)}, p,
                            nClasses);
    Cuts const cuts{spanOf(offset), spanOf(cut)};
    require(cuts.offset.size() == p + 1 && cuts.offset[0] == 0 && cuts.offset[p] == cuts.cut.size() &&
                std::is_sorted(cuts.offset.begin(), cuts.offset.end()),
            "offset must divide cut into the thresholds of each feature");
    auto out = Array<bool>::unwritten(n);
    auto point = Array<double>::unwritten(n * p);
    {
        nb::gil_scoped_release unlocked;
        Interruptible own;
        attack(owned.forest(), samples, cuts, out.view(), Grid<double>(point.data(), n, p),
               given != nullptr ? *given : own);
    }
    raisePending();
    return nb::make_tuple(handOver(std::move(out)), handOver(std::move(point), n, p));
}
}  // namespace

void bindEnsemble(nb::module_ &m)
{
    m.def("votes", pyVotes, array("begin"), array("feature"), array("threshold"), array("left"), array("right"),
          array("label"), array("X"), nb::arg("n_classes"),
          "Return how many trees vote for each class at each row of X.");
    m.def("certified", pyCertified, array("begin"), array("feature"), array("threshold"), array("left"), array("right"),
          array("label"), array("lower"), array("upper"), array("truth"), nb::arg("n_classes"),
          nb::arg("control").none() = nb::none(),
          "Return whether no point of the box of each row can be misclassified, as far as single trees tell. Stopped, "
          "the rows not looked at are not certified.");
    m.def("attacked", pyAttacked, array("begin"), array("feature"), array("threshold"), array("left"), array("right"),
          array("label"), array("X"), array("lower"), array("upper"), array("truth"), nb::arg("n_classes"),
          array("offset"), array("cut"), nb::arg("control").none() = nb::none(),
          "Search a misclassified point in the box of each row, one feature at a time; return whether there is one "
          "and where. Stopped, the rows not looked at are not attacked.");
}
}  // namespace hardwood
