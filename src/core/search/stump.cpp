#include "search/stump.h"

namespace hardwood::search
{
namespace
{
// What goes certainly left of each threshold of a feature, and what reaches it, by class (row 0 .. classes - 1 of
// `left` and `right`), and how many samples do.
struct Sums
{
    Array<Weight> left;        // added at the threshold, by (threshold, class)
    Array<Weight> right;       // taken from the right side at the threshold
    Array<Index> certainLeft;  // both only where leaves have a least size
    Array<Index> reachingLeft;
};

Sums sumsOf(Problem const &problem, Index feature, Index nCuts)
{
    auto const k = problem.nClasses;
    auto const counts = problem.minLeaf > 0;
    Sums sums{Array<Weight>(nCuts * k), Array<Weight>(nCuts * k), Array<Index>(counts ? nCuts : 0),
              Array<Index>(counts ? nCuts : 0)};
    auto const lower = problem.lower(feature);
    auto const upper = problem.upper(feature);
    for (Index i = 0; i < problem.nSamples; ++i)
    {
        if (upper[i] < nCuts)
        {
            sums.left[upper[i] * k + problem.label[i]] += problem.weight[i];
            if (counts)
                sums.certainLeft[upper[i]] += problem.count[i];
        }
        if (lower[i] < nCuts)
        {
            Index const first = std::max(lower[i], 0);
            sums.right[first * k + problem.label[i]] += problem.weight[i];
            if (counts)
                sums.reachingLeft[first] += problem.count[i];
        }
    }
    return sums;
}

struct Labels
{
    Weight right = -1;
    Label left = 0;
    Label other = 0;
};

// The two labels that get most weight right, given the sums of both sides; of equals the first.
Labels bestLabels(Span<Weight const> left, Span<Weight const> right)
{
    Labels best;
    for (Index a = 0; a < left.size(); ++a)
        for (Index c = 0; c < right.size(); ++c)
            if (a != c && left[a] + right[c] > best.right)
                best = {left[a] + right[c], static_cast<Label>(a), static_cast<Label>(c)};
    return best;
}

// The best allowed split on the feature: what it gets right (-1: none is allowed) and the stump.
PricedStump bestOn(Problem const &problem, Index feature, Span<Weight const> total)
{
    auto const k = problem.nClasses;
    auto const nCuts = problem.nRanks[feature] - 1;
    if (nCuts < 1)
        return {-1, {}};
    auto const sums = sumsOf(problem, feature, nCuts);
    Array<Weight> left(k);
    auto right = Array<Weight>::copy(total);
    Index nSamples = 0;
    for (auto const count : problem.count)
        nSamples += count;
    Index certainLeft = 0;
    Index certainRight = nSamples;
    Labels best;
    Rank threshold = -1;
    for (Index t = 0; t < nCuts; ++t)
    {
        for (Index c = 0; c < k; ++c)
        {
            left[c] += sums.left[t * k + c];
            right[c] -= sums.right[t * k + c];
        }
        if (problem.minLeaf > 0)
        {
            certainLeft += sums.certainLeft[t];
            certainRight -= sums.reachingLeft[t];
            if (certainLeft < problem.minLeaf || certainRight < problem.minLeaf)
                continue;
        }
        auto const labels = bestLabels(left.view(), right.view());
        auto const comesFirst = labels.left < best.left || (labels.left == best.left && labels.other < best.other);
        if (labels.right > best.right || (labels.right == best.right && comesFirst))
        {
            best = labels;
            threshold = static_cast<Rank>(t);
        }
    }
    return {best.right, {feature, threshold, best.left, best.other}};
}
}  // namespace

PricedStump bestStump(Problem const &problem)
{
    Array<Weight> total(problem.nClasses);
    Weight sum = 0;
    for (Index i = 0; i < problem.nSamples; ++i)
    {
        total[problem.label[i]] += problem.weight[i];
        sum += problem.weight[i];
    }
    auto const heaviest = std::max_element(total.begin(), total.end());
    PricedStump best{sum - *heaviest + problem.penalty, {.left = static_cast<Label>(heaviest - total.begin())}};
    for (Index j = 0; j < problem.nFeatures; ++j)
    {
        auto const [right, stump] = bestOn(problem, j, total.view());
        auto const cost = sum - right + 2 * problem.penalty;
        if (right >= 0 && cost < best.cost)
            best = {cost, stump};
    }
    return best;
}
}  // namespace hardwood::search
