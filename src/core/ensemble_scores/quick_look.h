// What can be said of a sample before its box is divided into cells: most samples of most ensembles are settled here.
//
// A sample that is misclassified where it stands needs no attack. And nobody is misclassified as a rival if even the
// worst leaf that the box reaches in each tree, as if the attacker could choose a point for every tree, leaves a margin
// above the threshold (`marginThreshold`), rounding errors of the sum included. Of two classes it is often known after
// half of the trees: when whatever the others may add leaves the margin above, or below, the threshold.
#pragma once

#include "ensemble_scores/scored_trees.h"

namespace hardwood
{
class QuickLook
{
    ScoredTrees const &trees_;
    std::vector<std::int32_t> stack_;
    Array<double> sums_, work_;

    // The least margin that a leaf of a tree has in a box.
    template <class Margin>
    [[nodiscard]] double worstLeaf(Index tree, Span<double const> lower, Span<double const> upper, Margin &&marginOf);
    [[nodiscard]] bool beats(Span<double const> lower, Span<double const> upper, Index truth, Index rival);

public:
    explicit QuickLook(ScoredTrees const &trees);

    // Whether the sample gets another class than the true one as it is.
    [[nodiscard]] bool isWrong(Span<double const> x, Index truth);

    // Whether no point of the box does, as far as single trees tell; only for boxes around samples without gaps.
    [[nodiscard]] bool isRobust(Span<double const> lower, Span<double const> upper, Index truth);
};
}  // namespace hardwood
