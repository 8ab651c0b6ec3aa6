// How much weight of each class lies where, by blocks of two orders: what scans by blocks read (see BlockStumps).
//
// The order of every feature is cut into blocks of neighbours; samples of equal value lie in one block. For the feature
// f of a root split and any other feature j, a table holds the weight of each class in the first blocks of f and in
// each block of j. Whatever the threshold on f, the samples before it are some blocks, which are one row of the table,
// and the first entries of the next block. Tables are made when they are first asked for.
#pragma once

#include "search/node.h"

namespace hardwood::search
{
// The order of one feature, cut into blocks.
struct BlockOrder
{
    std::vector<Sample> begin;            // of each block in the order, and its end
    std::vector<std::uint8_t> isDivided;  // whether a block holds different values
    bool hasBlocks = false;               // whether it is known of each place in which block it lies

    [[nodiscard]] Index nBlocks() const { return static_cast<Index>(begin.size()) - 1; }
    [[nodiscard]] Index firstOf(Index block) const { return begin[static_cast<std::size_t>(block)]; }
    // The block that holds the entry, or the number of blocks.
    [[nodiscard]] Index blockAt(Index entry) const
    {
        return std::upper_bound(begin.begin(), begin.end(), static_cast<Sample>(entry)) - begin.begin() - 1;
    }
};

template <class Number>
class BlockTables
{
    static constexpr Sample lastOfTies = Sample{1} << 31;  // a mark on entries of orders

    Workspace &work_;
    Problem const &problem_;
    Index size_ = 0;
    Array<Label> label_;         // by place
    Array<Number> weight_;       // by place
    Array<Sample> entries_;      // by feature: places in order, the last of equals marked
    Array<std::uint8_t> block_;  // by feature and place
    std::vector<BlockOrder> orders_;

    Index root_ = -1;                    // the feature of the root split
    Array<Sample> position_;             // by place, in the order of the root's feature
    Array<Weight> before_;               // weight of the entries before each one in that order
    Array<Number> classesBefore_;        // weight of the first blocks of the root, by class
    std::vector<Array<Number>> tables_;  // by feature: (blocks of the root + 1) x (blocks of the feature x classes)
    Array<std::uint8_t> hasTable_;

    [[nodiscard]] Span<std::uint8_t const> blocksOf(Index feature);
    [[nodiscard]] Span<Number const> tableOf(Index feature);

public:
    static constexpr Index mostBlocks = 255;

    explicit BlockTables(Workspace &work);

    // Take new samples, then the order of each feature, by place, and the weights.
    void open(Span<Sample const> ids);
    void order(Index feature, Span<Sample const> places, Span<Rank const> rank);
    void takeWeights(Span<Weight const> weight);
    // Let the root split on the feature.
    void begin(Index feature);

    [[nodiscard]] Label label(Index place) const { return label_[place]; }
    [[nodiscard]] Number weight(Index place) const { return weight_[place]; }
    [[nodiscard]] BlockOrder const &orderOf(Index feature) const { return orders_[static_cast<std::size_t>(feature)]; }
    [[nodiscard]] Span<Sample const> entries(Index feature) const
    {
        return entries_.view().part(feature * size_, size_);
    }
    [[nodiscard]] static Index placeOf(Sample entry) { return entry & ~lastOfTies; }
    [[nodiscard]] static bool isLastOfTies(Sample entry) { return (entry & lastOfTies) != 0; }
    // Where a sample stands in the root's order, and what those before an entry weigh.
    [[nodiscard]] Index position(Index place) const { return position_[place]; }
    [[nodiscard]] Weight weightBefore(Index entry) const { return before_[entry]; }

    // The weight of the entries of the root's order before the cut (or from it on), by class.
    void countClasses(Index cut, bool isBehind, Span<Number> counts) const;
    // The same by block of a feature and class.
    void countBlocks(Index feature, Index cut, bool isBehind, Span<Number> counts);
};
}  // namespace hardwood::search
