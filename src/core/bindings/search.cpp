// The exact search for Python.
#include "bindings/bind.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "search/merge.h"
#include "search/reoptimise.h"
#include "search/root.h"
#include "search/stump.h"

namespace hardwood
{
namespace
{
using namespace search;

// A tree for Python: five rows (feature, threshold index, left, right, label), one column per node, as in IndexTree.
using TreeRows = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<2>>;

TreeRows rowsOf(Tree const &tree)
{
    auto const n = tree.size();
    auto rows = Array<std::int64_t>::unwritten(5 * n);
    for (Index h = 0; h < n; ++h)
    {
        auto const &node = tree.nodes()[h];
        rows[h] = node.feature;
        rows[n + h] = node.isLeaf() ? -1 : node.threshold;
        rows[2 * n + h] = node.left;
        rows[3 * n + h] = node.right;
        rows[4 * n + h] = node.label;
    }
    return handOver(std::move(rows), 5, n);
}

// A tree from Python: checked, so that no walk leaves it or goes in circles.
Tree treeOf(In<std::int64_t, 2> const &array, Problem const &problem)
{
    auto const rows = gridOf(array);
    require(rows.rows() == 5, "a tree has five rows: feature, threshold index, left, right, label");
    require(rows.columns() > 0, "a tree has at least one node");
    std::vector<TreeNode> nodes;
    for (Index h = 0; h < rows.columns(); ++h)
    {
        TreeNode node{.left = rows(2, h), .right = rows(3, h)};
        if (node.left < 0)
        {
            node.left = node.right = -1;
            require(rows(4, h) >= 0 && rows(4, h) < problem.nClasses, "a leaf's label is no class of the problem");
            node.label = static_cast<Label>(rows(4, h));
        }
        else
        {
            require(node.left > h && node.right > h && node.left < rows.columns() && node.right < rows.columns(),
                    "children must stand behind their parent");
            require(rows(0, h) >= 0 && rows(0, h) < problem.nFeatures, "a split's feature is none of the problem's");
            node.feature = rows(0, h);
            // Beyond all ends is beyond all ends, however far.
            node.threshold = static_cast<Rank>(std::clamp<Index>(rows(1, h), -2, problem.nRanks[node.feature] + 1));
        }
        nodes.push_back(node);
    }
    return Tree(std::move(nodes));
}

void checkRanks(Problem const &problem)
{
    for (Index j = 0; j < problem.nFeatures; ++j)
    {
        auto const lower = problem.lower(j);
        auto const upper = problem.upper(j);
        auto const nRanks = problem.nRanks[j];
        for (Index i = 0; i < problem.nSamples; ++i)
            if (lower[i] < -1 || upper[i] < 0 || lower[i] > upper[i] || upper[i] > nRanks || lower[i] >= nRanks)
                require(false, "the ends of sample " + std::to_string(i) + " on feature " + std::to_string(j) +
                                   " have the ranks " + std::to_string(lower[i]) + " and " + std::to_string(upper[i]) +
                                   "; there are " + std::to_string(nRanks));
    }
}

void checkWeights(Problem const &problem)
{
    Weight const room = (Weight{1} << 62) / (problem.nSamples + 2);
    require(problem.penalty >= 0 && problem.minLeaf >= 0, "penalty and min_leaf must not be negative");
    require(problem.step >= 1, "step must be at least 1");
    require(problem.forbidden >= 1 && problem.forbidden - 1 <= room,
            "forbidden is " + std::to_string(problem.forbidden) + "; sums may overflow beyond " + std::to_string(room));
    Weight sum = problem.penalty;
    for (Index i = 0; i < problem.nSamples; ++i)
    {
        auto const isNegative = problem.weight[i] < 0 || problem.count[i] < 0;
        if (isNegative || problem.weight[i] >= problem.forbidden - sum)
            require(false, isNegative ? "weights and counts must not be negative"
                                      : "the weights and a leaf must sum to less than forbidden");
        sum += problem.weight[i];
    }
}

template <class T>
Array<T> copied(In<std::int64_t, 1> const &array, Index size, std::string const &name)
{
    require(static_cast<Index>(array.shape(0)) == size, name + " must have " + std::to_string(size) + " entries");
    auto copy = Array<T>::unwritten(size);
    std::transform(array.data(), array.data() + size, copy.begin(), [](std::int64_t v) { return static_cast<T>(v); });
    return copy;
}

// The ranks of the chosen rows, feature by feature: copied in blocks that stay in the cache.
Array<Rank> transposed(Grid<Rank const> rank, Span<std::int64_t const> rows)
{
    constexpr Index block = 16;
    auto const n = rows.size();
    auto copy = Array<Rank>::unwritten(rank.columns() * n);
    for (Index first = 0; first < rank.columns(); first += block)
    {
        auto const end = std::min(first + block, rank.columns());
        for (Index i = 0; i < n; ++i)
            for (Index j = first; j < end; ++j)
                copy[j * n + i] = rank(rows[i], j);
    }
    return copy;
}

Problem makeProblem(In<Rank, 2> const &lower, In<Rank, 2> const &upper, In<std::int64_t, 1> const &rows,
                    In<std::int64_t, 1> const &nRanks, In<std::int64_t, 1> const &label,
                    In<std::int64_t, 1> const &count, In<std::int64_t, 1> const &weight, Index nClasses, Weight penalty,
                    Weight forbidden, Weight step, Index minLeaf)
{
    Problem problem;
    problem.nFeatures = static_cast<Index>(lower.shape(1));
    problem.nSamples = static_cast<Index>(rows.shape(0));
    problem.nClasses = nClasses;
    auto const n = problem.nSamples;
    require(lower.shape(0) == upper.shape(0) && lower.shape(1) == upper.shape(1),
            "lower and upper ranks must have the same shape");
    require(n > 0 && problem.nFeatures > 0, "there must be a sample and a feature");
    require(n < (Index{1} << 31), "there are more samples than an event can name");
    require(nClasses >= 2 && nClasses < (Index{1} << 31), "there must be at least two classes");
    requireRange(spanOf(rows), 0, static_cast<Index>(lower.shape(0)) - 1, "rows");
    requireRange(spanOf(label), 0, nClasses - 1, "label");
    requireRange(spanOf(nRanks), 0, (Index{1} << 30) - 2, "n_ranks");
    problem.nRanks = copied<Index>(nRanks, problem.nFeatures, "n_ranks");
    problem.label = copied<Label>(label, n, "label");
    problem.count = copied<Index>(count, n, "count");
    problem.weight = copied<Weight>(weight, n, "weight");
    problem.penalty = penalty;
    problem.forbidden = forbidden;
    problem.step = step;
    problem.minLeaf = minLeaf;
    nb::gil_scoped_release release;
    problem.lowerRank = transposed(gridOf(lower), spanOf(rows));
    problem.upperRank = transposed(gridOf(upper), spanOf(rows));
    checkRanks(problem);
    checkWeights(problem);
    problem.orderEvents();
    return problem;
}

Problem partOfProblem(Problem const &problem, In<std::int64_t, 1> const &samples, In<std::int64_t, 1> const &weight)
{
    requireRange(spanOf(samples), 0, problem.nSamples - 1, "samples");
    require(weight.shape(0) == samples.shape(0), "each sample needs a weight");
    requireRange(spanOf(weight), 0, problem.forbidden, "weight");
    nb::gil_scoped_release release;
    return problem.part(spanOf(samples), spanOf(weight));
}

Options makeOptions(Index rounds, Index rangeRounds, Index deepRounds, Index deepRangeRounds, Index ascentSteps,
                    Index blocksFrom, bool firstTree, bool useMemory, bool useRanges, bool usePool, bool useLazyScan,
                    bool useCarry, bool useWitness, bool useEarlyJoin, bool useBlocks, bool useResplit,
                    bool useLateBranching)
{
    auto const least = [](Index value, Index limit, std::string const &name)
    { require(value >= limit, name + "=" + std::to_string(value) + "; it must be at least " + std::to_string(limit)); };
    least(rounds, 0, "rounds");
    least(rangeRounds, 0, "range_rounds");
    least(deepRounds, 1, "deep_rounds");
    least(deepRangeRounds, 0, "deep_range_rounds");
    least(ascentSteps, 1, "ascent_steps");
    least(blocksFrom, 0, "blocks_from");
    return {rounds,     rangeRounds,  deepRounds, deepRangeRounds, ascentSteps,     blocksFrom,
            firstTree,  useMemory,    useRanges,  usePool,         useLazyScan,     useCarry,
            useWitness, useEarlyJoin, useBlocks,  useResplit,      useLateBranching};
}

nb::dict dictOf(Counters const &counters)
{
    nb::dict dict;
    dict["nodes"] = counters.nodes;
    dict["evaluations"] = counters.evaluations;
    dict["rounds"] = counters.rounds;
    dict["scans"] = counters.scans;
    dict["child_solves"] = counters.childSolves;
    dict["branches"] = counters.branches;
    dict["skipped"] = counters.skipped;
    return dict;
}

void bindProblem(nb::module_ &m)
{
    nb::class_<Problem>(m, "SearchProblem", "Merged boxes in ranks, classes, whole-number weights.")
        .def(
            "__init__",
            [](Problem *self, In<Rank, 2> const &lower, In<Rank, 2> const &upper, In<std::int64_t, 1> const &rows,
               In<std::int64_t, 1> const &nRanks, In<std::int64_t, 1> const &label, In<std::int64_t, 1> const &count,
               In<std::int64_t, 1> const &weight, Index nClasses, Weight penalty, Weight forbidden, Weight step,
               Index minLeaf)
            {
                new (self) Problem(makeProblem(lower, upper, rows, nRanks, label, count, weight, nClasses, penalty,
                                               forbidden, step, minLeaf));
            },
            nb::arg("lower").noconvert(), nb::arg("upper").noconvert(), nb::arg("rows").noconvert(),
            nb::arg("n_ranks").noconvert(), nb::arg("label").noconvert(), nb::arg("count").noconvert(),
            nb::arg("weight").noconvert(), nb::kw_only(), nb::arg("n_classes"), nb::arg("penalty"),
            nb::arg("forbidden"), nb::arg("step"), nb::arg("min_leaf"))
        .def_ro("shares_nothing", &Problem::sharesNothing, "Whether no sample reaches both sides of any split.")
        .def("part", &partOfProblem, nb::arg("samples").noconvert(), nb::arg("weight").noconvert(),
             "The problem of some of the samples, with other weights; costs of trees may be any numbers then.");
    nb::class_<Options>(m, "SearchOptions", "How hard each bound is tried, and which ideas are used at all.")
        .def(
            "__init__",
            [](Options *self, Index rounds, Index rangeRounds, Index deepRounds, Index deepRangeRounds,
               Index ascentSteps, Index blocksFrom, bool firstTree, bool useMemory, bool useRanges, bool usePool,
               bool useLazyScan, bool useCarry, bool useWitness, bool useEarlyJoin, bool useBlocks, bool useResplit,
               bool useLateBranching)
            {
                new (self)
                    Options(makeOptions(rounds, rangeRounds, deepRounds, deepRangeRounds, ascentSteps, blocksFrom,
                                        firstTree, useMemory, useRanges, usePool, useLazyScan, useCarry, useWitness,
                                        useEarlyJoin, useBlocks, useResplit, useLateBranching));
            },
            nb::kw_only(), nb::arg("rounds") = 24, nb::arg("range_rounds") = 4, nb::arg("deep_rounds") = 60,
            nb::arg("deep_range_rounds") = 20, nb::arg("ascent_steps") = 100, nb::arg("blocks_from") = 500,
            nb::arg("first_tree") = true, nb::arg("use_memory") = true, nb::arg("use_ranges") = true,
            nb::arg("use_pool") = true, nb::arg("use_lazy_scan") = true, nb::arg("use_carry") = true,
            nb::arg("use_witness") = true, nb::arg("use_early_join") = true, nb::arg("use_blocks") = true,
            nb::arg("use_resplit") = true, nb::arg("use_late_branching") = true);
}

using PartTuple = std::tuple<Index, Index, Index>;

Index checkedFeature(RootSearch const &search, Index feature)
{
    require(feature >= 0 && feature < search.nFeatures(), "there is no feature " + std::to_string(feature));
    return feature;
}

RootPart partOf(RootSearch &search, PartTuple const &part)
{
    auto const [feature, first, end] = part;
    require(0 <= first && first < end && end <= search.nCandidates(checkedFeature(search, feature)),
            "a part of the root must be a range of the feature's candidates");
    return {feature, first, end};
}

std::vector<std::tuple<Index, Index, Index, Weight>> tuplesOf(std::vector<SettledPart> const &parts)
{
    std::vector<std::tuple<Index, Index, Index, Weight>> settled;
    for (auto const &[part, bound] : parts)
        settled.emplace_back(part.feature, part.first, part.end, bound);
    return settled;
}

nb::bytes bytesOf(std::vector<std::uint8_t> const &all)
{
    return nb::bytes(all.data(), all.size());
}

Span<std::uint8_t const> contentOf(nb::bytes const &bytes)
{
    return {static_cast<std::uint8_t const *>(bytes.data()), static_cast<Index>(bytes.size())};
}

nb::object pieceOf(RootSearch &search, double seconds, bool isForHelp)
{
    std::optional<ProofPiece> piece;
    {
        nb::gil_scoped_release release;
        piece = search.takePiece(seconds, isForHelp);
    }
    if (!piece)
        return nb::none();
    return nb::make_tuple(bytesOf(piece->records), tuplesOf(piece->settled), bytesOf(piece->state));
}

nb::object questionOf(RootSearch &search, double leastSeconds)
{
    auto const asked = search.askQuestion(leastSeconds);
    if (!asked)
        return nb::none();
    auto const &[number, question] = *asked;
    std::vector<PartTuple> open;
    for (auto const &[feature, first, end] : question.open)
        open.emplace_back(feature, first, end);
    auto const arrayOf = [](std::vector<Index> const &all)
    { return handOver(Array<Index>::copy(Span<Index const>(all))); };
    return nb::make_tuple(number, arrayOf(question.samples), arrayOf(question.weight), question.target, open);
}

bool helpWith(RootSearch &search, Index question, Index place,
              std::vector<std::tuple<Index, Index, Index, Weight>> const &settled, nb::bytes const &records,
              std::optional<std::pair<Weight, In<std::int64_t, 2>>> const &tree)
{
    require(place >= ProofLog::helpers && place < Index{1} << 31, "that is no place of a helper");
    Help help{place, {}, {}, {}};
    for (auto const &[feature, first, end, bound] : settled)
    {
        require(feature >= 0 && feature < search.nFeatures(), "there is no feature " + std::to_string(feature));
        require(bound < everything, "a bound is more than all weight");
        help.settled.push_back({{feature, first, end}, bound});
    }
    auto const bytes = contentOf(records);
    help.records.assign(bytes.begin(), bytes.end());
    if (tree)
        help.answer = FoundTree{tree->first, treeOf(tree->second, search.problem())};
    return search.help(question, std::move(help));
}

void bindPieces(nb::class_<RootSearch> &root)
{
    root.def("take_piece", &pieceOf, nb::arg("seconds"), nb::arg("is_for_help") = false,
             "Records and parts settled since the last piece, and the state behind them; None if that takes too long.")
        .def(
            "load", [](RootSearch &self, nb::bytes const &state) { self.load(contentOf(state)); }, nb::arg("state"),
            "Go on from the state of an earlier search, behind its records.")
        .def("ask_question", &questionOf, nb::arg("least_seconds"),
             "Number, samples, weights, target and open parts of the question to a child of the root.")
        .def("help", &helpWith, nb::arg("question"), nb::arg("place"), nb::arg("settled"), nb::arg("records"),
             nb::arg("tree").none() = nb::none(), "Whether the question is still open; the help is taken then.");
}

void bindRoot(nb::module_ &m)
{
    nb::class_<RootSearch> root(m, "RootSearch", "The root of the search, shared out to threads.");
    bindPieces(root);
    root.def(
            "__init__",
            [](RootSearch *self, Problem const &problem, Options const &options, Index depth, Index nThreads,
               Control &control, ProofLog *proof)
            {
                require(depth >= 2 && depth <= deepest, "depth must be between 2 and " + std::to_string(deepest));
                require(nThreads >= 1 && nThreads <= 1024, "n_threads must be between 1 and 1024");
                require(proof == nullptr || proof->nSamples() == problem.nSamples, "the proof is of other samples");
                new (self) RootSearch(problem, options, depth, nThreads, control, proof);
            },
            nb::arg("problem"), nb::arg("options"), nb::arg("depth"), nb::arg("n_threads"), nb::arg("control"),
            nb::arg("proof").none() = nb::none(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 6>(),
            nb::keep_alive<1, 7>())
        .def(
            "set_effort",
            [](RootSearch &self, Index effort)
            {
                require(effort >= 0, "effort must not be negative");
                self.setEffort(effort);
            },
            nb::arg("samples"), "Let every thread give up when it has scanned so many samples, all stages together.")
        .def("use_threads", &RootSearch::useThreads, nb::arg("n_threads"),
             "Let only so many threads take work, at least one.")
        .def(
            "start",
            [](RootSearch &self, Weight target, Weight best, std::optional<std::vector<PartTuple>> const &parts)
            {
                std::optional<std::vector<RootPart>> checked;
                if (parts)
                    checked.emplace();
                for (auto const &part : parts.value_or(std::vector<PartTuple>{}))
                    checked->push_back(partOf(self, part));
                nb::gil_scoped_release release;
                self.start(target, best, checked);
            },
            nb::arg("target"), nb::arg("best"), nb::arg("parts").none() = nb::none(),
            "Look for trees that cost less than the target, and than `best` by a step, in the parts (feature, first, "
            "end) of the root, or in all of it; returns at once.")
        .def("offer", &RootSearch::offer, nb::arg("cost"), "A tree of this cost is known elsewhere.")
        .def(
            "give_back",
            [](RootSearch &self)
            {
                std::vector<PartTuple> parts;
                for (auto const &part : self.giveBack())
                    parts.emplace_back(part.feature, part.first, part.end);
                return parts;
            },
            "Parts (feature, first, end) that were not begun; if none, the next call may find some.")
        .def(
            "take_settled", [](RootSearch &self) { return tuplesOf(self.takeSettled()); },
            "Parts of the root settled since the last call: feature, first, end, and what every tree there costs.")
        .def(
            "n_candidates",
            [](RootSearch &self, Index feature) { return self.nCandidates(checkedFeature(self, feature)); },
            nb::arg("feature"), "Thresholds of a feature that need to be searched at the root.")
        .def(
            "wait",
            [](RootSearch &self, double seconds)
            {
                StageReport report;
                {
                    nb::gil_scoped_release release;
                    report = self.wait(seconds);
                }
                nb::list trees;
                for (auto const &[cost, tree] : report.trees)
                    trees.append(nb::make_tuple(cost, rowsOf(tree)));
                return nb::make_tuple(trees, report.nSettled, report.nItems, report.isRunning);
            },
            nb::arg("seconds"),
            "Trees (cost, rows) found since the last call, items settled, items in all, whether threads still run.")
        .def("stop", &RootSearch::stop, nb::call_guard<nb::gil_scoped_release>(), "End all threads, wait for them.")
        .def_prop_ro("cutoff", &RootSearch::cutoff, "Where all items are settled: no tree costs less than this.")
        .def_prop_ro("best", &RootSearch::best)
        .def(
            "counters", [](RootSearch const &self, Index depth) { return dictOf(self.countersOf(depth)); },
            nb::arg("depth"), "What was done at nodes of this depth; only while no thread runs.");
}

void bindProof(nb::module_ &m)
{
    nb::class_<ProofLog>(m, "ProofLog", "The records of a proof, as the search writes them.")
        .def(
            "__init__",
            [](ProofLog *self, In<std::int64_t, 1> const &sampleNumber, Index firstPlace)
            {
                requireRange(spanOf(sampleNumber), 0, (Index{1} << 32) - 1, "sample_number");
                auto const numbers = spanOf(sampleNumber);
                new (self) ProofLog(std::vector<std::uint32_t>(numbers.begin(), numbers.end()), firstPlace);
            },
            nb::arg("sample_number").noconvert(), nb::arg("first_place") = 0)
        .def("bound", &ProofLog::bound, nb::arg("value"), "Claim a bound at the root.")
        .def(
            "take",
            [](ProofLog &self)
            {
                auto const bytes = self.take();
                return nb::bytes(bytes.data(), bytes.size());
            },
            "What was written since the last call.");
}

void bindReoptimiser(nb::module_ &m)
{
    nb::class_<Reoptimiser>(m, "Reoptimiser", "Exact re-optimisation of the subtrees of a tree.")
        .def(nb::init<Problem const &, Options const &, Control &>(), nb::arg("problem"), nb::arg("options"),
             nb::arg("control"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 4>())
        .def(
            "descend",
            [](Reoptimiser &self, Problem const &problem, In<std::int64_t, 2> const &rows, Index depth, Index effort)
            {
                auto tree = treeOf(rows, problem);
                Weight cost = 0;
                {
                    nb::gil_scoped_release release;
                    cost = self.descend(tree, depth, effort);
                }
                raisePending();
                return nb::make_tuple(cost, rowsOf(tree));
            },
            nb::arg("problem"), nb::arg("rows").noconvert(), nb::arg("depth"), nb::arg("effort"),
            "Re-optimise subtrees until none improves; each may scan `effort` samples. Returns cost and tree.")
        .def(
            "cost_of",
            [](Reoptimiser &self, Problem const &problem, In<std::int64_t, 2> const &rows)
            { return self.costOf(treeOf(rows, problem)); },
            nb::arg("problem"), nb::arg("rows").noconvert(), "Cost of a tree; `forbidden` if a leaf is too small.")
        .def_prop_ro("effort", &Reoptimiser::effort, "Samples scanned so far.");
}
}  // namespace

void bindSearch(nb::module_ &m)
{
    bindProblem(m);
    bindProof(m);
    bindRoot(m);
    bindReoptimiser(m);
    m.def(
        "best_stump",
        [](Problem const &problem)
        {
            PricedStump best;
            {
                nb::gil_scoped_release release;
                best = bestStump(problem);
            }
            return nb::make_tuple(best.cost, rowsOf(Tree::of(best.stump)));
        },
        nb::arg("problem"), "Best tree with at most one split: its cost and the tree.");
    m.def(
        "merge_rows",
        [](In<Rank, 2> const &lower, In<Rank, 2> const &upper, In<std::int64_t, 1> const &label,
           Control *control) -> nb::object
        {
            require(lower.shape(0) == upper.shape(0) && lower.shape(1) == upper.shape(1) &&
                        label.shape(0) == lower.shape(0),
                    "lower, upper and label must have the same rows, lower and upper the same columns");
            std::optional<MergedRows> merged;
            {
                nb::gil_scoped_release release;
                Interruptible own;
                merged = mergeRows(gridOf(lower), gridOf(upper), spanOf(label), control != nullptr ? *control : own);
            }
            raisePending();
            if (!merged)
                return nb::none();
            return nb::make_tuple(handOver(std::move(merged->group)), handOver(std::move(merged->first)));
        },
        nb::arg("lower").noconvert(), nb::arg("upper").noconvert(), nb::arg("label").noconvert(),
        nb::arg("control").none() = nb::none(),
        "Group equal boxes of one class: the group of each row, and a row of each group, in lexicographic order; "
        "None if the control stopped it.");
}
}  // namespace hardwood
