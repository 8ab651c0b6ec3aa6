#include "ensemble_scores/box_problem.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hardwood
{
namespace
{
struct Restriction
{
    std::int32_t feature, low, high;
};

constexpr Index mostLeaves = 64;    // of a sum of trees
constexpr Index mostPairs = 1024;   // of leaves, looked at for such a sum
constexpr Index treesPerLook = 16;  // between two looks at the clock

// What a leaf adds to the margin of the true class over its rival.
class LeafMargin
{
public:
    LeafMargin(ScoredTrees const &trees, Index truth, Index rival)
        : trees_(trees),
          truth_(truth),
          rival_(rival),
          oneScore_(trees.rule().link == Link::cutoff),
          sign_(truth == 1 ? 1.0 : -1.0)
    {
    }

    double operator()(std::int32_t row) const
    {
        return oneScore_ ? sign_ * trees_.value(row, 0) : trees_.value(row, truth_) - trees_.value(row, rival_);
    }
    [[nodiscard]] double base() const
    {
        return oneScore_ ? sign_ * trees_.base(0) : trees_.base(truth_) - trees_.base(rival_);
    }

private:
    ScoredTrees const &trees_;
    Index truth_, rival_;
    bool oneScore_;
    double sign_;
};

// The leaves of a tree that a box reaches, one behind the other.
struct Leaves
{
    std::vector<Restriction> where;  // features on which a leaf is narrower than the box, sorted
    std::vector<std::size_t> begin;  // of each leaf in `where`, and the end
    std::vector<double> value;

    void clear()
    {
        where.clear();
        begin.assign(1, 0);
        value.clear();
    }
    // How many intervals they are as a factor, at most: one for each leaf and each feature that any of them reads.
    [[nodiscard]] Index entries(std::size_t features) const
    {
        return static_cast<Index>(std::min(features, where.size()) * value.size());
    }
    [[nodiscard]] Span<Restriction const> of(std::size_t leaf) const
    {
        return {where.data() + begin[leaf], static_cast<Index>(begin[leaf + 1] - begin[leaf])};
    }
};

// Collects the leaves of a tree that a box reaches, with the cells of the box that end in each.
class Reached
{
public:
    Reached(ScoredTrees const &trees, CellBox const &box, LeafMargin const &valueOf)
        : trees_(trees), box_(box), valueOf_(valueOf), now_(box)
    {
    }

    void collect(Index tree, Leaves &found)
    {
        found.clear();
        found_ = &found;
        walk(trees_.root(tree));
    }

private:
    void walk(std::int32_t at)
    {
        auto const &node = trees_.node(at);
        if (node.feature < 0)
        {
            add(valueOf_(node.left));
            return;
        }
        auto const j = static_cast<std::size_t>(node.feature);
        std::int32_t const low = now_.low[j], high = now_.high[j];
        if (low < 0)
        {
            // A value that may be missing: apart from the numbers, so that what reaches a leaf stays an interval.
            within(j, -1, -1, node.missingLeft ? node.left : node.right);
            within(j, 0, std::min(high, node.rank), node.left);
            within(j, node.rank + 1, high, node.right);
            return;
        }
        within(j, low, std::min(high, node.rank), node.left);
        within(j, std::max(low, node.rank + 1), high, node.right);
    }

    void within(std::size_t j, std::int32_t low, std::int32_t high, std::int32_t child)
    {
        if (low > high)
            return;
        std::int32_t const oldLow = now_.low[j], oldHigh = now_.high[j];
        bool const isNew = oldLow == box_.low[j] && oldHigh == box_.high[j] && (low != oldLow || high != oldHigh);
        if (isNew)
            narrowed_.push_back(static_cast<std::int32_t>(j));
        now_.low[j] = low;
        now_.high[j] = high;
        walk(child);
        now_.low[j] = oldLow;
        now_.high[j] = oldHigh;
        if (isNew)
            narrowed_.pop_back();
    }

    void add(double value)
    {
        for (auto const j : narrowed_)
        {
            auto const i = static_cast<std::size_t>(j);
            found_->where.push_back({j, now_.low[i], now_.high[i]});
        }
        std::sort(found_->where.begin() + static_cast<std::ptrdiff_t>(found_->begin.back()), found_->where.end(),
                  [](auto const &a, auto const &b) { return a.feature < b.feature; });
        found_->begin.push_back(found_->where.size());
        found_->value.push_back(value);
    }

    ScoredTrees const &trees_;
    CellBox const &box_;
    LeafMargin const &valueOf_;
    CellBox now_;
    std::vector<std::int32_t> narrowed_;
    Leaves *found_ = nullptr;
};

// The least that a box can meet in a tree, where paths do not narrow the box on their way down.
class WorstLeaf
{
public:
    WorstLeaf(ScoredTrees const &trees, CellBox const &box, LeafMargin const &valueOf)
        : trees_(trees), box_(box), valueOf_(valueOf)
    {
    }

    double least(Index tree)
    {
        double found = std::numeric_limits<double>::infinity();
        waiting_.assign(1, trees_.root(tree));
        while (!waiting_.empty())
        {
            auto const &node = trees_.node(waiting_.back());
            waiting_.pop_back();
            if (node.feature < 0)
            {
                found = std::min(found, valueOf_(node.left));
                continue;
            }
            auto const j = static_cast<std::size_t>(node.feature);
            bool const missing = box_.low[j] < 0;
            if (missing ? node.missingLeft || box_.high[j] >= 0 : box_.low[j] <= node.rank)
                waiting_.push_back(node.left);
            if (box_.high[j] > node.rank || (missing && !node.missingLeft))
                waiting_.push_back(node.right);
        }
        return found;
    }

private:
    ScoredTrees const &trees_;
    CellBox const &box_;
    LeafMargin const &valueOf_;
    std::vector<std::int32_t> waiting_;
};

std::int32_t localCell(std::vector<std::int32_t> const &cuts, std::int32_t cell)
{
    return static_cast<std::int32_t>(std::lower_bound(cuts.begin(), cuts.end(), cell) - cuts.begin());
}

bool contains(std::vector<std::int32_t> const &all, std::vector<std::int32_t> const &some)
{
    return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

// What is left of a tree, in local cells; `local` are the local numbers of features, `cuts` what divides them.
Factor factorOf(Leaves const &leaves, std::vector<std::int32_t> const &local,
                std::vector<BoxProblem::Feature> const &features, std::vector<std::vector<std::int32_t>> const &cuts)
{
    Factor factor;
    for (auto const &where : leaves.where)
        factor.feature.push_back(local[static_cast<std::size_t>(where.feature)]);
    std::sort(factor.feature.begin(), factor.feature.end());
    factor.feature.erase(std::unique(factor.feature.begin(), factor.feature.end()), factor.feature.end());
    std::size_t const entries = factor.feature.size() * leaves.value.size();
    factor.low.reserve(entries);
    factor.high.reserve(entries);
    for (std::size_t leaf = 0; leaf < leaves.value.size(); ++leaf)
    {
        auto const where = leaves.of(leaf);  // sorted by feature, as the factor's features are
        Index next = 0;
        for (auto const j : factor.feature)
        {
            auto const &feature = features[static_cast<std::size_t>(j)];
            bool const free = next == where.size() || where[next].feature != feature.global;
            auto const &at = cuts[static_cast<std::size_t>(feature.global)];
            factor.low.push_back(free ? 0 : localCell(at, where[next].low));
            factor.high.push_back(free ? feature.cells() - 1 : localCell(at, where[next].high));
            next += free ? 0 : 1;
        }
    }
    factor.value = leaves.value;
    return factor;
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

double boundByWorstLeaves(ScoredTrees const &trees, CellBox const &box, Index truth, Index rival)
{
    constexpr double epsilon = std::numeric_limits<double>::epsilon();
    LeafMargin const valueOf(trees, truth, rival);
    WorstLeaf worst(trees, box, valueOf);
    double sum = valueOf.base(), size = std::abs(sum);
    for (Index t = 0; t < trees.trees(); ++t)
    {
        double const least = worst.least(t);
        sum += least;
        size += std::abs(least);
    }
    return sum - epsilon * static_cast<double>(4 * trees.trees() + 33) * size;
}

double marginThreshold(ScoredTrees const &trees, Index truth, Index rival)
{
    auto const &rule = trees.rule();
    double const unit = trees.unitOfSums();
    if (rule.link == Link::cutoff)
    {
        double const cutoff = rule.cutoff * rule.divisor;
        if (!(unit > 0))
            return (truth == 1 ? cutoff : -cutoff) + trees.roundingOfSums();
        // With exact sums the second class begins at the first multiple of the unit that is not below the cutoff.
        double const first = std::ceil(cutoff / unit) * unit;
        return truth == 1 ? first - unit : -first;
    }
    if (!(unit > 0))
        return 2 * trees.roundingOfSums();
    return truth < rival ? -unit : 0.0;
}

BoxProblem::BoxProblem(ScoredTrees const &trees, CellBox const &box, Index truth, Index rival, Index mostEntries,
                       std::function<bool()> const &shouldStop)
    : threshold_(marginThreshold(trees, truth, rival))
{
    LeafMargin const valueOf(trees, truth, rival);
    constant_ = valueOf.base();
    std::vector<Leaves> kept(static_cast<std::size_t>(trees.trees()));
    std::size_t count = 0;
    std::vector<std::vector<std::int32_t>> cuts(box.low.size());  // by feature, last cells before a threshold
    Reached reached(trees, box, valueOf);
    Index entries = 0;
    for (Index t = 0; t < trees.trees(); ++t)
    {
        if (t % treesPerLook == 0 && shouldStop())
            return;
        Leaves &leaves = kept[count];
        reached.collect(t, leaves);
        auto const &value = leaves.value;
        if (std::all_of(value.begin(), value.end(), [&](double v) { return v == value.front(); }))
        {
            constant_ += value.front();
            continue;
        }
        for (auto const &[j, low, high] : leaves.where)
        {
            auto const i = static_cast<std::size_t>(j);
            if (low > box.low[i])
                cuts[i].push_back(low - 1);
            if (high < box.high[i])
                cuts[i].push_back(high);
        }
        ++count;
        entries += leaves.entries(box.low.size());
        if (entries > mostEntries)
        {
            tooLarge_ = true;
            return;
        }
    }
    kept.resize(count);
    auto const local = takeFeatures(box, cuts);
    for (auto const &leaves : kept)
        factors_.push_back(factorOf(leaves, local, features_, cuts));
    complete_ = !shouldStop();
}

std::vector<std::int32_t> BoxProblem::takeFeatures(CellBox const &box, std::vector<std::vector<std::int32_t>> &cuts)
{
    std::vector<std::int32_t> local(cuts.size(), -1);
    for (std::size_t j = 0; j < cuts.size(); ++j)
    {
        auto &at = cuts[j];
        if (at.empty())
            continue;
        std::sort(at.begin(), at.end());
        at.erase(std::unique(at.begin(), at.end()), at.end());
        local[j] = static_cast<std::int32_t>(features_.size());
        Feature feature{static_cast<std::int32_t>(j), {box.low[j]}, {}};
        for (auto const cut : at)
        {
            feature.lastCell.push_back(cut);
            feature.firstCell.push_back(cut + 1);
        }
        feature.lastCell.push_back(box.high[j]);
        features_.push_back(std::move(feature));
    }
    return local;
}

void BoxProblem::joinTrees(std::function<bool()> const &shouldStop)
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
