// Greedy learners, for Python.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <limits>

#include "bindings/bind.h"
#include "bindings/events.h"
#include "greedy/adversarial_error.h"
#include "greedy/impurity.h"

namespace hardwood
{
namespace
{
// Feature, index, left, right and label of each node.
nb::tuple handOverTree(GrowingTree const &tree)
{
    auto const column = [&](Index GrowingNode::*field)
    {
        auto values = Array<Index>::unwritten(tree.size());
        for (Index node = 0; node != tree.size(); ++node)
            values[node] = tree[node].*field;
        return handOver(std::move(values));
    };
    return nb::make_tuple(column(&GrowingNode::feature), column(&GrowingNode::index), column(&GrowingNode::left),
                          column(&GrowingNode::right), column(&GrowingNode::label));
}

void requireSamples(Span<Index const> label, Span<double const> weight, Index nSamples, Index nClasses)
{
    require(nClasses >= 1, "n_classes must be at least 1");
    require(label.size() == nSamples && weight.size() == nSamples, "label and weight must have an entry per sample");
    requireRange(label, 0, nClasses - 1, "label");
    for (double const w : weight)
        require(w >= 0.0, "weight must not be negative");
}

void requireLimits(GrowthLimits const &limits, Index nFeatures)
{
    require(limits.maxDepth >= 0, "max_depth must not be negative");
    require(limits.maxFeatures >= 0 && limits.maxFeatures <= nFeatures, "max_features must not exceed the features");
}

Criterion criterionOf(std::string const &name)
{
    if (name == "groot")
        return Criterion::groot;
    if (name == "chen-gini")
        return Criterion::chenGini;
    require(name == "chen-entropy", "criterion must be 'groot', 'chen-gini' or 'chen-entropy', not '" + name + "'");
    return Criterion::chenEntropy;
}

nb::tuple pyGrowOnImpurity(EventLists const &lists, In<double, 1> weight, Index nClasses, Index maxDepth,
                           Index minSamplesSplit, Index minSamplesLeaf, Index maxFeatures, double robustWeight,
                           std::string const &criterion, std::uint32_t seed, Control *control, double minWeightLeaf)
{
    auto const events = lists.events();
    auto const weights = spanOf(weight);
    requireSamples(lists.label(), weights, events.columns() / 3, nClasses);
    GrowthLimits const limits{maxDepth, minSamplesSplit, minSamplesLeaf, maxFeatures, minWeightLeaf};
    requireLimits(limits, events.rows());
    require(robustWeight >= 0.0 && robustWeight <= 1.0, "robust_weight must be between 0 and 1");
    auto const which = criterionOf(criterion);
    bool const whole = std::all_of(weights.begin(), weights.end(), [](double w) { return w == 1.0 || w == 0.0; });
    ImpurityProblem const problem{events, lists.finite(), lists.label(), weights, nClasses, robustWeight, whole};
    GrowingTree tree(0);
    {
        nb::gil_scoped_release unlocked;
        Interruptible own;
        tree = growOnImpurity(problem, which, limits, seed, control != nullptr ? *control : own);
    }
    raisePending();
    return handOverTree(tree);
}

nb::tuple pyGrowOnErrors(In<std::int32_t, 2> lower, In<std::int32_t, 2> upper, In<Index, 1> offset, In<double, 1> first,
                         In<double, 1> last, In<Index, 1> label, In<double, 1> weight, Index nClasses, Index maxDepth,
                         Index minSamplesSplit, Index minSamplesLeaf, Index maxFeatures, std::uint32_t seed,
                         Control *given, double minWeightLeaf)
{
    ErrorProblem const problem{gridOf(lower), gridOf(upper), spanOf(offset), spanOf(first),
                               spanOf(last),  spanOf(label), spanOf(weight), nClasses};
    Index const nFeatures = problem.lower.columns();
    require(problem.upper.rows() == problem.lower.rows() && problem.upper.columns() == nFeatures,
            "lower_rank and upper_rank must be of one shape");
    requireSamples(problem.label, problem.weight, problem.lower.rows(), nClasses);
    require(problem.label.size() < std::numeric_limits<std::int32_t>::max(), "more samples than can be numbered");
    GrowthLimits const limits{maxDepth, minSamplesSplit, minSamplesLeaf, maxFeatures, minWeightLeaf};
    requireLimits(limits, nFeatures);
    require(problem.offset.size() == nFeatures + 1 && problem.offset[0] == 0 &&
                problem.offset[nFeatures] == problem.first.size() && problem.first.size() == problem.last.size() &&
                std::is_sorted(problem.offset.begin(), problem.offset.end()),
            "offset must divide first and last into the clusters of each feature");
    for (Index i = 0; i != problem.lower.rows(); ++i)
        for (Index j = 0; j != nFeatures; ++j)
            if (problem.lower(i, j) < -1 || problem.lower(i, j) > problem.upper(i, j) ||
                problem.upper(i, j) > problem.nRanks(j))
                require(false, "a box must have ranks -1 <= lower <= upper <= n_ranks");
    GrowingTree tree(0);
    {
        nb::gil_scoped_release unlocked;
        Interruptible own;
        tree = growOnErrors(problem, limits, seed, given != nullptr ? *given : own);
    }
    raisePending();
    return handOverTree(tree);
}
}  // namespace

void bindGreedy(nb::module_ &m)
{
    nb::class_<EventLists>(m, "EventLists", "The sorted events of all features.")
        .def(nb::init<In<std::uint32_t, 2>, In<Index, 2>, In<Index, 1>>(), array("events"), array("finite"),
             array("label"),
             "Check and keep events, codes ``16 * sample + 8 * (begins a rank) + 2 * kind + (label == 1)`` (kind 0 "
             "lower end, 1 value, 2 upper end), in order, and which of them are at finite numbers.");
    m.def("grow_on_impurity", pyGrowOnImpurity, nb::arg("events"), array("weight"), nb::arg("n_classes"),
          nb::arg("max_depth"), nb::arg("min_samples_split"), nb::arg("min_samples_leaf"), nb::arg("max_features"),
          nb::arg("robust_weight"), nb::arg("criterion"), nb::arg("seed"), nb::arg("control").none() = nb::none(),
          nb::arg("min_weight_leaf") = 0.0,
          "Grow a tree on the impurity under attack (\"groot\", \"chen-gini\", \"chen-entropy\"); return feature, "
          "place of the last event before the threshold, left, right and label of its nodes. Samples of weight 0 take "
          "no part. Stopped, the nodes still open become leaves.");
    m.def("grow_on_errors", pyGrowOnErrors, array("lower_rank"), array("upper_rank"), array("offset"), array("first"),
          array("last"), array("label"), array("weight"), nb::arg("n_classes"), nb::arg("max_depth"),
          nb::arg("min_samples_split"), nb::arg("min_samples_leaf"), nb::arg("max_features"), nb::arg("seed"),
          nb::arg("control").none() = nb::none(), nb::arg("min_weight_leaf") = 0.0,
          "Grow a tree on the errors under attack; return feature, index, left, right and label of its nodes. "
          "Stopped, the nodes still open stay leaves.");
}
}  // namespace hardwood
