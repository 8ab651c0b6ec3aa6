// Walks through many trees that vote: votes, a certificate that no attack succeeds, and a search for one.
//
// The trees stand one behind the other; children are counted from the start of their tree. A tree votes for the class
// of its leaf; the class with the most votes wins, the first of several. Whether an attack on an ensemble succeeds is
// NP-hard to tell (Kantchelian, Tygar & Joseph, ICML 2016). The certificate gives the attacker more than he has: a
// point of his choice for each tree. Against a rival, a tree then gives the best vote that the box reaches; if even so
// no rival wins, no attack does. The search goes the other way: it moves one feature at a time to the value that gains
// most votes, so what it finds is an attack, and what it does not find is open.
#pragma once

#include "control.h"
#include "reach.h"

namespace hardwood
{
struct Forest
{
    Span<Index const> begin;      // first node of each tree
    Span<FloatNode const> nodes;  // of all trees; children as places among all nodes
    Index nClasses;
};

// Boxes and the class that would be right; -1 for a class that no tree knows, which is always wrong.
struct ForestSamples
{
    Grid<double const> X;
    Grid<double const> lower;
    Grid<double const> upper;
    Span<Index const> truth;
};

// The thresholds of feature j, increasing: cut[offset[j]], ..., cut[offset[j + 1] - 1].
struct Cuts
{
    Span<Index const> offset;
    Span<double const> cut;
};

// Write how many trees vote for each class at each row of X. False where the Control stopped it.
bool countVotes(Forest const &forest, Grid<double const> X, Grid<Index> out, Control &control);

// Write whether no point of each box can be misclassified, as far as single trees tell. False where the Control stopped
// it: the rows not looked at are not certified.
bool certify(Forest const &forest, ForestSamples const &samples, Span<bool> out, Control &control);

// Search a misclassified point in each box; write whether there is one and where. False where the Control stopped it:
// the rows not looked at are not attacked.
bool attack(Forest const &forest, ForestSamples const &samples, Cuts const &cuts, Span<bool> out, Grid<double> point,
            Control &control);
}  // namespace hardwood
