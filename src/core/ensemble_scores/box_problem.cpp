#include "ensemble_scores/box_problem.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace hardwood
{
namespace
{
struct Restriction
{
    std::int32_t feature, low, high;
};

struct Leaf
{
    std::vector<Restriction> where;  // features on which it is narrower than the box, sorted
    double value;
};

// Collects the leaves of a tree that a box reaches, with the cells of the box that end in each.
class Reached
{
public:
    Reached(ScoredTrees const &trees, CellBox const &box) : trees_(trees), box_(box), now_(box) {}

    template <class Value>
    std::vector<Leaf> leaves(Index tree, Value &&valueOf)
    {
        found_.clear();
        walk(trees_.root(tree), valueOf);
        return std::move(found_);
    }

private:
    template <class Value>
    void walk(std::int32_t at, Value &&valueOf)
    {
        auto const &node = trees_.node(at);
        if (node.feature < 0)
        {
            add(valueOf(node.left));
            return;
        }
        auto const j = static_cast<std::size_t>(node.feature);
        std::int32_t const low = now_.low[j], high = now_.high[j];
        if (low < 0)
        {
            // A value that may be missing: apart from the numbers, so that what reaches a leaf stays an interval.
            within(j, -1, -1, node.missingLeft ? node.left : node.right, valueOf);
            within(j, 0, std::min(high, node.rank), node.left, valueOf);
            within(j, node.rank + 1, high, node.right, valueOf);
            return;
        }
        within(j, low, std::min(high, node.rank), node.left, valueOf);
        within(j, std::max(low, node.rank + 1), high, node.right, valueOf);
    }

    template <class Value>
    void within(std::size_t j, std::int32_t low, std::int32_t high, std::int32_t child, Value &&valueOf)
    {
        if (low > high)
            return;
        std::int32_t const oldLow = now_.low[j], oldHigh = now_.high[j];
        bool const isNew = oldLow == box_.low[j] && oldHigh == box_.high[j] && (low != oldLow || high != oldHigh);
        if (isNew)
            narrowed_.push_back(static_cast<std::int32_t>(j));
        now_.low[j] = low;
        now_.high[j] = high;
        walk(child, valueOf);
        now_.low[j] = oldLow;
        now_.high[j] = oldHigh;
        if (isNew)
            narrowed_.pop_back();
    }

    void add(double value)
    {
        Leaf leaf{{}, value};
        for (auto const j : narrowed_)
        {
            auto const i = static_cast<std::size_t>(j);
            leaf.where.push_back({j, now_.low[i], now_.high[i]});
        }
        std::sort(leaf.where.begin(), leaf.where.end(),
                  [](auto const &a, auto const &b) { return a.feature < b.feature; });
        found_.push_back(std::move(leaf));
    }

    ScoredTrees const &trees_;
    CellBox const &box_;
    CellBox now_;
    std::vector<std::int32_t> narrowed_;
    std::vector<Leaf> found_;
};

std::int32_t localCell(std::vector<std::int32_t> const &cuts, std::int32_t cell)
{
    return static_cast<std::int32_t>(std::lower_bound(cuts.begin(), cuts.end(), cell) - cuts.begin());
}

bool contains(std::vector<std::int32_t> const &all, std::vector<std::int32_t> const &some)
{
    return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

// The sum of two factors: one leaf for each pair of leaves that have cells in common. Empty if there are too many.
Factor sum(Factor const &a, Factor const &b, std::vector<BoxProblem::Feature> const &features, Index most)
{
    Factor both;
    std::set_union(a.feature.begin(), a.feature.end(), b.feature.begin(), b.feature.end(),
                   std::back_inserter(both.feature));
    auto const width = both.feature.size();
    auto place = [&](Factor const &f)
    {
        std::vector<std::size_t> at;
        for (auto const j : f.feature)
            at.push_back(static_cast<std::size_t>(std::lower_bound(both.feature.begin(), both.feature.end(), j) -
                                                  both.feature.begin()));
        return at;
    };
    auto const placeA = place(a), placeB = place(b);
    std::vector<std::int32_t> low(width), high(width);
    for (Index k = 0; k < a.leaves(); ++k)
        for (Index l = 0; l < b.leaves(); ++l)
        {
            for (std::size_t i = 0; i < width; ++i)
            {
                low[i] = 0;
                high[i] = features[static_cast<std::size_t>(both.feature[i])].cells() - 1;
            }
            for (std::size_t i = 0; i < placeA.size(); ++i)
            {
                low[placeA[i]] = a.low[static_cast<std::size_t>(k) * placeA.size() + i];
                high[placeA[i]] = a.high[static_cast<std::size_t>(k) * placeA.size() + i];
            }
            bool meets = true;
            for (std::size_t i = 0; i < placeB.size(); ++i)
            {
                auto &first = low[placeB[i]], &last = high[placeB[i]];
                first = std::max(first, b.low[static_cast<std::size_t>(l) * placeB.size() + i]);
                last = std::min(last, b.high[static_cast<std::size_t>(l) * placeB.size() + i]);
                meets &= first <= last;
            }
            if (!meets)
                continue;
            both.low.insert(both.low.end(), low.begin(), low.end());
            both.high.insert(both.high.end(), high.begin(), high.end());
            both.value.push_back(a.value[static_cast<std::size_t>(k)] + b.value[static_cast<std::size_t>(l)]);
            if (both.leaves() > most)
                return {};
        }
    return both;
}
}  // namespace

BoxProblem::BoxProblem(ScoredTrees const &trees, CellBox const &box, Index truth, Index rival,
                       std::function<bool()> const &shouldStop)
{
    bool const oneScore = trees.rule().link == Link::cutoff;
    double const sign = truth == 1 ? 1.0 : -1.0;
    auto valueOf = [&](std::int32_t row)
    { return oneScore ? sign * trees.value(row, 0) : trees.value(row, truth) - trees.value(row, rival); };
    constant_ = oneScore ? sign * trees.base(0) : trees.base(truth) - trees.base(rival);

    std::vector<std::vector<Leaf>> kept;
    std::map<std::int32_t, std::vector<std::int32_t>> cuts;  // feature -> last cells before a threshold that matters
    Reached reached(trees, box);
    for (Index t = 0; t < trees.trees(); ++t)
    {
        if (shouldStop())
            return;
        auto leaves = reached.leaves(t, valueOf);
        bool const flat = std::all_of(leaves.begin(), leaves.end(),
                                      [&](Leaf const &leaf) { return leaf.value == leaves.front().value; });
        if (flat)
        {
            constant_ += leaves.front().value;
            continue;
        }
        for (auto const &leaf : leaves)
            for (auto const &[j, low, high] : leaf.where)
            {
                if (low > box.low[static_cast<std::size_t>(j)])
                    cuts[j].push_back(low - 1);
                if (high < box.high[static_cast<std::size_t>(j)])
                    cuts[j].push_back(high);
            }
        kept.push_back(std::move(leaves));
    }

    std::map<std::int32_t, std::int32_t> local;
    for (auto &[j, at] : cuts)
    {
        std::sort(at.begin(), at.end());
        at.erase(std::unique(at.begin(), at.end()), at.end());
        local[j] = static_cast<std::int32_t>(features_.size());
        Feature feature{j, {box.low[static_cast<std::size_t>(j)]}, {}};
        for (auto const cut : at)
        {
            feature.lastCell.push_back(cut);
            feature.firstCell.push_back(cut + 1);
        }
        feature.lastCell.push_back(box.high[static_cast<std::size_t>(j)]);
        features_.push_back(std::move(feature));
    }
    for (auto const &leaves : kept)
    {
        if (shouldStop())
            return;
        Factor factor;
        for (auto const &leaf : leaves)
            for (auto const &where : leaf.where)
                factor.feature.push_back(local[where.feature]);
        std::sort(factor.feature.begin(), factor.feature.end());
        factor.feature.erase(std::unique(factor.feature.begin(), factor.feature.end()), factor.feature.end());
        for (auto const &leaf : leaves)
        {
            for (auto const j : factor.feature)
            {
                auto const &feature = features_[static_cast<std::size_t>(j)];
                auto const where = std::find_if(leaf.where.begin(), leaf.where.end(),
                                                [&](auto const &one) { return one.feature == feature.global; });
                bool const free = where == leaf.where.end();
                auto const &at = cuts[feature.global];
                factor.low.push_back(free ? 0 : localCell(at, where->low));
                factor.high.push_back(free ? feature.cells() - 1 : localCell(at, where->high));
            }
            factor.value.push_back(leaf.value);
        }
        factors_.push_back(std::move(factor));
    }
    setThreshold(trees, truth, rival);
    joinTrees(64, 1024, shouldStop);
    complete_ = true;
}

void BoxProblem::setThreshold(ScoredTrees const &trees, Index truth, Index rival)
{
    auto const &rule = trees.rule();
    double const unit = trees.unitOfSums();
    if (rule.link == Link::cutoff)
    {
        double const cutoff = rule.cutoff * rule.divisor;
        // With exact sums the second class begins at the first multiple of the unit that is not below the cutoff.
        double const first = std::ceil(cutoff / unit) * unit;
        if (unit > 0)
            threshold_ = truth == 1 ? first - unit : -first;
        else
            threshold_ = (truth == 1 ? cutoff : -cutoff) + trees.roundingOfSums();
        return;
    }
    if (unit > 0)
        threshold_ = truth < rival ? -unit : 0.0;
    else
        threshold_ = 2 * trees.roundingOfSums();
}

void BoxProblem::joinTrees(Index mostLeaves, Index mostPairs, std::function<bool()> const &shouldStop)
{
    std::sort(
        factors_.begin(), factors_.end(),
        [](Factor const &a, Factor const &b)
        { return a.feature.size() != b.feature.size() ? a.feature.size() > b.feature.size() : a.feature < b.feature; });
    for (std::size_t small = factors_.size(); small-- > 1 && !shouldStop();)
        for (std::size_t large = 0; large < small; ++large)
        {
            if (!contains(factors_[large].feature, factors_[small].feature))
                continue;
            bool const alone = factors_[small].features() == 1 && factors_[large].features() == 1;
            if (!alone && factors_[large].leaves() * factors_[small].leaves() > mostPairs)
                continue;
            auto joined = sum(factors_[large], factors_[small], features_,
                              alone ? std::numeric_limits<Index>::max() : mostLeaves);
            if (joined.value.empty())
                continue;
            factors_[large] = std::move(joined);
            factors_.erase(factors_.begin() + static_cast<std::ptrdiff_t>(small));
            break;
        }
}
}  // namespace hardwood
