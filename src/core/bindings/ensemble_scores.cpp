// Ensembles with scores for Python.
#include <cmath>
#include <cstdint>

#include "bindings/bind.h"
#include "ensemble_scores/scored_trees.h"
#include "ensemble_scores/verify.h"

namespace hardwood
{
namespace
{
// Raise ValueError unless the nodes of every tree form a tree: children behind their parents, each of one parent.
void requireTrees(Span<Index const> root, Span<Index const> feature, Span<double const> threshold,
                  Span<Index const> left, Span<Index const> right, Index features)
{
    Index const nodes = feature.size();
    require(root.size() > 0 && root[0] == 0, "an ensemble needs trees, the first of them at node 0");
    require(nodes < (Index{1} << 31), "an ensemble of more than 2^31 nodes");
    Array<std::uint8_t> hasParent(nodes);
    for (Index t = 0; t < root.size(); ++t)
    {
        Index const end = t + 1 < root.size() ? root[t + 1] : nodes;
        require(root[t] < end && end <= nodes, "every tree needs a node of its own");
        hasParent[root[t]] = 1;
        for (Index i = root[t]; i < end; ++i)
        {
            if (left[i] < 0 && right[i] < 0)
                continue;
            if (feature[i] < 0 || feature[i] >= features)
                require(false,
                        "a split names feature " + std::to_string(feature[i]) + " of " + std::to_string(features));
            require(!std::isnan(threshold[i]), "a split must have a threshold");
            for (Index const child : {left[i], right[i]})
            {
                require(child > i - root[t] && child < end - root[t] && hasParent[root[t] + child] == 0,
                        "every node but the root must be the child of exactly one node before it");
                hasParent[root[t] + child] = 1;
            }
        }
    }
    for (std::uint8_t const has : hasParent)
        require(has != 0, "every node but the root must be the child of exactly one node before it");
}

void verifySamples(ScoredTrees const &self, In<double, 2> X, In<double, 2> lower, In<double, 2> upper,
                   In<Index, 1> label, Out<std::int8_t, 1> verdict, Out<double, 2> point, Out<Index, 1> parts,
                   Out<double, 1> seconds, double secondsPerSample, Index mostEntries, Index threads, Control &control)
{
    Samples const samples{gridOf<double>(X), gridOf<double>(lower), gridOf<double>(upper), spanOf<Index>(label)};
    Index const n = samples.label.size();
    Grid<double> const points(point.data(), static_cast<Index>(point.shape(0)), static_cast<Index>(point.shape(1)));
    for (auto const &grid : {samples.X, samples.lower, samples.upper, Grid<double const>(points)})
        require(grid.rows() == n && grid.columns() == self.features(), "one row for each sample, a column per feature");
    Findings const findings{spanOf<std::int8_t>(verdict), points, spanOf<Index>(parts), spanOf<double>(seconds)};
    require(findings.verdict.size() == n && findings.parts.size() == n && findings.seconds.size() == n,
            "one entry for each sample");
    requireRange(samples.label, -1, self.classes() - 1, "label");
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < self.features(); ++j)
            require(std::isnan(samples.X(i, j)) ||
                        (samples.lower(i, j) <= samples.X(i, j) && samples.X(i, j) <= samples.upper(i, j)),
                    "a sample lies outside of its own box");
    {
        nb::gil_scoped_release release;
        verify(self, samples, secondsPerSample, mostEntries, threads, control, findings);
    }
    raisePending();
}
}  // namespace

void bindEnsembleScores(nb::module_ &m)
{
    nb::class_<ScoredTrees>(m, "ScoredTrees", "Trees whose leaves add up to scores, in the arithmetic of a library.")
        .def(
            "__init__",
            [](ScoredTrees *self, In<Index, 1> root, In<Index, 1> feature, In<double, 1> threshold, In<Index, 1> left,
               In<Index, 1> right, In<std::uint8_t, 1> missingLeft, In<double, 2> value, In<double, 1> base,
               Index features, int link, bool single, double divisor, double cutoff, double slope)
            {
                auto const nodes = feature.shape(0);
                require(threshold.shape(0) == nodes && left.shape(0) == nodes && right.shape(0) == nodes &&
                            missingLeft.shape(0) == nodes && value.shape(0) == nodes,
                        "the arrays of an ensemble must be of one length");
                require(value.shape(1) == base.shape(0) && base.shape(0) > 0, "one base score for each score");
                require(link >= 0 && link <= 3, "an unknown link");
                require(link != 0 || base.shape(0) == 1, "a cutoff needs one score");
                requireTrees(spanOf<Index>(root), spanOf<Index>(feature), spanOf<double>(threshold),
                             spanOf<Index>(left), spanOf<Index>(right), features);
                new (self) ScoredTrees(spanOf<Index>(root), spanOf<Index>(feature), spanOf<double>(threshold),
                                       spanOf<Index>(left), spanOf<Index>(right), spanOf<std::uint8_t>(missingLeft),
                                       gridOf<double>(value), spanOf<double>(base), features,
                                       ScoreRule{static_cast<Link>(link), single, divisor, cutoff, slope});
            },
            nb::arg("root").noconvert(), nb::arg("feature").noconvert(), nb::arg("threshold").noconvert(),
            nb::arg("left").noconvert(), nb::arg("right").noconvert(), nb::arg("missing_left").noconvert(),
            nb::arg("value").noconvert(), nb::arg("base").noconvert(), nb::arg("n_features"), nb::arg("link"),
            nb::arg("single"), nb::arg("divisor"), nb::arg("cutoff"), nb::arg("slope"))
        .def_prop_ro("rounding", &ScoredTrees::roundingOfSums,
                     "By how much the sums of the library can differ from the exact ones.")
        .def(
            "sums",
            [](ScoredTrees const &self, In<double, 2> X)
            {
                auto const rows = gridOf<double>(X);
                require(rows.columns() == self.features(), "X must have one column for each feature");
                auto out = Array<double>::unwritten(rows.rows() * self.scores());
                {
                    nb::gil_scoped_release release;
                    for (Index i = 0; i < rows.rows(); ++i)
                        self.sums(rows.row(i), out.view().part(i * self.scores(), self.scores()));
                }
                return handOver(std::move(out), rows.rows(), self.scores());
            },
            nb::arg("X").noconvert(), "Sums of the leaves at each row of X, before division and link.")
        .def(
            "classes",
            [](ScoredTrees const &self, In<double, 2> sums)
            {
                auto const rows = gridOf<double>(sums);
                require(rows.columns() == self.scores(), "one column for each score");
                auto out = Array<Index>::unwritten(rows.rows());
                Array<double> work(self.scores());
                for (Index i = 0; i < rows.rows(); ++i)
                    out[i] = self.classOf(rows.row(i), work.view());
                return handOver(std::move(out));
            },
            nb::arg("sums").noconvert(), "The class, as an index, that each row of sums stands for.")
        .def("verify", &verifySamples, nb::arg("X").noconvert(), nb::arg("lower").noconvert(),
             nb::arg("upper").noconvert(), nb::arg("label").noconvert(), nb::arg("verdict").noconvert(),
             nb::arg("point").noconvert(), nb::arg("parts").noconvert(), nb::arg("seconds").noconvert(),
             nb::arg("seconds_per_sample"), nb::arg("most_entries"), nb::arg("n_threads"), nb::arg("control"),
             "Treat the samples whose verdict is open (0); write verdicts, points, parts of boxes (-1 where a box "
             "reaches "
             "more leaves than may be kept) and seconds.");
}
}  // namespace hardwood
