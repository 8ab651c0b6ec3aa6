// Many trees whose leaves add up to scores, and the class that the scores stand for.
//
// The arithmetic is the library's from which the trees came: the type of the sum (float32 or float64), the order of the
// trees, the division at the end and the link decide ties, so they are part of the model. A split sends x left iff
// x <= threshold; what a library compares differently (x < b, rounding to float32) is in the threshold already. A
// missing value (NaN) goes where `missingLeft` says.
//
// Cells. The distinct thresholds of feature j, sorted, cut it into cells: cell c is (b[c-1], b[c]], so x goes left at
// the split with rank t iff cell(x) <= t. Cell -1 stands for "missing". Two points in the same cells get the same
// scores.
#pragma once

#include <cstdint>
#include <vector>

#include "span.h"

namespace hardwood
{
enum class Link : std::int32_t
{
    cutoff = 0,    // one score; the second class iff score >= cutoff
    argmax = 1,    // the first of the largest scores
    softmax = 2,   // the first of the largest of exp(s - max) / sum
    logistic = 3,  // the first of the largest of 1 / (1 + exp(-slope s))
};

struct ScoreRule
{
    Link link = Link::argmax;
    bool single = false;   // sums in float32
    double divisor = 1.0;  // scores are divided by it before they are compared
    double cutoff = 0.0;
    double slope = 1.0;
};

class ScoredTrees
{
public:
    struct Node
    {
        double threshold;
        std::int32_t feature;  // -1 at leaves
        std::int32_t rank;     // of the threshold among those of its feature
        std::int32_t left;     // at leaves the row of their values
        std::int32_t right;
        bool missingLeft;
    };

    // `root` is the first node of each tree; children are counted from it and stand behind their parents.
    ScoredTrees(Span<Index const> root, Span<Index const> feature, Span<double const> threshold, Span<Index const> left,
                Span<Index const> right, Span<std::uint8_t const> missingLeft, Grid<double const> value,
                Span<double const> base, Index features, ScoreRule rule);

    [[nodiscard]] Index trees() const { return static_cast<Index>(root_.size()); }
    [[nodiscard]] Index features() const { return features_; }
    [[nodiscard]] Index scores() const { return static_cast<Index>(base_.size()); }
    [[nodiscard]] Index classes() const { return rule_.link == Link::cutoff ? 2 : scores(); }
    [[nodiscard]] ScoreRule const &rule() const { return rule_; }
    [[nodiscard]] Node const &node(std::int32_t index) const { return nodes_[static_cast<std::size_t>(index)]; }
    [[nodiscard]] std::int32_t root(Index tree) const { return root_[static_cast<std::size_t>(tree)]; }
    [[nodiscard]] double value(std::int32_t leafRow, Index score) const
    {
        return value_[static_cast<std::size_t>(leafRow * scores() + score)];
    }
    [[nodiscard]] double base(Index score) const { return base_[static_cast<std::size_t>(score)]; }

    // Of two classes: what the trees from one on can add to the margin of the second class, whatever the point is, and
    // the sum of the sizes of their leaves' margins.
    struct Rest
    {
        double least;
        double most;
        double size;
    };
    [[nodiscard]] Rest const &restFrom(Index tree) const { return rest_[static_cast<std::size_t>(tree)]; }

    // Distinct thresholds of a feature, sorted.
    [[nodiscard]] std::vector<double> const &cuts(Index feature) const
    {
        return cuts_[static_cast<std::size_t>(feature)];
    }
    [[nodiscard]] std::int32_t cellOf(Index feature, double x) const;

    // Sums of the leaves at a point, in the library's arithmetic, before division and link.
    void sums(Span<double const> x, Span<double> out) const;
    void sumsAtCells(Span<std::int32_t const> cell, Span<double> out) const;

    // The class that sums stand for; `work` has as many entries.
    [[nodiscard]] Index classOf(Span<double const> sums, Span<double> work) const;

    // By how much the sums of the library can differ from the exact ones, at any point: no decision is wrong where the
    // exact margin is larger.
    [[nodiscard]] double roundingOfSums() const { return rounding_; }

    // All sums are multiples of it and exact in the library's arithmetic; 0 if they are not.
    [[nodiscard]] double unitOfSums() const { return unit_; }

private:
    template <class Leaf>
    void add(Leaf &&leafOf, Span<double> out) const;
    void addUpRests();

    std::vector<Node> nodes_;
    std::vector<std::int32_t> root_;
    std::vector<double> value_;  // one row per leaf
    std::vector<double> base_;
    std::vector<Rest> rest_;  // one more than trees; none where there are not two classes
    std::vector<std::vector<double>> cuts_;
    Index features_;
    ScoreRule rule_;
    double rounding_ = 0.0;
    double unit_ = 0.0;
};
}  // namespace hardwood
