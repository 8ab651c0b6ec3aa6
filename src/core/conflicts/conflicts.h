// Who meets whom: finding the boxes that a box meets, 512 boxes at a time.
//
// Boxes are given by ranks of their ends among all ends of a feature. Two boxes meet iff on every feature
//
//     lower[i, j] <= upper[k, j]   and   lower[k, j] <= upper[i, j],
//
// so touching boxes meet; if their classes differ too, no model whatever can get both right. `meet` is this definition;
// `BoxIndex` finds the same pairs faster. Its columns (the boxes that are searched) stand in blocks of 512. For each
// block, feature and bucket of ranks one bitset tells which columns begin at or before the bucket, another which end at
// or after it. The columns that a row may meet are the AND of two bitsets per feature, and each of them is checked
// against the definition, because a bucket may hold several ranks. That is O(n^2 p / 512) vector operations at worst,
// with no structure in the data to rely on and no memory per pair.
#pragma once

#include <array>
#include <vector>

#include "control.h"
#include "reach.h"

namespace hardwood
{
using Rank = std::int32_t;

struct RankBoxes
{
    Grid<Rank const> lower;
    Grid<Rank const> upper;

    [[nodiscard]] Index size() const { return lower.rows(); }
    [[nodiscard]] Index features() const { return lower.columns(); }
};

// Whether box i and box k of the others share a point.
[[nodiscard]] inline bool meet(RankBoxes const &boxes, Index i, RankBoxes const &others, Index k)
{
    auto const lower = boxes.lower.row(i), upper = boxes.upper.row(i);
    auto const otherLower = others.lower.row(k), otherUpper = others.upper.row(k);
    for (Index j = 0; j != lower.size(); ++j)
        if (!intervalsMeet(lower[j], upper[j], otherLower[j], otherUpper[j]))
            return false;
    return true;
}

// Two boxes of different labels that meet, by a plain sweep; boxes come sorted by their lower ends on `feature`. It
// shares nothing with BoxIndex but the definition, so that one can check the other. (-1, -1) where there are none, or
// where the Control stopped it.
struct Pair
{
    Index first;
    Index second;
};
Pair sweepForConflict(RankBoxes const &boxes, Span<Index const> label, Index feature, Control &control);

// Order some boxes so that neighbours stand together: the leaves of a k-d tree over lower and upper ends, with medians
// of the widest of them, down to `leaf` boxes. The boxes are given, and come back, by number; equal ones stay in order.
// Stopped, they are less neighbourly.
void orderNeighbours(RankBoxes const &boxes, Span<Index> number, Index leaf, Control &control);

class BoxIndex
{
public:
    static constexpr Index nWords = 8;
    static constexpr Index wordBits = 64;
    static constexpr Index block = nWords * wordBits;  // columns that one bitset tells of
    static constexpr Index noLimit = std::numeric_limits<Index>::max();
    using Bits = std::array<std::uint64_t, nWords>;

    // What `find` found: the columns of each row asked for, one behind the other.
    struct Found
    {
        Array<Index> count;
        std::vector<std::int32_t> column;
        bool finished = true;
    };

    // The boxes must stay where they are while the index lives.
    BoxIndex(RankBoxes rows, RankBoxes columns);

    // Find the columns that rows meet, at most `limit` per row and per column. `restriction[i]` says which of the sets
    // `allowed` row i may meet. Different rows start at different columns, so that a limited search does not give all
    // rows the same few. With `listed` false they are only counted. Stopped, the rows not yet searched have count 0.
    Found find(Span<std::int32_t const> row, Span<std::int32_t const> restriction, Grid<bool const> allowed,
               Index limit, bool listed, Control &control) const;

private:
    // The state of one search: columns still allowed per restriction and block, and how often each may be found.
    struct Search
    {
        Array<Bits> allowed;
        Array<Index> columnLimit;  // empty without a limit
        Index nRestrictions;
        Index limit;
        bool listed;
    };

    RankBoxes rows_;
    RankBoxes columns_;
    Index nBlocks_;
    Index nBuckets_ = 0;
    Array<Index> feature_;    // those on which few boxes meet first: they empty the bitsets soonest
    Array<int> shift_;        // the bucket of a rank is (rank + 1) >> shift
    Array<Rank> blockLower_;  // bounding box of each block, (nBlocks_, features)
    Array<Rank> blockUpper_;
    Array<Bits> begun_;    // (nBlocks_, features, nBuckets_): columns whose lower bucket is at most this
    Array<Bits> unended_;  // columns whose upper bucket is at least this

    void orderFeatures();
    void boundBlocks();
    void chooseBuckets();
    void fillTables();
    [[nodiscard]] Index bucket(Rank rank, Index j) const { return (Index{rank} + 1) >> shift_[j]; }
    [[nodiscard]] Index place(Index b, Index j, Index bucket) const
    {
        return (b * columns_.features() + j) * nBuckets_ + bucket;
    }
    [[nodiscard]] bool isApart(Index i, Index b) const;
    [[nodiscard]] bool mayMeet(Index i, Index b, Bits &hit) const;
    Index searchRow(Index i, Index restriction, Search &search, std::vector<std::int32_t> &found) const;
    void foundColumn(Index k, Search &search) const;
};
}  // namespace hardwood
