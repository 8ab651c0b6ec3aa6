// What the exact search is about, for Python: ranks, equal samples, the problem and the options.
#include "bindings/bind.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "bindings/boxes_around.h"
#include "search/merge.h"
#include "search/node.h"

namespace hardwood
{
namespace
{
using namespace search;

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
        auto const isNegative = problem.weight[i] < 0;
        if (isNegative || problem.weight[i] >= problem.forbidden - sum)
            require(false, isNegative ? "weights must not be negative"
                                      : "the weights and a leaf must sum to less than forbidden");
        sum += problem.weight[i];
    }
}

template <class T>
Array<T> copied(In<std::int64_t, 1> const &array, Index size, std::string const &name, bool isNeeded = true)
{
    require(static_cast<Index>(array.shape(0)) == size, name + " must have " + std::to_string(size) + " entries");
    if (!isNeeded)
        return {};
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

// The ends of all boxes in ranks, feature by feature: for tables so large that there is room for one copy only.
struct RankedColumns
{
    RankedEnds ends;
    Index nSamples;

    [[nodiscard]] Index nFeatures() const { return ends.nRanks.size(); }
    [[nodiscard]] RankTable tableOf(Array<Rank> const &rank) const
    {
        return {rank.view(), nSamples, nFeatures(), true};
    }
};

// The ranks of the chosen rows, in the memory of all.
Array<Rank> chosenOf(Array<Rank> &&rank, Index nSamples, Span<std::int64_t const> rows)
{
    auto const n = rows.size();
    auto const nFeatures = nSamples == 0 ? 0 : rank.size() / nSamples;
    auto column = Array<Rank>::unwritten(n);
    for (Index j = 0; j < nFeatures; ++j)
    {
        for (Index i = 0; i < n; ++i)
            column[i] = rank[j * nSamples + rows[i]];
        // There are no more chosen ones than all, so nothing is written over that is still to be read.
        std::copy(column.begin(), column.end(), rank.view().part(j * n, n).begin());
    }
    return n == nSamples ? std::move(rank) : Array<Rank>::copy(rank.view().part(0, nFeatures * n));
}

// All but the ranks.
struct Description
{
    In<std::int64_t, 1> rows;
    In<std::int64_t, 1> label;
    In<std::int64_t, 1> count;
    In<std::int64_t, 1> weight;
    Index nClasses;
    Weight penalty;
    Weight forbidden;
    Weight step;
    Index minLeaf;
};

Problem described(Description const &given, Index nFeatures, Index nRows, Span<std::int64_t const> nRanks)
{
    Problem problem;
    problem.nFeatures = nFeatures;
    problem.nSamples = static_cast<Index>(given.rows.shape(0));
    problem.nClasses = given.nClasses;
    auto const n = problem.nSamples;
    require(n > 0 && problem.nFeatures > 0, "there must be a sample and a feature");
    require(n < (Index{1} << 31), "there are more samples than an event can name");
    require(given.nClasses >= 2 && given.nClasses < (Index{1} << 31), "there must be at least two classes");
    requireRange(spanOf(given.rows), 0, nRows - 1, "rows");
    requireRange(spanOf(given.label), 0, given.nClasses - 1, "label");
    require(nRanks.size() == nFeatures, "n_ranks must have " + std::to_string(nFeatures) + " entries");
    requireRange(nRanks, 0, (Index{1} << 30) - 2, "n_ranks");
    problem.nRanks = Array<Index>::copy(nRanks);
    problem.label = copied<Label>(given.label, n, "label");
    requireRange(spanOf(given.count), 0, std::numeric_limits<Index>::max(), "count");
    problem.count = copied<Index>(given.count, n, "count", given.minLeaf > 0);
    problem.weight = copied<Weight>(given.weight, n, "weight");
    problem.penalty = given.penalty;
    problem.forbidden = given.forbidden;
    problem.step = given.step;
    problem.minLeaf = given.minLeaf;
    return problem;
}

void complete(Problem &problem, bool keepsEvents)
{
    checkRanks(problem);
    checkWeights(problem);
    problem.orderEvents(keepsEvents);
}

Problem makeProblem(In<Rank, 2> const &lower, In<Rank, 2> const &upper, In<std::int64_t, 1> const &nRanks,
                    Description const &given)
{
    require(lower.shape(0) == upper.shape(0) && lower.shape(1) == upper.shape(1),
            "lower and upper ranks must have the same shape");
    auto problem =
        described(given, static_cast<Index>(lower.shape(1)), static_cast<Index>(lower.shape(0)), spanOf(nRanks));
    auto const &rows = given.rows;
    nb::gil_scoped_release release;
    problem.lowerRank = transposed(gridOf(lower), spanOf(rows));
    problem.upperRank = transposed(gridOf(upper), spanOf(rows));
    complete(problem, true);
    return problem;
}

// Takes the ranks over: nothing is left of them.
Problem takeProblem(RankedColumns &ranks, Description const &given, bool keepsEvents)
{
    require(ranks.nSamples > 0, "the ranks have been taken already");
    auto problem = described(given, ranks.nFeatures(), ranks.nSamples, ranks.ends.nRanks.view());
    require(static_cast<Index>(given.rows.shape(0)) <= ranks.nSamples, "rows must differ");
    nb::gil_scoped_release release;
    auto const nSamples = std::exchange(ranks.nSamples, 0);
    problem.lowerRank = chosenOf(std::move(ranks.ends.lowerRank), nSamples, spanOf(given.rows));
    problem.upperRank = chosenOf(std::move(ranks.ends.upperRank), nSamples, spanOf(given.rows));
    complete(problem, keepsEvents);
    return problem;
}

std::optional<RankedColumns> rankColumns(In<double, 2> low, In<double, 2> high, In<double, 2> down, In<double, 2> up,
                                         In<Index, 1> group, In<double, 2> rounding, In<double, 2> value,
                                         Control *given)
{
    auto const arrays = boxesAround(low, high, down, up, group, rounding, value);
    auto ranked = rankUnlocked(arrays.boxes, true, given);
    if (!ranked)
        return {};
    return RankedColumns{std::move(*ranked), arrays.boxes.samples()};
}

nb::object merged(RankTable const &lower, RankTable const &upper, In<std::int64_t, 1> const &label, Control *control)
{
    require(lower.rows == upper.rows && lower.columns == upper.columns && spanOf(label).size() == lower.rows,
            "lower, upper and label must have the same rows, lower and upper the same columns");
    std::optional<MergedRows> merged;
    {
        nb::gil_scoped_release release;
        Interruptible own;
        merged = mergeRows(lower, upper, spanOf(label), control != nullptr ? *control : own);
    }
    raisePending();
    if (!merged)
        return nb::none();
    return nb::make_tuple(handOver(std::move(merged->group)), handOver(std::move(merged->first)));
}

Problem partOfProblem(Problem const &problem, In<std::int64_t, 1> const &samples, In<std::int64_t, 1> const &weight)
{
    requireRange(spanOf(samples), 0, problem.nSamples - 1, "samples");
    require(weight.shape(0) == samples.shape(0), "each sample needs a weight");
    requireRange(spanOf(weight), 0, problem.forbidden, "weight");
    nb::gil_scoped_release release;
    return problem.part(spanOf(samples), spanOf(weight));
}

void requireFeature(Problem const &problem, Index feature)
{
    require(feature >= 0 && feature < problem.nFeatures, "there is no such feature");
}

nb::tuple endsUpTo(Problem const &problem, Index feature, Index rank)
{
    requireFeature(problem, feature);
    auto const marked = [rank](Span<Rank const> ends)
    {
        auto isMarked = Array<bool>::unwritten(ends.size());
        std::transform(ends.begin(), ends.end(), isMarked.begin(), [rank](Rank end) { return end <= rank; });
        return handOver(std::move(isMarked));
    };
    return nb::make_tuple(marked(problem.lower(feature)), marked(problem.upper(feature)));
}

template <class Place>
auto lastRanks(Problem const &problem, Index feature, In<Place, 1> const &lower, In<Place, 1> const &upper,
               Index nPlaces)
{
    requireFeature(problem, feature);
    auto const n = problem.nSamples;
    require(nPlaces >= 0 && nPlaces < Index{std::numeric_limits<Place>::max()}, "there cannot be so many places");
    require(spanOf(lower).size() == n && spanOf(upper).size() == n, "each sample needs a place for each end");
    Array<Index> last(nPlaces + 1);
    auto const note = [&](Span<Place const> place, Span<Rank const> rank)
    {
        requireRange(place, 0, nPlaces, "place");
        for (Index i = 0; i < n; ++i)
            last[place[i]] = std::max<Index>(last[place[i]], rank[i]);
    };
    note(spanOf(lower), problem.lower(feature));
    note(spanOf(upper), problem.upper(feature));
    return handOver(Array<Index>::copy(last.view().part(0, nPlaces)));
}

// An option: its name in Python, where it stands and, of a number, what it is at least.
struct Number
{
    char const *name;
    Index Options::*place;
    Index least;
};

struct Switch
{
    char const *name;
    bool Options::*place;
};

constexpr std::array numbers{Number{"rounds", &Options::rounds, 0},
                             Number{"range_rounds", &Options::rangeRounds, 0},
                             Number{"deep_rounds", &Options::deepRounds, 1},
                             Number{"deep_range_rounds", &Options::deepRangeRounds, 0},
                             Number{"ascent_steps", &Options::ascentSteps, 1},
                             Number{"blocks_from", &Options::blocksFrom, 0},
                             Number{"coarse_from", &Options::coarseFrom, 0},
                             Number{"coarse_from_many", &Options::coarseFromMany, 0}};

constexpr std::array switches{Switch{"first_tree", &Options::firstTree},
                              Switch{"use_memory", &Options::useMemory},
                              Switch{"use_ranges", &Options::useRanges},
                              Switch{"use_pool", &Options::usePool},
                              Switch{"use_lazy_scan", &Options::useLazyScan},
                              Switch{"use_carry", &Options::useCarry},
                              Switch{"use_witness", &Options::useWitness},
                              Switch{"use_early_join", &Options::useEarlyJoin},
                              Switch{"use_blocks", &Options::useBlocks},
                              Switch{"use_solved", &Options::useSolved},
                              Switch{"use_resplit", &Options::useResplit},
                              Switch{"use_late_branching", &Options::useLateBranching},
                              Switch{"use_coarse_scan", &Options::useCoarseScan},
                              Switch{"use_doubtful_first", &Options::useDoubtfulFirst},
                              Switch{"use_room", &Options::useRoom}};

template <class T>
T optionAs(std::string const &name, nb::handle value)
{
    T given{};
    if (!nb::try_cast<T>(value, given))
        throw nb::type_error(("the option " + name + " is of another kind").c_str());
    return given;
}

// Set one option; whether there is one of this name.
bool setOption(Options &options, std::string const &name, nb::handle value)
{
    for (auto const &number : numbers)
        if (name == number.name)
        {
            auto const given = optionAs<Index>(name, value);
            require(given >= number.least,
                    name + "=" + std::to_string(given) + "; it must be at least " + std::to_string(number.least));
            options.*number.place = given;
            return true;
        }
    for (auto const &flag : switches)
        if (name == flag.name)
        {
            options.*flag.place = optionAs<bool>(name, value);
            return true;
        }
    return false;
}

Options makeOptions(nb::kwargs const &given)
{
    Options options;
    for (auto const &[key, value] : given)
        if (auto const name = nb::cast<std::string>(key); !setOption(options, name, value))
            throw nb::type_error(("the search has no option " + name).c_str());
    return options;
}

void bindProblem(nb::module_ &m)
{
    char const *const aboutLastRanks = "The largest rank of the lower and upper ends in each place; at least 0.";
    nb::class_<Problem>(m, "SearchProblem", "Merged boxes in ranks, classes, whole-number weights.")
        .def(
            "__init__",
            [](Problem *self, In<Rank, 2> const &lower, In<Rank, 2> const &upper, In<std::int64_t, 1> const &rows,
               In<std::int64_t, 1> const &nRanks, In<std::int64_t, 1> const &label, In<std::int64_t, 1> const &count,
               In<std::int64_t, 1> const &weight, Index nClasses, Weight penalty, Weight forbidden, Weight step,
               Index minLeaf)
            {
                Description const rest{rows, label, count, weight, nClasses, penalty, forbidden, step, minLeaf};
                new (self) Problem(makeProblem(lower, upper, nRanks, rest));
            },
            nb::arg("lower").noconvert(), nb::arg("upper").noconvert(), nb::arg("rows").noconvert(),
            nb::arg("n_ranks").noconvert(), nb::arg("label").noconvert(), nb::arg("count").noconvert(),
            nb::arg("weight").noconvert(), nb::kw_only(), nb::arg("n_classes"), nb::arg("penalty"),
            nb::arg("forbidden"), nb::arg("step"), nb::arg("min_leaf"))
        .def_ro("shares_nothing", &Problem::sharesNothing, "Whether no sample reaches both sides of any split.")
        .def("part", &partOfProblem, nb::arg("samples").noconvert(), nb::arg("weight").noconvert(),
             "The problem of some of the samples, with other weights; costs of trees may be any numbers then.")
        .def_prop_ro(
            "n_ranks", [](Problem const &self) { return handOver(Array<Index>::copy(self.nRanks.view())); },
            nb::rv_policy::move, "Number of ends per feature.")
        .def(
            "upper_rank",
            [](Problem const &self, Index sample, Index feature)
            {
                require(sample >= 0 && sample < self.nSamples, "there is no such sample");
                require(feature >= 0 && feature < self.nFeatures, "there is no such feature");
                return self.upper(feature)[sample];
            },
            nb::arg("sample"), nb::arg("feature"), "Rank of the upper end of a sample.")
        .def(
            "keep_events",
            [](Problem &self)
            {
                nb::gil_scoped_release release;
                if (self.events.empty())
                    self.orderEvents();
            },
            "Sort the ends of all features, once, instead of whenever those of one are asked for; not while it is "
            "searched.")
        .def("ends_up_to", &endsUpTo, nb::arg("feature"), nb::arg("rank"),
             "Whether the lower, and the upper, end of each sample has at most this rank.")
        .def("last_ranks", &lastRanks<std::uint16_t>, nb::arg("feature"), nb::arg("lower").noconvert(),
             nb::arg("upper").noconvert(), nb::arg("n_places"), aboutLastRanks)
        .def("last_ranks", &lastRanks<std::int32_t>, nb::arg("feature"), nb::arg("lower").noconvert(),
             nb::arg("upper").noconvert(), nb::arg("n_places"), aboutLastRanks);
}

void bindColumns(nb::module_ &m)
{
    nb::class_<RankedColumns>(m, "RankedColumns", "The ranks of the ends of all boxes, feature by feature.")
        .def_prop_ro("shares_nothing",
                     [](RankedColumns const &self)
                     {
                         auto const &[lower, upper, nRanks] = self.ends;
                         return std::equal(lower.begin(), lower.end(), upper.begin(), upper.end());
                     })
        .def(
            "merge",
            [](RankedColumns const &self, In<std::int64_t, 1> const &label, Control *control)
            { return merged(self.tableOf(self.ends.lowerRank), self.tableOf(self.ends.upperRank), label, control); },
            nb::arg("label").noconvert(), nb::arg("control").none() = nb::none(), "As `merge_rows`.")
        .def(
            "take_problem",
            [](RankedColumns &self, In<std::int64_t, 1> const &rows, In<std::int64_t, 1> const &label,
               In<std::int64_t, 1> const &count, In<std::int64_t, 1> const &weight, Index nClasses, Weight penalty,
               Weight forbidden, Weight step, Index minLeaf, bool keepsEvents)
            {
                Description const rest{rows, label, count, weight, nClasses, penalty, forbidden, step, minLeaf};
                return takeProblem(self, rest, keepsEvents);
            },
            nb::arg("rows").noconvert(), nb::arg("label").noconvert(), nb::arg("count").noconvert(),
            nb::arg("weight").noconvert(), nb::kw_only(), nb::arg("n_classes"), nb::arg("penalty"),
            nb::arg("forbidden"), nb::arg("step"), nb::arg("min_leaf"), nb::arg("keeps_events"),
            "The problem of these rows, in the memory of the ranks, of which nothing is left. Without events of its "
            "own it sorts them whenever they are asked for.");
    m.def("rank_columns", rankColumns, array("low"), array("high"), array("down"), array("up"), array("group"),
          array("rounding"), array("values"), nb::arg("control").none() = nb::none(),
          "Rank the ends of all boxes, feature by feature; None if the control stopped it.");
    m.def(
        "merge_rows",
        [](In<Rank, 2> const &lower, In<Rank, 2> const &upper, In<std::int64_t, 1> const &label, Control *control)
        {
            auto const tableOf = [](Grid<Rank const> rank) {
                return RankTable{rank.all(), rank.rows(), rank.columns(), false};
            };
            return merged(tableOf(gridOf(lower)), tableOf(gridOf(upper)), label, control);
        },
        nb::arg("lower").noconvert(), nb::arg("upper").noconvert(), nb::arg("label").noconvert(),
        nb::arg("control").none() = nb::none(),
        "Group equal boxes of one class: the group of each row, and a row of each group, in lexicographic order; "
        "None if the control stopped it.");
}

void bindOptions(nb::module_ &m)
{
    nb::class_<Options>(m, "SearchOptions", "How hard each bound is tried, and which ideas are used at all.")
        .def("__init__", [](Options *self, nb::kwargs const &given) { new (self) Options(makeOptions(given)); });
}
}  // namespace

void bindSearchProblem(nb::module_ &m)
{
    bindProblem(m);
    bindColumns(m);
    bindOptions(m);
}
}  // namespace hardwood
