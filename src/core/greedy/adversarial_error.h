// Greedy growth on the adversarial 0/1 loss itself.
//
// FPRDT (Guo, Teng, Gao & Zhou, "Fast Provably Robust Decision Trees and Boosting", ICML 2022) replaces one leaf at a
// time by a split with two labelled leaves. A sample that reaches both sides goes to both. At a leaf only those samples
// count that its replacement can win or lose: the ones that no leaf gets wrong, and the ones that this leaf alone gets
// wrong. With label a on the left and c on the right, the samples of class a that cannot reach right and the samples of
// class c that cannot reach left are right. So every accepted split lowers the adversarial 0/1 loss of the whole tree.
#pragma once

#include "control.h"
#include "greedy/growing.h"

namespace hardwood
{
struct ErrorProblem
{
    Grid<std::int32_t const> lower;  // ranks of both ends, (n, n_features)
    Grid<std::int32_t const> upper;
    Span<Index const> offset;  // the clusters of ends of feature j are offset[j], ..., offset[j + 1] - 1 of
    Span<double const> first;  // the smallest and
    Span<double const> last;   // the largest number of each cluster
    Span<Index const> label;
    Span<double const> weight;
    Index nClasses;

    [[nodiscard]] Index nRanks(Index j) const { return offset[j + 1] - offset[j]; }
};

// Grow a tree. Every node is a labelled leaf until it is split: where the Control stops it, the tree so far is the
// answer.
GrowingTree growOnErrors(ErrorProblem const &problem, GrowthLimits limits, std::uint32_t seed, Control &control);
}  // namespace hardwood
