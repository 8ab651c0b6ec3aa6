// From cuts between ends to thresholds at maximum margin.
//
// A learner says between which ends of boxes a split cuts; any number in between does the same to the samples it has
// seen. The number that is shipped lies midway between the nearest ends of the samples that reach the split, or, where
// that is beyond another threshold on the path, midway between that one and the next end. On the way a tree is tidied:
//
// - a branch that no box reaches is cut off, and so is one between two cuts that no end separates: every box that
//   reaches it reaches its sibling too, and no point does;
// - a split between two leaves of one class becomes that leaf.
//
// Neither changes which samples are lost, unless a box reached a branch that holds no point. Cuts are ranks (index t
// stands between clusters t and t + 1, see ranks/ranks.h) or numbers (b stands between the ends <= b and those > b);
// ends of one cluster count as one in both: a margin begins at the last end of a cluster and stops at the first.
#pragma once

#include <vector>

#include "ranks/ranks.h"

namespace hardwood
{
// The shape of a tree; its cuts are given beside it.
struct CutTree
{
    Span<Index const> feature;
    Span<Index const> left;
    Span<Index const> right;
    Span<Index const> label;
};

// What is known of the features: which are yes (1) or no (0), and which are whole numbers.
struct FeatureKinds
{
    Span<bool const> isQuestion;
    Span<bool const> isWhole;
};

// Ranks of the ends of some features; `column` says where those of a feature stand, -1 where nowhere.
struct RankedFeatures
{
    Grid<std::int32_t const> lower;
    Grid<std::int32_t const> upper;
    Span<Index const> nRanks;  // of each feature
    Span<Index const> column;
};

struct PlacedNode
{
    Index feature = -1;
    double threshold = std::numeric_limits<double>::quiet_NaN();
    Index left = -1;
    Index right = -1;
    Index label = -1;                                       // -1 at splits
    double low = std::numeric_limits<double>::quiet_NaN();  // the margin
    double high = std::numeric_limits<double>::quiet_NaN();
};

// A split may lie anywhere from `last`, an end or a value, up to `first`, the next one.
struct Gap
{
    double last;
    double first;
};

// The nodes in preorder; none where the Control stopped it.
std::vector<PlacedNode> placeRanks(CutTree const &tree, Span<Index const> index, RankedFeatures const &ranks,
                                   BoxesAround const &boxes, FeatureKinds const &kinds, Control &control);

// The same for splits in gaps between numbers; also none where the ends around a gap count as one.
std::vector<PlacedNode> placeGaps(CutTree const &tree, Span<Gap const> gaps, BoxesAround const &boxes,
                                  FeatureKinds const &kinds, Control &control);
}  // namespace hardwood
