// The best stumps of both children of a split, under weights that change.
//
// Lazy scans. When weight is taken from samples, the best stump on any feature gets cheaper by at most that weight. So
// each child keeps a lower bound per feature, lowered as weights move, and a feature is scanned only if its bound is
// the least. A scan serves both children (see scan.h). On large tables samples are counted by blocks of ranks instead
// (see CoarseScan): then a feature is first known by a bound and by a split that is there, and exactly, for one child,
// only if that is not enough.
#pragma once

#include "search/coarse_scan.h"
#include "search/node.h"
#include "search/scan.h"
#include "search/tournament.h"

namespace hardwood::search
{
// Which scan the children need and in which numbers; what differs is decided when the search is compiled.
template <class Kind>
struct TwoClasses
{
    using Number = Kind;
    static constexpr bool isTwo = true;  // one order of samples per labelling, signed weights
};
template <class Kind>
struct ManyClasses
{
    using Number = Kind;
    static constexpr bool isTwo = false;
};

template <class Classes>
class StumpPair
{
public:
    using Number = typename Classes::Number;

    struct Choice
    {
        Verdict verdict = Verdict::undecided;
        Weight bound = 0;
        std::array<Index, 2> feature{};  // of the two best stumps; nFeatures: a plain leaf
        bool isBest = true;              // false: the best of the features that were scanned so far
    };

private:
    // What one child knows of its best stumps.
    struct Child
    {
        Index nCertain = 0;      // certain samples, for a least size of leaves
        Array<Weight> total;     // by class
        Array<Weight> bound;     // by feature; last entry: of a plain leaf
        Array<Weight> achieved;  // by feature, unless only a bound is known: the cost of a split that is there
        Array<Known> known;
        Array<Weight> right;  // by feature: what that split gets right, < 0: none is allowed
        std::vector<Stump>
            stump;  // by feature, of coarse scans: that split, or a plain leaf as long as it is not known
        Array<std::uint8_t> zeroIsLeft;  // by feature, two classes: whether that is under the labelling (0, 1)
        Tournament byBound;              // of the features, while one is chosen

        explicit Child(Problem const &problem);
    };

    Workspace &work_;
    Problem const &problem_;
    PlacedRanks &ranks_;
    CoarseScan<Number> coarse_;
    Index counted_ = -1;  // the feature that `coarse_` has counted, under the present weights
    Index size_ = 0;
    std::array<Child, 2> children_;
    Array<Sides<Number>> weight_;  // by place; with two classes negative for class 1
    Array<Sides<Number>> previous_;
    Array<Sides<Number>> before_;     // scratch: what shared samples weighed
    Array<Sides<Number>> certain_;    // by place: certain samples, for a least size of leaves
    Array<Sides<Number>> rightMost_;  // scratch of the scans
    Array<Sides<Number>> classes_;    // by class: scratch of the scans
    std::vector<Sample> ids_;         // samples by place
    Span<Label const> label_;         // by place
    Array<Number> own_;               // by place: all weight of a sample, signed as above
    Array<Sample> orders_;            // by feature: [rising | falling], or [byUpper | lowersBefore | byLower]
    static constexpr Index rows = Classes::isTwo ? 2 : 3;
    std::array<Index, 2> taken_{0, 0};  // weight taken from each child by `change` since the bounds were lowered

    [[nodiscard]] static Number signedFor(Label label, Weight weight)
    {
        auto const isNegative = Classes::isTwo && label == 1;
        return static_cast<Number>(isNegative ? -weight : weight);
    }
    [[nodiscard]] Span<Sample const> row(Index feature, Index k) const
    {
        return orders_.view().part((feature * rows + k) * size_, size_);
    }
    [[nodiscard]] EndOrders endsOf(Index feature) const { return {row(feature, 0), row(feature, 1), row(feature, 2)}; }
    [[nodiscard]] Child &child(Index side) { return children_[static_cast<std::size_t>(side)]; }
    [[nodiscard]] Child const &child(Index side) const { return children_[static_cast<std::size_t>(side)]; }
    void sumUp();
    void lower(Index side, Weight taken);
    [[nodiscard]] Weight costOf(Index side, Weight right) const;
    void scan(Index feature);
    [[nodiscard]] WeighedEnds<Number> endsAt(Index feature);
    void estimate(Index feature);
    void findBest(Index side, Index feature);
    [[nodiscard]] Sides<Number> scanBoth(Index feature);
    void beginChoice();
    void noteScan(Index feature);
    [[nodiscard]] Index cheapest(Index side) const;
    [[nodiscard]] Index cheapestScanned(Index side) const;

public:
    StumpPair(Workspace &work, PlacedRanks &ranks);

    // Take new samples; the weights of those that stay are kept, for the bounds to follow. The labels must stay where
    // they are.
    void open(Span<Sample const> ids, Span<Label const> label);
    // Take the ends of a feature in order, by place.
    void order(Index feature, Span<Event const> ends);
    // Take the weights of the samples, by place.
    void takeWeights(Span<Weight const> own);

    // Let all samples weigh what they do where they reach (1: left, 2: right, 3: both), but the shared ones their
    // parts.
    void weigh(Span<std::uint8_t const> reach, Span<Sample const> shared, Span<Sides<Number> const> part);
    // For a least size of leaves: certain samples by place. Which splits are allowed changes with them, so nothing is
    // known of the new ones.
    void setCertain(Index place, Index left, Index right)
    {
        certain_[place] = Sides<Number>(static_cast<Number>(left), static_cast<Number>(right));
    }
    void countCertain();
    void forgetBounds();

    // Divide one sample's weight anew; `follow` when all are done.
    void change(Index place, Weight left, Weight right);
    void follow();

    [[nodiscard]] Sides<Number> part(Index place, Weight left, Weight right) const
    {
        return {signedFor(label_[place], left), signedFor(label_[place], right)};
    }
    // What a child charges for a sample.
    [[nodiscard]] Weight charged(Index side, Index place) const
    {
        auto const weight = weight_[place].of(side);
        return weight < 0 ? -weight : weight;
    }

    // Scan features until the two best stumps are known or their bounds reach the cutoff; counts the scans. If `early`,
    // end with any two stumps that are cheaper together than the cutoff.
    [[nodiscard]] Choice choose(Weight cutoff, Index &nScans, bool early);
    [[nodiscard]] Stump stump(Index side, Index feature);
};
}  // namespace hardwood::search
