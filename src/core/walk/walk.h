// Walks through one tree: where points end, which leaves and nodes boxes reach, and which samples an attacker can fool.
//
// A sample is robustly right iff every leaf that its box reaches carries its label (Theorem 1 of Vos & Verwer, "Robust
// Optimal Classification Trees Against Adversarial Examples", AAAI 2022); one wrong leaf is enough to stop looking.
// Boxes come from Python (hardwood.problem.boxes), the same for training and for evaluation.
//
// All of these last as long as there are rows. They look at the Control between rows; where it says to stop they return
// false and what they wrote is incomplete.
#pragma once

#include "control.h"
#include "ends.h"
#include "reach.h"

namespace hardwood
{
// Boxes in which an attacker can move samples, and the samples' labels.
struct AttackedSamples
{
    Grid<double const> lower;
    Grid<double const> upper;
    Span<Index const> label;
};

// Write the leaf in which each row of X ends.
bool apply(Span<FloatNode const> nodes, Grid<double const> X, Span<Index> leaf, Control &control);

// Write whether the box of each sample reaches a leaf whose label is not the sample's.
bool fooled(Span<FloatNode const> nodes, AttackedSamples const &samples, Span<bool> out, Control &control);

// The same for samples whose boxes are computed where the tree asks for them.
bool fooled(Span<FloatNode const> nodes, Attacked const &samples, Span<Index const> label, Span<bool> out,
            Control &control);

// Write both ends of all boxes.
bool boxEnds(Attacked const &samples, Grid<double> lower, Grid<double> upper, Control &control);

// Write whether the box of each row reaches each node; children stand behind their parents.
bool reachedNodes(Span<FloatNode const> nodes, Grid<double const> lower, Grid<double const> upper, Grid<bool> out,
                  Control &control);

// The same for samples whose boxes are computed where the tree asks for them.
bool reachedNodes(Span<FloatNode const> nodes, Attacked const &samples, Grid<bool> out, Control &control);

// What samples under attack add up to at the nodes of a tree, all of them 0 before.
struct NodeSums
{
    // By node and class, the weight of the samples that
    Grid<double> certain;    // reach one leaf only, at it and all nodes above it
    Grid<double> kept;       // can reach the node, and no leaf of another class anywhere
    Grid<double> lostBelow;  // can reach leaves of other classes, all of which lie at the node or below
    // By node:
    Span<double> lost;  // the weight of the samples that can reach the node, and a leaf of another class somewhere
    Span<Index> count;  // how many samples can reach the node
};

// Add up the samples at all nodes that their boxes reach; children stand behind their parents. A label of -1 is of no
// class that the tree knows: such a sample is lost, and no leaf would be right. Takes time for the nodes that boxes
// reach, not for all of them.
bool addUp(Span<FloatNode const> nodes, Attacked const &samples, Span<Index const> label, Span<double const> weight,
           NodeSums const &sums, Control &control);

// From which nodes any point at all can go left and right; a path that no point can follow must not count as reached.
struct OpenSides
{
    Span<bool const> left;
    Span<bool const> right;
};

// Write the leaves that the box of each row reaches as bits of a row of words; `leafNumber` numbers the leaves by node.
// Thresholds and ends are both numbers or both ranks.
template <class Threshold, class End>
bool reachedLeaves(Span<Node<Threshold> const> nodes, OpenSides open, Span<Index const> leafNumber,
                   Grid<End const> lower, Grid<End const> upper, Grid<std::uint64_t> mask, Control &control);
}  // namespace hardwood
