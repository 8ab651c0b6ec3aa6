// The core's one definition of reach, and the one way to walk a box through a tree.
//
// A point goes left iff x <= b. So a box, of which the attacker may take any point, **reaches left iff lower <= b and
// right iff upper > b**; it can reach both. The same two comparisons serve numbers and ranks: the rank of an end is the
// place of its cluster among all ends of the feature, and threshold index t separates clusters 0..t from the rest. What
// Python compares elsewhere (hardwood.tree.reach) is tested against this.
#pragma once

#include "span.h"

namespace hardwood
{
template <class End, class Threshold>
[[nodiscard]] constexpr bool reachesLeft(End lower, Threshold b)
{
    return lower <= b;
}

template <class End, class Threshold>
[[nodiscard]] constexpr bool reachesRight(End upper, Threshold b)
{
    return upper > b;
}

// Two intervals meet iff neither begins after the other has ended; touching counts, since no threshold b can have
// upper <= b < lower of the other between them.
template <class End>
[[nodiscard]] constexpr bool intervalsMeet(End lower, End upper, End otherLower, End otherUpper)
{
    return lower <= otherUpper && otherLower <= upper;
}

// A split, or a leaf where `left` is -1. Everything a walk needs of a node lies together.
template <class Threshold>
struct Node
{
    Threshold threshold;
    std::int32_t feature;
    std::int32_t left;
    std::int32_t right;
    std::int32_t label;  // class index of a leaf

    [[nodiscard]] bool isLeaf() const { return left < 0; }
};

using FloatNode = Node<double>;

// A box given by two rows of numbers or ranks.
template <class End>
struct Box
{
    Span<End const> lower;
    Span<End const> upper;

    template <class Threshold>
    [[nodiscard]] bool left(Node<Threshold> const &node, Index) const
    {
        return reachesLeft(lower[node.feature], node.threshold);
    }

    template <class Threshold>
    [[nodiscard]] bool right(Node<Threshold> const &node, Index) const
    {
        return reachesRight(upper[node.feature], node.threshold);
    }
};

// Visit the leaves that a box reaches, from `root` on, left to right, until `visit(leaf)` says to stop; return whether
// it did. `stack` has room for a node per level and one more; `Box` says whether it goes left and right at a node.
template <class Threshold, class Box, class Visit>
bool visitLeaves(Span<Node<Threshold> const> nodes, Index root, Box const &box, Span<std::int32_t> stack, Visit visit)
{
    Index size = 0;
    auto node = static_cast<std::int32_t>(root);
    while (true)
    {
        // Descend along a single path; the stack is touched only where the box reaches both sides.
        while (!nodes[node].isLeaf())
        {
            Node<Threshold> const &here = nodes[node];
            if (box.left(here, node))
            {
                if (box.right(here, node))
                    stack[size++] = here.right;
                node = here.left;
            }
            else  // A box reaches at least one side; what is not a number goes right, as points do.
                node = here.right;
        }
        if (visit(node))
            return true;
        if (size == 0)
            return false;
        node = stack[--size];
    }
}

// Visit all nodes that a box reaches, parents before their children, left before right. `stack` as in `visitLeaves`.
template <class Threshold, class Box, class Visit>
void visitNodes(Span<Node<Threshold> const> nodes, Box const &box, Span<std::int32_t> stack, Visit visit)
{
    Index size = 0;
    std::int32_t node = 0;
    while (true)
    {
        visit(node);
        auto const &here = nodes[node];
        if (here.isLeaf())
        {
            if (size == 0)
                return;
            node = stack[--size];
        }
        else if (!box.left(here, node))
            node = here.right;
        else
        {
            if (box.right(here, node))
                stack[size++] = here.right;
            node = here.left;
        }
    }
}
}  // namespace hardwood
