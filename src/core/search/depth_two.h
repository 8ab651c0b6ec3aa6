// Depth 2, the inner loop of the search: a split whose children are stumps.
//
// For a threshold the weight w of a sample that reaches both children is shared, w = a + b. The best stump of each
// child under these weights is found by scans, and
//
//     cost(split) >= stump(left; a) + stump(right; b),
//
// because a lost shared sample costs a + b, of which the children charge a, b or both. Joined, the two stumps are a
// real tree. Where they disagree on a shared sample, weight moves to the child that loses it: a subgradient step, as
// long as the cutoff is far (Polyak). What remains of a gap is closed by branching on samples.
//
// A range of thresholds t1..t2. Who reaches left at t1 does so at every later threshold, who reaches right at t2 at
// every earlier one. Charging only these bounds the cost of the whole range at the price of one threshold.
//
// Lazy scans. When weight is taken from samples, the best stump on any feature gets cheaper by at most that weight. So
// each child keeps a lower bound per feature, lowered as weights move, and scans a feature only if its bound is the
// least.
#pragma once

#include <type_traits>

#include "search/node.h"
#include "search/scan.h"

namespace hardwood::search
{
// Which scan the children need; everything that differs is decided when the search is compiled.
struct TwoClasses
{
    static constexpr bool hasTwoOrders = true;  // one order of samples per labelling, signed weights
    static constexpr bool hasMinLeaf = false;
};
struct ManyClasses
{
    static constexpr bool hasTwoOrders = false;
    static constexpr bool hasMinLeaf = false;
};
struct ManyClassesMinLeaf
{
    static constexpr bool hasTwoOrders = false;
    static constexpr bool hasMinLeaf = true;
};

// The node of depth 2 for the problem's classes and limits.
[[nodiscard]] std::unique_ptr<Node> makeDepthTwo(Workspace &work, Index level);

template <class Classes>
class DepthTwo final : public Node
{
    // What one child knows of its best stumps.
    struct Child
    {
        Array<Weight> weight;          // by place in the node; with two orders negative for class 1
        Array<Index> certain;          // by place: certain samples, for a least size of leaves
        Index nCertain = 0;            // their sum
        Array<Weight> total;           // by class
        Array<Weight> bound;           // by feature; last entry: of a plain leaf
        Array<std::uint8_t> isExact;   // whether that is the cost
        std::vector<BestSplit> split;  // by feature, where exact; with two orders the event is not known yet
    };

    struct Choice
    {
        Verdict verdict;
        Weight bound;
        std::array<Index, 2> feature;  // of the two best stumps; nFeatures: a plain leaf
    };

    struct Joined
    {
        Weight cost;      // of the real tree
        Index nDisputed;  // shared samples that exactly one side loses
        Index heaviest;   // of these, by place; -1: none
    };

    struct Outcome
    {
        Verdict verdict;
        Weight value;  // pruned: the bound, found: the cost
        Index sample;  // undecided: the disputed sample of largest weight, by place
    };

    std::array<Child, 2> children_;
    std::vector<Sample> previousIds_;  // samples for which `Child::weight` holds
    std::array<Array<Weight>, 2> previousWeight_;
    using Entry = std::conditional_t<Classes::hasTwoOrders, Sample, Event>;
    Array<Entry> orders_;  // by feature: [rising | falling] places, or the events of places
    // By place in the node:
    Array<Label> label_;
    Array<Weight> own_;
    Array<Mark> mark_;
    Array<std::uint8_t> reach_;                // 1: left, 2: right, 3: both
    Array<std::uint8_t> wrong_;                // the same bits: who loses it
    std::array<Array<std::uint8_t>, 2> lost_;  // who is lost by the stump of each side
    Array<Rank> ranks_;                        // by feature: lower ends of all places, then upper ends
    Array<std::uint8_t> hasRanks_;             // whether those of the feature have been copied
    Array<Sample> disputed_;                   // shared samples that exactly one side loses
    Index nDisputed_ = 0;
    std::vector<Index> branch_;  // places that are branched on
    std::array<Stump, 2> stump_;

    void fill(Span<Event const> source, Index sourceWidth) override;
    void carryWeights();
    void keepEvents(Index feature, Span<Event const> source);
    void takeWeights() override;
    [[nodiscard]] Span<Entry const> orderOf(Index feature) const
    {
        return orders_.view().part(feature * 2 * size_, 2 * size_);
    }

    [[nodiscard]] Span<Rank const> ranksOf(Index feature);
    void setSides(Index feature, Rank first, Rank last);
    void countCertain(Index feature, Rank first, Rank last);
    void lowerBounds(Index child, Weight taken);
    void forgetBounds();
    void scan(Index child, Index feature);
    [[nodiscard]] Index cheapest(Index child) const;
    [[nodiscard]] Choice choose(Weight cutoff);
    [[nodiscard]] Stump stumpOf(Index child, Index feature) const;
    void markLost(Stump const &stump, Span<std::uint8_t> lost);
    [[nodiscard]] Joined join(Choice const &choice);
    void moveWeight(Index feature, Weight step);
    [[nodiscard]] Outcome evaluate(Index feature, Weight cutoff, Weight givenUp, Index rounds, bool isRange);
    [[nodiscard]] Outcome settle(Index feature, Rank threshold, Weight cutoff, Index firstSample);
    void writeSettled(Index feature);
    void unmark();

public:
    DepthTwo(Workspace &work, Index level);
    [[nodiscard]] SweepEnd sweep(Index feature, Weight cutoff, Index start) override;
};
}  // namespace hardwood::search
