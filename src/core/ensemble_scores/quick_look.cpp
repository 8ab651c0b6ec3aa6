#include "ensemble_scores/quick_look.h"

#include <cmath>
#include <limits>

#include "ensemble_scores/box_problem.h"
#include "reach.h"

namespace hardwood
{
QuickLook::QuickLook(ScoredTrees const &trees) : trees_(trees), sums_(trees.scores()), work_(trees.scores()) {}

bool QuickLook::isWrong(Span<double const> x, Index truth)
{
    trees_.sums(x, sums_.view());
    return trees_.classOf(sums_.view(), work_.view()) != truth;
}

template <class Margin>
double QuickLook::worstLeaf(Index tree, Span<double const> lower, Span<double const> upper, Margin &&marginOf)
{
    double least = std::numeric_limits<double>::infinity();
    stack_.assign(1, trees_.root(tree));
    while (!stack_.empty())
    {
        auto at = stack_.back();
        stack_.pop_back();
        while (trees_.node(at).feature >= 0)
        {
            auto const &split = trees_.node(at);
            bool const left = reachesLeft(lower[split.feature], split.threshold);
            if (left && reachesRight(upper[split.feature], split.threshold))
                stack_.push_back(split.right);
            at = left ? split.left : split.right;
        }
        least = std::min(least, marginOf(trees_.node(at).left));
    }
    return least;
}

bool QuickLook::beats(Span<double const> lower, Span<double const> upper, Index truth, Index rival)
{
    bool const isOneScore = trees_.rule().link == Link::cutoff, areTwoClasses = trees_.classes() == 2;
    double const sign = truth == 1 ? 1.0 : -1.0, threshold = marginThreshold(trees_, truth, rival);
    double const rounding = std::numeric_limits<double>::epsilon() * static_cast<double>(4 * trees_.trees() + 33);
    auto const marginOf = [&](std::int32_t row)
    { return isOneScore ? sign * trees_.value(row, 0) : trees_.value(row, truth) - trees_.value(row, rival); };
    double sum = isOneScore ? sign * trees_.base(0) : trees_.base(truth) - trees_.base(rival), size = std::abs(sum);
    for (Index t = 0; t < trees_.trees(); ++t)
    {
        if (areTwoClasses)
        {
            auto const &rest = trees_.restFrom(t);
            double const unsure = rounding * (size + rest.size);
            if (sum + (truth == 1 ? rest.least : -rest.most) - unsure > threshold)
                return true;
            if (sum + (truth == 1 ? rest.most : -rest.least) + unsure < threshold)
                return false;
        }
        double const least = worstLeaf(t, lower, upper, marginOf);
        sum += least;
        size += std::abs(least);
    }
    return sum - rounding * size > threshold;
}

bool QuickLook::isRobust(Span<double const> lower, Span<double const> upper, Index truth)
{
    for (Index rival = 0; rival < trees_.classes(); ++rival)
        if (rival != truth && !beats(lower, upper, truth, rival))
            return false;
    return true;
}
}  // namespace hardwood
