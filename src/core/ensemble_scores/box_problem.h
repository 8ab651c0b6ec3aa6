// How far the margin of the true class over a rival can fall inside one box.
//
// Inside the box most splits are decided. What is left of a tree is a Factor: a few leaves, each an interval of cells
// on each feature that still matters, with what the leaf adds to the margin. The cells between two thresholds that no
// factor asks for are joined. A point is one local cell for each feature; margin(point) = constant + sum of its leaves.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ensemble_scores/scored_trees.h"

namespace hardwood
{
struct Factor
{
    std::vector<std::int32_t> feature;  // local, sorted
    std::vector<std::int32_t> low;      // leaves x features: first and last local cell
    std::vector<std::int32_t> high;
    std::vector<double> value;  // of each leaf

    [[nodiscard]] Index features() const { return static_cast<Index>(feature.size()); }
    [[nodiscard]] Index leaves() const { return static_cast<Index>(value.size()); }
};

// Cells, first to last, that a box meets on each feature.
struct CellBox
{
    std::vector<std::int32_t> low;
    std::vector<std::int32_t> high;
};

// The least margin that the worst leaves of all trees leave in a box, each tree on its own: a bound that is safe from
// rounding, and the cheapest there is (nothing is stored).
[[nodiscard]] double boundByWorstLeaves(ScoredTrees const &trees, CellBox const &box, Index truth, Index rival);

// Nobody is misclassified as the rival where the exact margin is larger.
[[nodiscard]] double marginThreshold(ScoredTrees const &trees, Index truth, Index rival);

class BoxProblem
{
public:
    struct Feature
    {
        std::int32_t global;
        std::vector<std::int32_t> firstCell;  // of each local cell
        std::vector<std::int32_t> lastCell;
        [[nodiscard]] std::int32_t cells() const { return static_cast<std::int32_t>(firstCell.size()); }
    };

    // The margin of class `truth` over `rival`; with one score the rival is the other class. Where `shouldStop` says
    // so, the problem is left unfinished and `complete` is false; likewise where the leaves of all trees have more than
    // `mostEntries` intervals, and then `tooLarge` says so.
    BoxProblem(ScoredTrees const &trees, CellBox const &box, Index truth, Index rival, Index mostEntries,
               std::function<bool()> const &shouldStop);

    [[nodiscard]] bool complete() const { return complete_; }
    [[nodiscard]] bool tooLarge() const { return tooLarge_; }

    [[nodiscard]] double constant() const { return constant_; }
    [[nodiscard]] std::vector<Factor> const &factors() const { return factors_; }
    [[nodiscard]] std::vector<Feature> const &features() const { return features_; }

    [[nodiscard]] double threshold() const { return threshold_; }  // `marginThreshold`

    // Add up small trees over the same features: fewer factors, and tighter bounds. Changes no margin.
    void joinTrees(std::function<bool()> const &shouldStop);

private:
    // Make a feature of every one that has cuts, which are sorted; returns the local number of each, -1 for none.
    std::vector<std::int32_t> takeFeatures(CellBox const &box, std::vector<std::vector<std::int32_t>> &cuts);

    double constant_ = 0.0;
    double threshold_ = 0.0;
    bool complete_ = false;
    bool tooLarge_ = false;
    std::vector<Factor> factors_;
    std::vector<Feature> features_;
};
}  // namespace hardwood
