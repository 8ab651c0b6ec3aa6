// Plain leaves and single splits, in one sweep over the thresholds of each feature.
//
// Within its residual a sample reaches left from some threshold on and right up to some threshold. With the left leaf
// of class a and the right one of class c != a, a sample of class a is right iff it cannot reach right, one of class c
// iff it cannot reach left, and all others are lost.
#include "priced/stump.h"

#include <algorithm>

namespace hardwood
{
namespace
{
// Where a sample stops and begins to reach the sides of the thresholds first..last-1 of a feature.
struct Turns
{
    Index left;   // it reaches left from here on
    Index right;  // it reaches right before this
};

// What the turns of all samples on a feature have in common.
struct Sweep
{
    Index feature;
    Index first;
    Index last;
    Region left;  // of a column of a group, whose only threshold this is
    Region right;

    Sweep(Prices const &prices, Region const &region, Index j)
        : feature(j), first(region.first(j)), last(region.last(j))
    {
        if (first < last && prices.group[j] >= 0)
        {
            left = divided(prices, region, {j, first, true});
            right = divided(prices, region, {j, first, false});
        }
    }
};

Turns turnsOf(Prices const &prices, Stand const &stand, Sweep const &sweep, std::size_t k)
{
    auto const sample = stand.sample[k];
    auto const feature = sweep.feature, first = sweep.first, last = sweep.last;
    auto const spare = prices.affordable - stand.spent[k] + blockPrice(prices, stand.region, feature, sample);
    if (prices.group[feature] >= 0)
        return {blockPrice(prices, sweep.left, feature, sample) <= spare ? first : last,
                blockPrice(prices, sweep.right, feature, sample) <= spare ? last : first};
    auto const left = prices.leftOf(feature, sample), right = prices.rightOf(feature, sample);
    auto const reachesLeft =
        std::partition_point(left.begin() + first, left.begin() + last, [&](Units price) { return price > spare; });
    auto const leavesRight =
        std::partition_point(right.begin() + first, right.begin() + last, [&](Units price) { return price <= spare; });
    return {reachesLeft - left.begin(), leavesRight - right.begin()};
}

// The two classes of most weight.
struct TopTwo
{
    Index first = -1, second = -1;

    explicit TopTwo(std::vector<Cost> const &weight)
    {
        for (Index c = 0; c != static_cast<Index>(weight.size()); ++c)
        {
            auto const heavier = [&](Index other)
            { return other < 0 || weight[static_cast<std::size_t>(c)] > weight[static_cast<std::size_t>(other)]; };
            if (heavier(first))
            {
                second = first;
                first = c;
            }
            else if (heavier(second))
                second = c;
        }
    }
};
}  // namespace

Answer bestLeaf(PricedProblem const &problem, Stand const &stand, std::vector<Cost> const &weight)
{
    std::vector<Cost> byClass(static_cast<std::size_t>(problem.classes), 0);
    Cost total = 0;
    for (std::size_t k = 0; k != stand.sample.size(); ++k)
    {
        byClass[static_cast<std::size_t>(problem.label[stand.sample[k]])] += weight[k];
        total += weight[k];
    }
    auto const heaviest = std::max_element(byClass.begin(), byClass.end());
    PlanNode leaf;
    leaf.label = heaviest - byClass.begin();
    return {total - *heaviest + problem.leafPenalty, Plan{leaf}};
}

void improveByStump(PricedProblem const &problem, Stand const &stand, std::vector<Cost> const &weight, Answer &best)
{
    auto const &prices = problem.prices;
    auto const classes = static_cast<std::size_t>(problem.classes);
    Cost total = 0;
    for (Cost const w : weight)
        total += w;
    for (Index feature = 0; feature != prices.features(); ++feature)
    {
        Sweep const sweep(prices, stand.region, feature);
        auto const first = sweep.first, last = sweep.last;
        if (first >= last)
            continue;
        auto const width = static_cast<std::size_t>(last - first);
        // By threshold and class: the weight that no longer reaches right from it on, and that reaches left from it on.
        std::vector<Cost> offRight((width + 1) * classes, 0), onLeft((width + 1) * classes, 0);
        std::vector<Cost> rightOfLeftLeaf(classes, 0), rightOfRightLeaf(classes, 0);
        for (std::size_t k = 0; k != stand.sample.size(); ++k)
        {
            auto const turns = turnsOf(prices, stand, sweep, k);
            auto const label = static_cast<std::size_t>(problem.label[stand.sample[k]]);
            offRight[static_cast<std::size_t>(turns.right - first) * classes + label] += weight[k];
            onLeft[static_cast<std::size_t>(turns.left - first) * classes + label] += weight[k];
            rightOfRightLeaf[label] += weight[k];
        }
        for (std::size_t t = 0; t != width; ++t)
        {
            for (std::size_t c = 0; c != classes; ++c)
            {
                rightOfLeftLeaf[c] += offRight[t * classes + c];
                rightOfRightLeaf[c] -= onLeft[t * classes + c];
            }
            TopTwo const left(rightOfLeftLeaf), right(rightOfRightLeaf);
            for (auto const a : {left.first, left.second})
                for (auto const c : {right.first, right.second})
                {
                    if (a < 0 || c < 0 || a == c)
                        continue;
                    auto const cost = total - rightOfLeftLeaf[static_cast<std::size_t>(a)] -
                                      rightOfRightLeaf[static_cast<std::size_t>(c)] + 2 * problem.leafPenalty;
                    if (cost < best.bound)
                    {
                        PlanNode split{feature, first + static_cast<Index>(t), 1, 2, 0}, one, other;
                        one.label = a;
                        other.label = c;
                        best = {cost, Plan{split, one, other}};
                    }
                }
        }
    }
}
}  // namespace hardwood
