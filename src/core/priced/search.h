// Exact search for trees against attackers who pay: branch and bound over ranges of the root's thresholds.
//
// The reach of a sample depends on the node, since what it has spent above leaves less to spend below. What holds for
// boxes and serves here too:
//
// *Ranges.* On a feature, the left side of a smaller threshold is the smaller region, and so is the right side of a
// larger one; a smaller region is reached by fewer samples, at higher prices, and every subtree loses less of them. So
// for all thresholds t in t1..t2
//
//     cost(t) >= f(left of t1; a) + f(right of t2; w - a)      for every share 0 <= a <= w of the samples in both,
//
// because a sample that both sides lose costs w once. f is the same problem one level down.
//
// *Shares.* If a sample is lost on one side only, its weight belongs there: a subgradient step moves it. If no sample
// in both is lost on one side only, the bound of a single threshold is what the two subtrees joined really cost.
//
// *Branching.* Where a gap remains at a single threshold, a sample that is lost on one side only is either given up
// (its weight is paid, and it weighs nothing) or must not be lost (it weighs more than everything).
//
// What does not hold is memory between different splits: the residuals differ. None is kept.
//
// Ranges wait in a queue, the one with the least bound first; the bound of the search is the least of them.
#pragma once

#include <memory>
#include <queue>
#include <vector>

#include "control.h"
#include "priced/prices.h"

namespace hardwood
{
using Cost = std::int64_t;

// A node of a tree over threshold indices; a leaf has no children.
struct PlanNode
{
    Index feature = -1;
    Index threshold = -1;
    Index left = -1;
    Index right = -1;
    Index label = 0;
};

using Plan = std::vector<PlanNode>;  // the root first

// Samples that can be brought to a node, with what that has cost them.
struct Stand
{
    Region region;
    std::vector<Index> sample;
    std::vector<Units> spent;
};

// Everything but the depth: prices, classes, and the penalty of a leaf.
struct PricedProblem
{
    Prices prices;
    Span<Index const> label;
    Index classes = 0;
    Cost leafPenalty = 0;
    Cost heavy = 0;  // more than all samples weigh together
};

// The best tree of a subproblem, if it costs less than a cutoff; else only a bound that does not.
struct Answer
{
    Cost bound = 0;
    Plan plan;
};

// One subproblem of depth 2 or more, worked on range by range. Stops by throwing `Stopped`, after which it can go on.
class PricedFrame
{
public:
    struct Stopped
    {
    };

    // `step` is what all costs of trees are multiples of.
    PricedFrame(PricedProblem const &problem, Stand stand, std::vector<Cost> weight, int depth, Cost cutoff, Cost step,
                Control &control);

    // Work on the range with the least bound; whether there is still something to do.
    bool advance();

    // Every tree costs at least this, or at least the cutoff.
    [[nodiscard]] Cost bound() const;
    [[nodiscard]] Cost cost() const { return cost_; }
    [[nodiscard]] Plan const &plan() const { return plan_; }

    // A tree of this cost is known elsewhere.
    void lower(Cost upper) { upper_ = std::min(upper_, upper); }

private:
    struct Range
    {
        Cost bound;
        Index feature;
        Index first;
        Index last;
        std::shared_ptr<std::vector<Cost> const> share;  // of each sample, what the left side is charged with

        bool operator<(Range const &other) const
        {
            return bound != other.bound ? bound > other.bound : last - first > other.last - other.first;
        }
    };

    // Both sides of a range, with the place of their samples among those of the node.
    struct Sides
    {
        Stand left, right;
        std::vector<Index> leftPlace, rightPlace;
        std::vector<char> inBoth;
    };

    // What a branch has decided: weights, which samples must not be lost, what was paid for those given up.
    struct Decisions
    {
        std::vector<Cost> weight;
        std::vector<char> isForced;
        Cost paid = 0;
    };

    // The outcome of pricing both sides once.
    struct Priced
    {
        Cost bound = 0;
        bool isSettled = false;  // the bound is not below the limit
        std::vector<char> lostLeft, lostRight;
        Answer left, right;
    };

    [[nodiscard]] Cost limit() const { return upper_ - step_ + 1; }
    void work(Range range);
    void close(Range const &range, Sides const &sides, Decisions decisions, std::vector<Cost> share);
    Priced price(Sides const &sides, Decisions const &decisions, std::vector<Cost> const &share);
    void consider(Index feature, Index threshold, Plan const &left, Plan const &right);
    bool shift(Sides const &sides, Decisions const &decisions, Priced const &priced, int round,
               std::vector<Cost> &share) const;
    [[nodiscard]] Sides sidesOf(Range const &range) const;

    PricedProblem const &problem_;
    Stand stand_;
    std::vector<Cost> weight_;
    int depth_;
    Cost step_;
    Control &control_;
    Cost upper_;
    Cost cost_;
    Plan plan_;
    std::priority_queue<Range> waiting_;
};

// All samples, before anything was spent.
[[nodiscard]] Stand everybody(Prices const &prices);

// The best tree of at most this depth, or a bound that is not below the cutoff.
Answer solvePriced(PricedProblem const &problem, Stand const &stand, std::vector<Cost> const &weight, int depth,
                   Cost cutoff, Control &control);

// Whether each sample of a node can be brought to a wrong leaf of a plan.
[[nodiscard]] std::vector<char> lostBy(PricedProblem const &problem, Stand const &stand, Plan const &plan);
}  // namespace hardwood
