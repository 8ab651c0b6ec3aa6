#include "walk/walk.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace hardwood
{
namespace
{
template <class End>
struct BoxInOpenSides
{
    Box<End> box;
    OpenSides open;

    template <class Threshold>
    [[nodiscard]] bool left(Node<Threshold> const &node, Index number) const
    {
        return open.left[number] && box.left(node, number);
    }

    template <class Threshold>
    [[nodiscard]] bool right(Node<Threshold> const &node, Index number) const
    {
        return open.right[number] && box.right(node, number);
    }
};

// On which sides of a value most samples of a group are told apart at a split, before any end is computed.
struct SplitSides
{
    double surelyLeft;   // values up to here reach left
    double neverLeft;    // values above do not
    double surelyRight;  // values above reach right
    double neverRight;   // values below do not
};

// The ends x - r and x + r are rounded, and noise moves them by less than k (|x| + r) + 8 least outwards, as in
// `LazyBox::isNear`. With d = 2 (k (|b| + 2 r) + 8 least) that is less than d for x = b + r + d, and beyond it x grows
// faster than its noise, since k < 1/2. Where x - r <= b before rounding, so it is behind it.
SplitSides sidesOf(double b, double down, double up, Rounding rounding)
{
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double unit = std::numeric_limits<double>::epsilon();
    double const k = 2e-9 + 8 * unit * rounding.relative;
    if (!(k < 0.5))
        return {-infinity, infinity, infinity, -infinity};
    auto const far = [&](double radius) { return 2 * (k * (std::abs(b) + 2 * radius) + 8 * rounding.generousLeast()); };
    auto const near = [&](double radius) { return 8 * unit * (std::abs(b) + radius); };
    return {b + down - near(down), b + down + far(down), b - up + near(up), b - up - far(up)};
}

// The sides of all splits for each group of samples.
class AllSides
{
    Array<SplitSides> sides_;
    Index nodes_;

public:
    AllSides(Span<FloatNode const> nodes, Attacked const &samples)
        : sides_(Array<SplitSides>::unwritten(nodes.size() * samples.down.rows())), nodes_(nodes.size())
    {
        for (Index group = 0; group != samples.down.rows(); ++group)
            for (Index node = 0; node != nodes_; ++node)
            {
                auto const j = std::max(nodes[node].feature, 0);
                sides_[group * nodes_ + node] =
                    sidesOf(nodes[node].threshold, samples.down(group, j), samples.up(group, j), samples.rounding[j]);
            }
    }

    [[nodiscard]] Span<SplitSides const> of(Index group) const { return sides_.view().part(group * nodes_, nodes_); }
};

// A box whose ends are computed only where a split is near.
struct QuickBox
{
    Span<SplitSides const> sides;
    Span<double const> low;
    Span<double const> high;
    LazyBox exact;

    QuickBox(AllSides const &all, Attacked const &samples, Index i)
        : sides(all.of(samples.group[i])), low(samples.low.row(i)), high(samples.high.row(i)), exact{samples, i}
    {
    }

    [[nodiscard]] bool left(FloatNode const &node, Index number) const
    {
        double const x = low[node.feature];
        if (x <= sides[number].surelyLeft)
            return true;
        return !(x > sides[number].neverLeft) && exact.left(node, number);
    }

    [[nodiscard]] bool right(FloatNode const &node, Index number) const
    {
        double const x = high[node.feature];
        if (x > sides[number].surelyRight)
            return true;
        return !(x < sides[number].neverRight) && exact.right(node, number);
    }
};

// Write which nodes each of n boxes reaches.
template <class BoxOf>
bool nodesReachedBy(Span<FloatNode const> nodes, Index n, BoxOf boxOf, Grid<bool> out, Control &control)
{
    Ticker stop(control, 1 << 18);
    for (Index i = 0; i != n; ++i)
    {
        auto const reached = out.row(i);
        auto const box = boxOf(i);
        std::fill(reached.begin(), reached.end(), false);
        reached[0] = true;
        for (Index node = 0; node != nodes.size(); ++node)
            if (reached[node] && !nodes[node].isLeaf())
            {
                reached[nodes[node].left] = box.left(nodes[node], node);
                reached[nodes[node].right] = box.right(nodes[node], node);
            }
        if (stop(nodes.size()))
            return false;
    }
    return true;
}

// The deepest node that has both of two nodes below it, or is one of them; children stand behind their parents.
Index lowestAbove(Span<Index const> parent, Index a, Index b)
{
    while (a != b)
        (a > b ? a : b) = parent[std::max(a, b)];
    return a;
}

Array<Index> parentsOf(Span<FloatNode const> nodes)
{
    Array<Index> parent(nodes.size());
    for (Index node = 0; node != nodes.size(); ++node)
        if (!nodes[node].isLeaf())
            parent[nodes[node].left] = parent[nodes[node].right] = node;
    return parent;
}
}  // namespace

bool apply(Span<FloatNode const> nodes, Grid<double const> X, Span<Index> leaf, Control &control)
{
    Ticker stop(control);
    for (Index i = 0; i != X.rows(); ++i)
    {
        auto const x = X.row(i);
        Index node = 0;
        while (!nodes[node].isLeaf())
            node = x[nodes[node].feature] <= nodes[node].threshold ? nodes[node].left : nodes[node].right;
        leaf[i] = node;
        if (stop())
            return false;
    }
    return true;
}

bool fooled(Span<FloatNode const> nodes, AttackedSamples const &samples, Span<bool> out, Control &control)
{
    Ticker stop(control);
    auto stack = Array<std::int32_t>::unwritten(nodes.size());
    for (Index i = 0; i != samples.lower.rows(); ++i)
    {
        Box<double> const box{samples.lower.row(i), samples.upper.row(i)};
        auto const label = samples.label[i];
        out[i] = visitLeaves(nodes, 0, box, stack.view(), [&](Index leaf) { return nodes[leaf].label != label; });
        if (stop())
            return false;
    }
    return true;
}

bool fooled(Span<FloatNode const> nodes, Attacked const &samples, Span<Index const> label, Span<bool> out,
            Control &control)
{
    Ticker stop(control);
    auto stack = Array<std::int32_t>::unwritten(nodes.size());
    AllSides const sides(nodes, samples);
    for (Index i = 0; i != samples.low.rows(); ++i)
    {
        auto const own = label[i];
        out[i] = visitLeaves(nodes, 0, QuickBox(sides, samples, i), stack.view(),
                             [&](Index leaf) { return nodes[leaf].label != own; });
        if (stop())
            return false;
    }
    return true;
}

bool boxEnds(Attacked const &samples, Grid<double> lower, Grid<double> upper, Control &control)
{
    Ticker stop(control, 1 << 18);
    for (Index i = 0; i != samples.low.rows(); ++i)
    {
        auto const low = samples.low.row(i), high = samples.high.row(i);
        auto const down = samples.down.row(samples.group[i]), up = samples.up.row(samples.group[i]);
        for (Index j = 0; j != samples.low.columns(); ++j)
        {
            lower(i, j) = lowerEnd(low[j], down[j], samples.rounding[j]);
            upper(i, j) = upperEnd(high[j], up[j], samples.rounding[j]);
        }
        if (stop(samples.low.columns()))
            return false;
    }
    return true;
}

bool reachedNodes(Span<FloatNode const> nodes, Grid<double const> lower, Grid<double const> upper, Grid<bool> out,
                  Control &control)
{
    auto const boxOf = [&](Index i) { return Box<double>{lower.row(i), upper.row(i)}; };
    return nodesReachedBy(nodes, lower.rows(), boxOf, out, control);
}

bool reachedNodes(Span<FloatNode const> nodes, Attacked const &samples, Grid<bool> out, Control &control)
{
    AllSides const sides(nodes, samples);
    auto const boxOf = [&](Index i) { return QuickBox(sides, samples, i); };
    return nodesReachedBy(nodes, samples.low.rows(), boxOf, out, control);
}

bool addUp(Span<FloatNode const> nodes, Attacked const &samples, Span<Index const> label, Span<double const> weight,
           NodeSums const &sums, Control &control)
{
    Ticker stop(control, 1 << 18);
    auto stack = Array<std::int32_t>::unwritten(nodes.size());
    auto const parent = parentsOf(nodes);
    AllSides const sides(nodes, samples);
    std::vector<Index> reached;
    for (Index i = 0; i != samples.low.rows(); ++i)
    {
        reached.clear();
        Index nLeaves = 0;
        Index firstWrong = -1;
        Index lastWrong = -1;
        auto const visit = [&](Index node)
        {
            reached.push_back(node);
            nLeaves += nodes[node].isLeaf() ? 1 : 0;
            if (!nodes[node].isLeaf() || nodes[node].label == label[i])
                return;
            firstWrong = firstWrong < 0 ? node : firstWrong;
            lastWrong = node;
        };
        visitNodes(nodes, QuickBox(sides, samples, i), stack.view(), visit);
        for (auto const node : reached)
        {
            ++sums.count[node];
            if (firstWrong >= 0)
                sums.lost[node] += weight[i];
            else
                sums.kept(node, label[i]) += weight[i];
            if (nLeaves == 1 && label[i] >= 0)
                sums.certain(node, label[i]) += weight[i];
        }
        if (firstWrong >= 0 && label[i] >= 0)
            sums.lostBelow(lowestAbove(parent.view(), firstWrong, lastWrong), label[i]) += weight[i];
        if (stop(static_cast<Index>(reached.size())))
            return false;
    }
    for (Index node = nodes.size() - 1; node > 0; --node)
        for (Index c = 0; c != sums.lostBelow.columns(); ++c)
            sums.lostBelow(parent[node], c) += sums.lostBelow(node, c);
    return true;
}

template <class Threshold, class End>
bool reachedLeaves(Span<Node<Threshold> const> nodes, OpenSides open, Span<Index const> leafNumber,
                   Grid<End const> lower, Grid<End const> upper, Grid<std::uint64_t> mask, Control &control)
{
    constexpr Index bits = 64;
    Ticker stop(control);
    auto stack = Array<std::int32_t>::unwritten(nodes.size());
    for (Index i = 0; i != lower.rows(); ++i)
    {
        auto const words = mask.row(i);
        std::fill(words.begin(), words.end(), std::uint64_t{0});
        BoxInOpenSides<End> const box{{lower.row(i), upper.row(i)}, open};
        visitLeaves(nodes, 0, box, stack.view(),
                    [&](Index leaf)
                    {
                        auto const number = leafNumber[leaf];
                        words[number / bits] |= std::uint64_t{1} << (number % bits);
                        return false;
                    });
        if (stop())
            return false;
    }
    return true;
}

template bool reachedLeaves(Span<Node<double> const>, OpenSides, Span<Index const>, Grid<double const>,
                            Grid<double const>, Grid<std::uint64_t>, Control &);
template bool reachedLeaves(Span<Node<Index> const>, OpenSides, Span<Index const>, Grid<std::int32_t const>,
                            Grid<std::int32_t const>, Grid<std::uint64_t>, Control &);
}  // namespace hardwood
