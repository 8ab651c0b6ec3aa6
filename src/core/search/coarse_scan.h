// Scans without an order: the best stump of both children on one feature, from counts by blocks of ranks.
//
// A scan along the ends of a feature (scan.h) needs their order, twice the memory of the ranks, and reads weights in
// that order, which for a million samples means waiting for memory at each of them. Counting needs no order: the ranks
// of a feature are cut into blocks of equal width, and one pass over the samples, in the order in which they lie,
// adds each weight to the block of its lower end and to that of its upper end.
//
// With L_a the weight of class a whose upper end lies before a boundary between blocks and R_c that of class c whose
// lower end lies behind it, max L + max R is what a split there gets right. A split inside a block, with labels a and
// c, gets at most L_a of the block's end and R_c of its beginning right. So the counts give a split that is really
// there and a bound on all; often that decides the question. Where it does not, the samples with an end in a block
// whose bound exceeds the best boundary are collected in another pass and looked at in order, which is exact.
#pragma once

#include "search/placed_ranks.h"
#include "search/sides.h"
#include "search/tree.h"

namespace hardwood::search
{
// The samples of a node by place: ends on one feature, class, and what both children charge for them (negative for
// class 1 where there are two classes).
template <class Number>
struct WeighedEnds
{
    PlacedEnds rank;
    Span<Label const> label;
    Span<Sides<Number> const> weight;
};

template <class Number>
class CoarseScan
{
public:
    // What the best split gets right, for each child: one that is there, and a bound.
    struct Estimate
    {
        Sides<Number> achieved;
        Sides<Number> most;
    };

    // A split with its labels, and what it gets right.
    struct Place
    {
        Weight right = 0;
        Stump stump;  // a plain leaf: no split gets more right
    };

private:
    static constexpr Index mostBlocks = 4096;

    Problem const &problem_;
    Index shift_ = 0;  // a block is 2^shift ranks wide
    Index nBlocks_ = 0;
    // By block and class, one row more than there are blocks:
    Array<Sides<Number>> left_;      // weight whose upper end lies before the block
    Array<Sides<Number>> right_;     // weight whose lower end lies in the block or behind it
    Array<Sides<Number>> mostLeft_;  // by block: of the heaviest class
    Array<Sides<Number>> mostRight_;
    std::vector<std::uint8_t> isWanted_;  // blocks that are looked into
    std::vector<std::uint64_t> ends_;     // ends in these, as numbers that sort in their order
    std::vector<Weight> sums_;            // scratch of `lookInside`: two rows by class

    [[nodiscard]] Index blockOf(Rank rank) const { return (Index{rank} + 1) >> shift_; }
    void count(WeighedEnds<Number> const &samples);
    void addUp();
    [[nodiscard]] Weight mostInside(Index side, Index block) const;
    void collect(WeighedEnds<Number> const &samples, Index side, Weight above);

public:
    explicit CoarseScan(Problem const &problem) : problem_(problem) {}

    // Count the samples by blocks of the feature.
    [[nodiscard]] Estimate estimate(Index feature, WeighedEnds<Number> const &samples);
    // The best split of a side that gets more than `above` right, the first one in order, after `estimate` with the
    // same weights.
    [[nodiscard]] Place best(Index feature, WeighedEnds<Number> const &samples, Index side, Weight above);
};
}  // namespace hardwood::search
