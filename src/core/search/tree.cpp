#include "search/tree.h"

#include <algorithm>

namespace hardwood::search
{
void Tree::append(Tree const &other)
{
    auto const offset = size();
    for (TreeNode node : other.nodes_)
    {
        if (!node.isLeaf())
        {
            node.left += offset;
            node.right += offset;
        }
        nodes_.push_back(node);
    }
}

Tree Tree::leaf(Label label)
{
    return Tree({TreeNode{.label = label}});
}

Tree Tree::of(Stump const &stump)
{
    if (stump.isLeaf())
        return leaf(stump.left);
    return join(stump.feature, stump.threshold, leaf(stump.left), leaf(stump.right));
}

Tree Tree::join(Index feature, Rank threshold, Tree const &left, Tree const &right)
{
    Tree tree;
    tree.nodes_.reserve(static_cast<std::size_t>(1 + left.size() + right.size()));
    tree.nodes_.push_back(TreeNode{.feature = feature, .threshold = threshold, .left = 1, .right = 1 + left.size()});
    tree.append(left);
    tree.append(right);
    return tree;
}

Tree Tree::withSubtree(Index node, Tree const &subtree) const
{
    return copied(0, node, subtree);
}

Index Tree::depth() const
{
    std::vector<Index> level(nodes_.size());
    Index deepest = 0;
    for (std::size_t h = 0; h < nodes_.size(); ++h)
    {
        deepest = std::max(deepest, level[h]);
        if (!nodes_[h].isLeaf())
            level[static_cast<std::size_t>(nodes_[h].left)] = level[static_cast<std::size_t>(nodes_[h].right)] =
                level[h] + 1;
    }
    return deepest;
}

Tree Tree::subtreeAt(Index node) const
{
    return copied(node, -1, {});
}

Tree Tree::copied(Index root, Index node, Tree const &subtree) const
{
    // Preorder again, without recursion: a stack of nodes to copy, each with the place that waits for its number.
    struct Waiting
    {
        Index node;
        Index parent;
        bool isRight;
    };
    Tree tree;
    std::vector<Waiting> waiting{{root, -1, false}};
    while (!waiting.empty())
    {
        auto const [source, parent, isRight] = waiting.back();
        waiting.pop_back();
        auto const target = tree.size();
        if (parent >= 0)
        {
            auto &above = tree.nodes_[static_cast<std::size_t>(parent)];
            (isRight ? above.right : above.left) = target;
        }
        if (source == node)
        {
            tree.append(subtree);
            continue;
        }
        auto const copy = nodes_[static_cast<std::size_t>(source)];
        tree.nodes_.push_back(copy);
        if (!copy.isLeaf())
        {
            waiting.push_back({copy.right, target, true});
            waiting.push_back({copy.left, target, false});
        }
    }
    return tree;
}

void markLost(Problem const &problem, Tree const &tree, Span<std::uint8_t> lost, Index except,
              Span<std::uint8_t> reachesIt)
{
    // Children stand behind their parent, so one pass over the nodes hands every reach down.
    auto const n = problem.nSamples;
    auto const nodes = tree.nodes();
    std::vector<Array<std::uint8_t>> reach(static_cast<std::size_t>(nodes.size()));
    reach[0] = Array<std::uint8_t>(n, 1);
    std::fill(lost.begin(), lost.end(), std::uint8_t{0});
    for (Index h = 0; h < nodes.size(); ++h)
    {
        auto const &node = nodes[h];
        auto const here = std::move(reach[static_cast<std::size_t>(h)]);
        if (h == except)
            std::copy(here.begin(), here.end(), reachesIt.begin());
        if (h == except || here.empty())
            continue;  // nothing is handed down to what lies below the node
        if (node.isLeaf())
        {
            for (Index i = 0; i < n; ++i)
                lost[i] = static_cast<std::uint8_t>(lost[i] | (here[i] & (problem.label[i] != node.label ? 1 : 0)));
            continue;
        }
        auto const lower = problem.lower(node.feature);
        auto const upper = problem.upper(node.feature);
        auto left = Array<std::uint8_t>::unwritten(n);
        auto right = Array<std::uint8_t>::unwritten(n);
        for (Index i = 0; i < n; ++i)
        {
            left[i] = static_cast<std::uint8_t>(here[i] & (lower[i] <= node.threshold ? 1 : 0));
            right[i] = static_cast<std::uint8_t>(here[i] & (upper[i] > node.threshold ? 1 : 0));
        }
        reach[static_cast<std::size_t>(node.left)] = std::move(left);
        reach[static_cast<std::size_t>(node.right)] = std::move(right);
    }
}

void saveTree(Tree const &tree, StateWriter &state)
{
    state.put(tree.size());
    state.put(tree.nodes());
}

Tree loadTree(Problem const &problem, StateReader &state)
{
    auto const most = 2 * problem.nSamples + 1;
    std::vector<TreeNode> nodes(static_cast<std::size_t>(state.getIndex(1, most)));
    state.get(Span<TreeNode>(nodes));
    auto const size = static_cast<Index>(nodes.size());
    for (Index k = 0; auto const &node : nodes)
    {
        auto const isBehind = [&](Index child) { return k < child && child < size; };
        StateReader::require(node.feature < problem.nFeatures);
        StateReader::require(node.isLeaf() ? 0 <= node.label && node.label < problem.nClasses
                                           : isBehind(node.left) && isBehind(node.right));
        ++k;
    }
    return Tree(std::move(nodes));
}
}  // namespace hardwood::search
