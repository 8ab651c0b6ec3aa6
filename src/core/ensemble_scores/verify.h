// Which samples an attacker can get misclassified: robust, fooled (with a point), or open.
#pragma once

#include <cstdint>

#include "control.h"
#include "ensemble_scores/scored_trees.h"

namespace hardwood
{
// What is known of a sample, and what told it.
enum class Verdict : std::int8_t
{
    open = 0,
    robustByTrees = 1,     // the worst reachable leaves of all trees together
    robustByMessages = 2,  // the bound after messages between trees
    robustBySearch = 3,    // division of the box
    fooledAsItIs = 4,      // wrong without any attack
    fooledByDescent = 5,   // a point found by moving one feature at a time
    fooledBySearch = 6,    // a point found in a part of the box
};

struct Samples
{
    Grid<double const> X;
    Grid<double const> lower;
    Grid<double const> upper;
    Span<Index const> label;  // -1: a label that the model cannot answer, always wrong
};

struct Findings
{
    Span<std::int8_t> verdict;
    Grid<double> point;  // written where a sample is fooled
    Span<Index> parts;   // of boxes looked at, or `tooLarge`
    Span<double> seconds;
};

// Of a sample that stays open since its box reaches more leaves than may be kept.
constexpr Index tooLarge = -1;

// Treat the samples whose verdict is open, each for at most `secondsPerSample` and with at most `mostEntries` intervals
// of leaves in memory; others are skipped.
void verify(ScoredTrees const &trees, Samples const &samples, double secondsPerSample, Index mostEntries, Index threads,
            Control &control, Findings findings);
}  // namespace hardwood
