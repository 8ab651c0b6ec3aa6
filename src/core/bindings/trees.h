// Trees at the boundary: arrays of nodes, checked once, as records that the core walks over.
#pragma once

#include <limits>

#include "bindings/arrays.h"
#include "reach.h"

namespace hardwood
{
// The arrays of a tree (or of several, one behind the other) as Python keeps them.
template <class Threshold>
struct TreeArrays
{
    Span<Index const> feature;
    Span<Threshold const> threshold;
    Span<Index const> left;
    Span<Index const> right;
    Span<Index const> label;  // empty where no labels are needed
};

// Nodes begin, ..., end - 1 as records with children counted from `begin`. ValueError unless the arrays agree in
// length, every split names one of the features and two nodes behind it (so every walk ends), and labels fit.
template <class Threshold>
void writeNodes(TreeArrays<Threshold> const &tree, Index begin, Index end, Index nFeatures, Span<Node<Threshold>> nodes)
{
    Index const n = end - begin;
    require(n > 0, "a tree has at least one node");
    for (Index k = 0; k != n; ++k)
    {
        Index const at = begin + k;
        Index const label = tree.label.empty() ? 0 : tree.label[at];
        bool const isLeaf = tree.left[at] < 0;
        // A sample of no class has the label -1, which no leaf is right for.
        require(label >= (isLeaf ? 0 : -1) && label <= std::numeric_limits<std::int32_t>::max(),
                "a leaf has a label that cannot be");
        if (!isLeaf)
        {
            require(tree.feature[at] >= 0 && tree.feature[at] < nFeatures, "a split names a feature that is not there");
            require(tree.left[at] > k && tree.left[at] < n && tree.right[at] > k && tree.right[at] < n,
                    "the children of a split must stand behind it");
        }
        nodes[at] = {tree.threshold[at], static_cast<std::int32_t>(isLeaf ? -1 : tree.feature[at]),
                     static_cast<std::int32_t>(isLeaf ? -1 : tree.left[at]),
                     static_cast<std::int32_t>(isLeaf ? -1 : tree.right[at]), static_cast<std::int32_t>(label)};
    }
}

template <class Threshold>
void requireEqualLengths(TreeArrays<Threshold> const &tree)
{
    Index const n = tree.feature.size();
    require(n <= std::numeric_limits<std::int32_t>::max(), "a tree has more nodes than can be numbered");
    require(tree.threshold.size() == n && tree.left.size() == n && tree.right.size() == n &&
                (tree.label.empty() || tree.label.size() == n),
            "the arrays of a tree must be of one length");
}

// A single tree.
template <class Threshold>
Array<Node<Threshold>> nodesOf(TreeArrays<Threshold> const &tree, Index nFeatures)
{
    requireEqualLengths(tree);
    auto nodes = Array<Node<Threshold>>::unwritten(tree.feature.size());
    writeNodes<Threshold>(tree, 0, nodes.size(), nFeatures, nodes.view());
    return nodes;
}
}  // namespace hardwood
