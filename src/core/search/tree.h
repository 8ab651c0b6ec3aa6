// Trees of the search: nodes in preorder, as Python's IndexTree has them.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "search/problem.h"
#include "search/state.h"

namespace hardwood::search
{
// One split between two leaves, or a plain leaf (then every box "goes left").
struct Stump
{
    Index feature = -1;
    Rank threshold = std::numeric_limits<Rank>::max();
    Label left = 0;
    Label right = 0;

    [[nodiscard]] bool isLeaf() const { return feature < 0; }
    [[nodiscard]] Index nLeaves() const { return isLeaf() ? 1 : 2; }

    // 1 if a box with these ends reaches a leaf of another class, else 0; no branch.
    [[nodiscard]] int loses(Rank lower, Rank upper, Label label) const
    {
        auto const inLeft = static_cast<int>(lower <= threshold) & static_cast<int>(label != left);
        auto const inRight = static_cast<int>(upper > threshold) & static_cast<int>(label != right);
        return inLeft | inRight;
    }
};

struct TreeNode
{
    Index feature = -1;  // -1: a leaf
    Rank threshold = -1;
    Label label = -1;  // -1: a split
    Index left = -1;
    Index right = -1;

    [[nodiscard]] bool isLeaf() const { return feature < 0; }
};

class Tree
{
    std::vector<TreeNode> nodes_;

    void append(Tree const &other);
    // The subtree below `root`, with another one in the place of the node.
    [[nodiscard]] Tree copied(Index root, Index node, Tree const &subtree) const;

public:
    Tree() = default;
    // The nodes must be a tree in which children stand behind their parent.
    explicit Tree(std::vector<TreeNode> nodes) : nodes_(std::move(nodes)) {}
    [[nodiscard]] static Tree leaf(Label label);
    [[nodiscard]] static Tree of(Stump const &stump);
    [[nodiscard]] static Tree join(Index feature, Rank threshold, Tree const &left, Tree const &right);

    // The same tree with another one in the place of the node.
    [[nodiscard]] Tree withSubtree(Index node, Tree const &subtree) const;

    [[nodiscard]] Tree subtreeAt(Index node) const;

    [[nodiscard]] Span<TreeNode const> nodes() const { return Span<TreeNode const>(nodes_); }
    [[nodiscard]] Index size() const { return static_cast<Index>(nodes_.size()); }
    [[nodiscard]] Index nLeaves() const { return (size() + 1) / 2; }
    // Splits on the longest path.
    [[nodiscard]] Index depth() const;
};

// Which samples of a problem a tree loses: those whose box reaches a leaf of another class. One byte per sample.
// With a node, the leaves below it do not count, and who reaches it is noted as well.
void markLost(Problem const &problem, Tree const &tree, Span<std::uint8_t> lost, Index node = -1,
              Span<std::uint8_t> reachesNode = {});

void saveTree(Tree const &tree, StateWriter &state);
[[nodiscard]] Tree loadTree(Problem const &problem, StateReader &state);
}  // namespace hardwood::search
