// A tree while it grows: nodes with named fields, and where each of them lies.
#pragma once

#include <vector>

#include "span.h"

namespace hardwood
{
// What a greedy learner may do.
struct GrowthLimits
{
    Index maxDepth;
    Index minSamplesSplit;  // a node with fewer samples becomes a leaf
    Index minSamplesLeaf;   // a split that leaves fewer samples on one side is not made
    Index maxFeatures;      // how many features, drawn at random, each split looks at; more while none of them gains
    double minWeightLeaf;   // as minSamplesLeaf, for the weight of the samples
};

// Between which ranks of a feature something lies: a threshold index t inside has lowest < t < highest.
struct RankRegion
{
    Index lowest;
    Index highest;
};

struct GrowingNode
{
    Index feature = -1;
    Index index = -1;  // of the threshold
    Index left = -1;
    Index right = -1;
    Index label = -1;  // -1 at splits
    Index parent = -1;
    Index depth = 0;
    Index begin = 0;  // its samples: a segment of the learner's lists
    Index end = 0;
};

class GrowingTree
{
    std::vector<GrowingNode> nodes_;

public:
    explicit GrowingTree(Index nSamples) : nodes_(1) { nodes_[0].end = nSamples; }

    [[nodiscard]] Index size() const { return static_cast<Index>(nodes_.size()); }
    [[nodiscard]] Span<GrowingNode const> nodes() const { return nodes_; }

    GrowingNode &operator[](Index node) { return Span<GrowingNode>(nodes_)[node]; }
    GrowingNode const &operator[](Index node) const { return Span<GrowingNode const>(nodes_)[node]; }

    // Between which ranks of a feature a node lies, by the splits above it.
    [[nodiscard]] RankRegion region(Index node, Index feature, Index nRanks) const
    {
        RankRegion inside{-1, nRanks - 1};
        auto const &self = *this;
        for (Index above = self[node].parent; above >= 0; node = above, above = self[node].parent)
        {
            if (self[above].feature != feature)
                continue;
            if (self[above].left == node)
                inside.highest = std::min(inside.highest, self[above].index);
            else
                inside.lowest = std::max(inside.lowest, self[above].index);
        }
        return inside;
    }

    // Make a leaf a split; its children come last, the left one first. Returns the left one.
    Index split(Index node, Index feature, Index index)
    {
        Index const child = size();
        GrowingNode fresh;
        fresh.parent = node;
        fresh.depth = (*this)[node].depth + 1;
        nodes_.push_back(fresh);
        nodes_.push_back(fresh);
        GrowingNode &split = (*this)[node];
        split.feature = feature;
        split.index = index;
        split.left = child;
        split.right = child + 1;
        split.label = -1;
        return child;
    }
};
}  // namespace hardwood
