#include "ensemble_scores/scored_trees.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hardwood
{
namespace
{
// The largest power of two of which all values are multiples; 1 if all are 0.
double commonUnit(std::vector<double> const &values)
{
    double finest = 0.0;
    for (double const value : values)
    {
        if (value == 0.0)
            continue;
        int exponent = 0;
        double fraction = std::frexp(std::abs(value), &exponent);
        while (fraction != std::floor(fraction))
        {
            fraction *= 2;
            --exponent;
        }
        double const unit = std::ldexp(1.0, exponent);
        finest = finest == 0.0 ? unit : std::min(finest, unit);
    }
    return finest == 0.0 ? 1.0 : finest;
}

Index firstLargest(Span<double const> scores)
{
    Index best = 0;
    for (Index k = 1; k < scores.size(); ++k)
        if (scores[k] > scores[best])
            best = k;
    return best;
}

template <class Real>
void softmax(Span<double> scores)
{
    Real largest = static_cast<Real>(scores[0]);
    for (double const score : scores)
        largest = std::max(largest, static_cast<Real>(score));
    double total = 0.0;
    for (double &score : scores)
    {
        Real const e = std::exp(static_cast<Real>(score) - largest);
        score = static_cast<double>(e);
        total += score;
    }
    for (double &score : scores)
        score = static_cast<double>(static_cast<Real>(score) / static_cast<Real>(total));
}
}  // namespace

ScoredTrees::ScoredTrees(Span<Index const> root, Span<Index const> feature, Span<double const> threshold,
                         Span<Index const> left, Span<Index const> right, Span<std::uint8_t const> missingLeft,
                         Grid<double const> value, Span<double const> base, Index features, ScoreRule rule)
    : base_(base.begin(), base.end()), cuts_(static_cast<std::size_t>(features)), features_(features), rule_(rule)
{
    nodes_.reserve(static_cast<std::size_t>(feature.size()));
    for (Index i = 0; i < feature.size(); ++i)
        if (left[i] >= 0)
            cuts_[static_cast<std::size_t>(feature[i])].push_back(threshold[i]);
    for (auto &cuts : cuts_)
    {
        std::sort(cuts.begin(), cuts.end());
        cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    }
    std::int32_t leaves = 0;
    std::vector<double> largest(base_.size(), 0.0), total(base_.size());
    for (std::size_t k = 0; k < base_.size(); ++k)
        total[k] = std::abs(base_[k]);
    double widest = 0.0;  // sum over the additions of the largest partial sum
    for (Index t = 0; t < root.size(); ++t)
    {
        auto const first = static_cast<std::int32_t>(root[t]);
        root_.push_back(first);
        Index const end = t + 1 < root.size() ? root[t + 1] : feature.size();
        std::fill(largest.begin(), largest.end(), 0.0);
        for (Index i = first; i < end; ++i)
        {
            Node node{threshold[i], -1, -1, leaves, -1, missingLeft[i] != 0};
            if (left[i] >= 0)
            {
                node.feature = static_cast<std::int32_t>(feature[i]);
                node.rank = cellOf(feature[i], threshold[i]);
                node.left = first + static_cast<std::int32_t>(left[i]);
                node.right = first + static_cast<std::int32_t>(right[i]);
            }
            else
            {
                ++leaves;
                for (std::size_t k = 0; k < base_.size(); ++k)
                {
                    double const v = value(i, static_cast<Index>(k));
                    value_.push_back(v);
                    largest[k] = std::max(largest[k], std::abs(v));
                }
            }
            nodes_.push_back(node);
        }
        for (std::size_t k = 0; k < base_.size(); ++k)
            total[k] += largest[k];
        widest += *std::max_element(total.begin(), total.end());
    }
    double const most = *std::max_element(total.begin(), total.end());
    double const unit = rule_.single ? std::ldexp(1.0, -24) : std::ldexp(1.0, -53);
    std::vector<double> all = value_;
    all.insert(all.end(), base_.begin(), base_.end());
    // Sums of multiples of a unit are exact in any order while they need fewer digits than the type has; a few to spare
    // keep different quotients different.
    double const finest = commonUnit(all);
    bool const exact = most / finest < std::ldexp(1.0, rule_.single ? 21 : 50);
    // Every addition rounds by at most one unit of its result, division by a few of the scores' size. A softmax drops
    // differences below a few units of 1, and the logistic function is flat where scores are large.
    bool const exactEnd =
        rule_.link != Link::softmax && (rule_.divisor == 1.0 || (exact && rule_.link == Link::argmax));
    rounding_ = (exact ? 0.0 : 1.01 * unit * widest) + (exactEnd ? 0.0 : 16 * unit * (rule_.divisor + most));
    if (exact && exactEnd && rule_.link != Link::logistic)
        unit_ = finest;
    if (rule_.link == Link::logistic)
        rounding_ += 16 * unit * rule_.divisor * std::exp(rule_.slope * most / rule_.divisor) / rule_.slope;
    addUpRests();
}

void ScoredTrees::addUpRests()
{
    if (classes() != 2)
        return;
    rest_.assign(root_.size() + 1, Rest{0.0, 0.0, 0.0});
    auto end = static_cast<std::int32_t>(nodes_.size());
    for (std::size_t t = root_.size(); t-- > 0; end = root_[t])
    {
        double least = std::numeric_limits<double>::infinity(), most = -least;
        for (std::int32_t i = root_[t]; i < end; ++i)
        {
            if (node(i).feature >= 0)
                continue;
            auto const row = node(i).left;
            double const margin = scores() == 1 ? value(row, 0) : value(row, 1) - value(row, 0);
            least = std::min(least, margin);
            most = std::max(most, margin);
        }
        rest_[t] = {rest_[t + 1].least + least, rest_[t + 1].most + most,
                    rest_[t + 1].size + std::max(std::abs(least), std::abs(most))};
    }
}

std::int32_t ScoredTrees::cellOf(Index feature, double x) const
{
    auto const &cuts = this->cuts(feature);
    return static_cast<std::int32_t>(std::lower_bound(cuts.begin(), cuts.end(), x) - cuts.begin());
}

template <class Leaf>
void ScoredTrees::add(Leaf &&leafOf, Span<double> out) const
{
    Index const n = scores();
    for (Index k = 0; k < n; ++k)
        out[k] = base(k);
    for (auto const first : root_)
    {
        std::int32_t const row = leafOf(first);
        if (rule_.single)
            for (Index k = 0; k < n; ++k)
                out[k] = static_cast<double>(static_cast<float>(out[k]) + static_cast<float>(value(row, k)));
        else
            for (Index k = 0; k < n; ++k)
                out[k] += value(row, k);
    }
}

void ScoredTrees::sums(Span<double const> x, Span<double> out) const
{
    add(
        [&](std::int32_t at)
        {
            while (node(at).feature >= 0)
            {
                Node const &split = node(at);
                double const v = x[split.feature];
                at = (std::isnan(v) ? split.missingLeft : v <= split.threshold) ? split.left : split.right;
            }
            return node(at).left;
        },
        out);
}

void ScoredTrees::sumsAtCells(Span<std::int32_t const> cell, Span<double> out) const
{
    add(
        [&](std::int32_t at)
        {
            while (node(at).feature >= 0)
            {
                Node const &split = node(at);
                std::int32_t const c = cell[split.feature];
                at = (c < 0 ? split.missingLeft : c <= split.rank) ? split.left : split.right;
            }
            return node(at).left;
        },
        out);
}

Index ScoredTrees::classOf(Span<double const> sums, Span<double> work) const
{
    if (rule_.link == Link::cutoff)
        return sums[0] / rule_.divisor >= rule_.cutoff ? 1 : 0;
    for (Index k = 0; k < sums.size(); ++k)
    {
        double const share = sums[k] / rule_.divisor;
        work[k] = rule_.single ? static_cast<double>(static_cast<float>(share)) : share;
    }
    if (rule_.link == Link::softmax)
        rule_.single ? softmax<float>(work) : softmax<double>(work);
    if (rule_.link == Link::logistic)
        for (double &score : work)
            score = 1.0 / (1.0 + std::exp(-rule_.slope * score));
    return firstLargest(work);
}
}  // namespace hardwood
