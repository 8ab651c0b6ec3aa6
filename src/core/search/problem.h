// What the exact search is about: merged boxes in ranks, classes, whole-number weights; and what it may be told.
//
// Ranks. The ends of all boxes on a feature are numbered in order; a split (feature, t) sends a box left iff
// `lower <= t` and right iff `upper > t` (it can do both). No floating-point number is compared in the search.
//
// Weights. A unit of weight is divided into parts, and all costs are counted in parts, so that a sample's weight can be
// shared between two children exactly. `forbidden` is one more than the cost of any tree; a sample that must not be
// lost weighs that much. The largest sum anywhere is that of two children in which all n samples are marked so:
//
//     2 (n + 1) forbidden <= 2 (n + 1) (2^62 / (n + 2) + 1) < 2^63,
//
// which `Problem` demands, so no sum of the search overflows.
#pragma once

#include <cstdint>

#include "span.h"

namespace hardwood::search
{
using Weight = std::int64_t;  // weights and costs, in parts of a unit
using Rank = std::int32_t;    // place of an end among the ends of its feature, or a threshold between ends
using Label = std::int32_t;
using Sample = std::uint32_t;  // number of a merged sample

inline constexpr Weight everything = Weight{1} << 62;  // more than all weight there is

// Nodes call their children, so the depth is bounded by the stack of a thread.
inline constexpr Index deepest = 256;

// One end of a box: which sample's, and whether the upper one. Ends are kept in the order of (rank, upper).
class Event
{
    std::uint32_t code_ = 0;

public:
    Event() = default;
    Event(Index sample, bool isUpper) : code_((static_cast<std::uint32_t>(sample) << 1) | (isUpper ? 1U : 0U)) {}
    [[nodiscard]] Index sample() const { return code_ >> 1; }
    [[nodiscard]] bool isUpper() const { return (code_ & 1U) != 0; }
};

struct Problem
{
    Index nSamples = 0;
    Index nFeatures = 0;
    Index nClasses = 0;
    Array<Rank> lowerRank;  // feature by feature
    Array<Rank> upperRank;
    Array<Index> nRanks;         // number of ends per feature
    Array<Label> label;          // class of each sample
    Array<Index> count;          // what each counts towards `minLeaf`; empty where there is no such limit
    Array<Weight> weight;        // their weight, in parts
    Array<Event> events;         // ends in order, feature by feature; empty where each is sorted when it is asked for
    Weight penalty = 0;          // cost of a leaf
    Weight forbidden = 0;        // more than any tree costs
    Weight step = 1;             // costs of trees are multiples of this
    Index minLeaf = 0;           // what must reach a leaf and no other: a number of samples, or weight
    bool sharesNothing = false;  // every box is a point: no sample reaches both sides of any split

    [[nodiscard]] Span<Rank const> lower(Index feature) const
    {
        return lowerRank.view().part(feature * nSamples, nSamples);
    }
    [[nodiscard]] Span<Rank const> upper(Index feature) const
    {
        return upperRank.view().part(feature * nSamples, nSamples);
    }
    // Whether the table is so large that what can be computed again is not kept for every feature.
    [[nodiscard]] bool isLarge() const { return nSamples * nFeatures >= 1'500'000; }

    // The ends of a feature in order; `scratch` is for those that are not kept.
    [[nodiscard]] Span<Event const> eventsOf(Index feature, Array<Event> &scratch) const;

    // The problem of some of the samples, which have weights of their own: a question to a node below the root.
    [[nodiscard]] Problem part(Span<Index const> samples, Span<Weight const> weights) const;

    // See whether any sample can be shared, and sort the ends unless they are sorted when they are asked for; the last
    // thing to be done before a search.
    void orderEvents(bool keepsEvents = true);

private:
    void sortEvents(Index feature, Span<Event> row) const;
};

// How hard each bound is tried, and which ideas are used at all (docs/exact_search.md, "What makes it fast").
struct Options
{
    Index rounds = 24;           // steps that move weight at one threshold, depth 2
    Index rangeRounds = 4;       // the same for a range of thresholds
    Index deepRounds = 60;       // questions to the children of one threshold before a sample is branched on
    Index deepRangeRounds = 20;  // the same for a range
    Index ascentSteps = 100;     // steps that move weight between pooled trees
    Index blocksFrom = 500;      // samples of a problem from which on blocks of them are counted
    Index coarseFrom = 100'000;  // the same for blocks of ranks, where samples may reach both sides, of two classes
    Index coarseFromMany = 500;  // and of more
    bool firstTree = true;       // a child answers with the first tree below its target, not with the best one
    bool useMemory = true;
    bool useRanges = true;
    bool usePool = true;
    bool useLazyScan = true;
    bool useCarry = true;
    bool useWitness = true;
    bool useEarlyJoin = true;
    bool useBlocks = true;
    bool useSolved = true;
    bool useResplit = true;
    bool useLateBranching = true;
    bool useCoarseScan = true;
    bool useDoubtfulFirst = true;
    bool useRoom = true;
};

// How much was done at the nodes of one depth.
struct Counters
{
    Index nodes = 0;        // questions that were asked
    Index evaluations = 0;  // thresholds and ranges that were looked at
    Index rounds = 0;
    Index scans = 0;
    Index childSolves = 0;
    Index branches = 0;
    Index skipped = 0;  // thresholds that memory had settled

    Counters &operator+=(Counters const &other)
    {
        nodes += other.nodes;
        evaluations += other.evaluations;
        rounds += other.rounds;
        scans += other.scans;
        childSolves += other.childSolves;
        branches += other.branches;
        skipped += other.skipped;
        return *this;
    }
};

// How much is known of the best stump on a feature: a bound that followed from earlier weights, what counts by blocks
// say, or its cost.
enum class Known : std::uint8_t
{
    bound,
    blocks,
    exact
};

// What became of a threshold or a range of thresholds. A stopped search knows nothing.
enum class Verdict
{
    pruned,
    found,
    undecided,
    stopped
};
}  // namespace hardwood::search
