// The best stumps of both children where no sample reaches both: bounds from counts by blocks, exact where they matter.
//
// If every box is a point, the samples that a root split on feature f sends left are the first ones in the order of f,
// those that it sends right the last ones (between them lie those of a range of thresholds, which neither side
// charges). Orders are cut into blocks of neighbours, samples of equal value in one block. For a pair of features
// (f, j) a table keeps how much weight of each class lies in the first blocks of f and in each block of j. A child's
// counts by block of j are then one row of the table and the few samples of the block of f that the threshold cuts: a
// scan reads blocks instead of samples.
//
// With L_c the weight of class c in the blocks before a boundary and R_c that behind it, max L + max R is what a split
// there gets right. A split inside a block, with labels a and c, gets at most L_a of the block's end and R_c of its
// beginning right. So counts by block give a split that is really there and a bound on all. Samples are looked at only
// inside blocks whose bound exceeds the best boundary, and only for a feature that still decides the question.
//
// As in StumpPair, a bound is lowered by the weight that a child loses and the feature scanned again only if its bound
// is the least (lazy scans).
#pragma once

#include "search/block_tables.h"
#include "search/tournament.h"

namespace hardwood::search
{
template <class Number>
class BlockStumps
{
public:
    struct Choice
    {
        Verdict verdict =
            Verdict::undecided;  // found: both stumps are the best, or any that are cheap enough for a range
        Weight cost = 0;         // of both, or the bound
    };

private:
    // What a side charges for a sample (1: the left one, 2: the right one, 0: none).
    struct Charge
    {
        Number weight = 0;
        std::uint8_t side = 0;
    };

    // What one child knows of its best stumps.
    struct Child
    {
        Array<Number> total;  // by class
        Weight sum = 0;
        Array<Weight> bound;     // by feature; last entry: of a plain leaf
        Array<Weight> achieved;  // by feature, unless only a bound is known: the cost of a split that is there
        Array<Known> known;
        Tournament byBound;  // of the features, while one is chosen

        explicit Child(Problem const &problem);
    };

    Workspace &work_;
    Problem const &problem_;
    BlockTables<Number> tables_;
    Index size_ = 0;
    std::vector<Sample> ids_;  // samples by place
    Index root_ = -1;          // the feature of the root split
    Index leftEnd_ = 0;        // the entries before this in its order are left, those from `rightBegin_` on right
    Index rightBegin_ = 0;
    std::array<Child, 2> children_;
    std::vector<Charge> was_;  // by place: what was charged before the sides or the samples changed altogether
    Array<Number> sums_;       // scratch of a scan: weight before each block, by class
    Array<Number> mostLeft_;   // of these, the heaviest class before each block
    Array<Number> mostRight_;  // and that from it on
    Array<Number> running_;    // scratch: two rows by class

    [[nodiscard]] Child &child(Index side) { return children_[static_cast<std::size_t>(side)]; }
    [[nodiscard]] Child const &child(Index side) const { return children_[static_cast<std::size_t>(side)]; }
    [[nodiscard]] BlockOrder const &orderOf(Index feature) const { return tables_.orderOf(feature); }
    [[nodiscard]] bool isOn(Index side, Index place) const
    {
        return side == 0 ? tables_.position(place) < leftEnd_ : tables_.position(place) >= rightBegin_;
    }
    void noteSides();
    void lower(Index side, Weight taken);
    void addUp(Index side);
    void sumBlocks(Index side, Index feature);
    [[nodiscard]] Number mostInside(Index side, Index block) const;
    [[nodiscard]] Number bestBoundary(Index side, Index feature);
    [[nodiscard]] Number bestInside(Index side, Index feature, Index block, Number best);
    void scan(Index side, Index feature, bool isExact);
    void beginChoice();
    [[nodiscard]] Index cheapest(Index side) const;
    [[nodiscard]] Weight cheapestAchieved(Index side) const;

public:
    explicit BlockStumps(Workspace &work);

    // Take new samples, then the order of each feature, by place, and the weights.
    void open(Span<Sample const> ids);
    void order(Index feature, Span<Sample const> places, Span<Rank const> rank)
    {
        tables_.order(feature, places, rank);
    }
    void takeWeights(Span<Weight const> weight);

    // Split on another feature. What is known of the children is kept as far as they are the same.
    void begin(Index feature);
    // The first entries of the feature's order go left, those from `rightBegin` on right.
    void setSides(Index leftEnd, Index rightBegin);

    // Scan until the two best stumps are known or their bounds reach the cutoff; counts the scans. If `early`, end with
    // any two stumps that are cheaper together than the cutoff.
    [[nodiscard]] Choice choose(Weight cutoff, Index &nScans, bool early);
    // The best stump of a side; its cost must be known.
    [[nodiscard]] Stump stump(Index side);
};
}  // namespace hardwood::search
