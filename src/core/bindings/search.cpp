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
    settled.reserve(parts.size());
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
             nb::arg("tree").none() = nb::none(), "Whether the question is still open; the help is taken then.")
        .def("hold_questions", &RootSearch::holdQuestions, nb::arg("is_holding"),
             "Stand still at every question from now on, until the next call.");
}

// What searches that share a root tell each other.
void bindSharing(nb::class_<RootSearch> &root)
{
    root.def("offer", &RootSearch::offer, nb::arg("cost"), "A tree of this cost is known elsewhere.")
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
            "take_told",
            [](RootSearch &self)
            {
                nb::list told;
                for (auto const &[side, tree] : self.takeTold())
                    told.append(nb::make_tuple(side, rowsOf(tree)));
                return told;
            },
            "Trees that children of the root were answered with since the last call: side and tree.")
        .def(
            "hear",
            [](RootSearch &self, std::vector<std::pair<Index, In<std::int64_t, 2>>> const &told)
            {
                std::vector<std::pair<Index, Tree>> trees;
                for (auto const &[side, rows] : told)
                {
                    require(side == 0 || side == 1, "a side is 0 or 1");
                    trees.emplace_back(side, treeOf(rows, self.problem()));
                    require(trees.back().second.depth() < self.depth(), "a tree is too deep for a child of the root");
                }
                self.hear(trees);
            },
            nb::arg("told"), "Take note of trees that another search was told, as a guide.")
        .def(
            "take_settled", [](RootSearch &self) { return tuplesOf(self.takeSettled()); },
            "Parts of the root settled since the last call: feature, first, end, and what every tree there costs.");
}

void bindRoot(nb::module_ &m)
{
    nb::class_<RootSearch> root(m, "RootSearch", "The root of the search, shared out to threads.");
    bindPieces(root);
    bindSharing(root);
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
        .def(
            "take_missed",
            [](RootSearch &self) -> std::optional<TreeRows>
            {
                auto const tree = self.takeMissed();
                return tree ? std::optional(rowsOf(*tree)) : std::nullopt;
            },
            "The cheapest tree of a feature of the root that was not cheap enough and that nobody has taken, or None.")
        .def("stop", &RootSearch::stop, nb::call_guard<nb::gil_scoped_release>(), "End all threads, wait for them.")
        .def_prop_ro("cutoff", &RootSearch::cutoff, "Where all items are settled: no tree costs less than this.")
        .def_prop_ro("best", &RootSearch::best)
        .def_prop_ro("n_scanned", &RootSearch::nScanned, "Samples or blocks that the busiest thread has scanned.")
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
            [](Reoptimiser &self, Problem const &problem, In<std::int64_t, 2> const &rows, Index depth, Index reach,
               Index effort)
            {
                require(reach >= 2 && reach <= Reoptimiser::deepestStep, "reach must be 2 or 3");
                auto tree = treeOf(rows, problem);
                Weight cost = 0;
                {
                    nb::gil_scoped_release release;
                    cost = self.descend(tree, depth, reach, effort);
                }
                raisePending();
                return nb::make_tuple(cost, rowsOf(tree));
            },
            nb::arg("problem"), nb::arg("rows").noconvert(), nb::arg("depth"), nb::arg("reach"), nb::arg("effort"),
            "Re-optimise subtrees of at most `reach` levels of splits until none improves; each may scan `effort` "
            "samples. Returns cost and tree.")
        .def(
            "polish",
            [](Reoptimiser &self, Problem const &problem, In<std::int64_t, 2> const &rows)
            {
                auto tree = treeOf(rows, problem);
                Weight cost = 0;
                {
                    nb::gil_scoped_release release;
                    cost = self.polish(tree);
                }
                raisePending();
                return nb::make_tuple(cost, rowsOf(tree));
            },
            nb::arg("problem"), nb::arg("rows").noconvert(),
            "Move one threshold after the other to where it is best until nothing improves. Returns cost and tree.")
        .def(
            "cost_of",
            [](Reoptimiser &self, Problem const &problem, In<std::int64_t, 2> const &rows)
            { return self.costOf(treeOf(rows, problem)); },
            nb::arg("problem"), nb::arg("rows").noconvert(), "Cost of a tree; `forbidden` if a leaf is too small.")
        .def_prop_ro("effort", &Reoptimiser::effort, "Samples scanned so far, all of them at every scan.")
        .def_prop_ro("n_scanned", &Reoptimiser::nScanned, "Samples or blocks scanned so far, as a proof counts them.");
}
}  // namespace

void bindSearch(nb::module_ &m)
{
    bindSearchProblem(m);
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
        "shifted",
        [](Problem const &problem, In<std::int64_t, 2> const &rows, Index node, double share) -> nb::object
        {
            auto const tree = treeOf(rows, problem);
            require(node >= 0 && node < tree.size() && !tree.nodes()[node].isLeaf(), "node must be a split");
            auto const moved = shifted(problem, tree, node, share);
            return moved ? nb::cast(rowsOf(*moved)) : nb::none();
        },
        nb::arg("problem"), nb::arg("rows").noconvert(), nb::arg("node"), nb::arg("share"),
        "Move a threshold past a share of the samples that reach it; None where there are not so many.");
}
}  // namespace hardwood
