#include "search/reoptimise.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace hardwood::search
{
Reoptimiser::Reoptimiser(Problem const &problem, Options const &options, Control &control)
    : problem_(problem), work_(problem, options, control), weight_(problem.nSamples), isLost_(problem.nSamples)
{
    work_.askCaller();
}

// Call `visit(node, arrivals)` for every node, parents first; where it returns false, the subtree is not entered.
template <class Visit>
void Reoptimiser::walk(Tree const &tree, Visit visit) const
{
    auto const nodes = tree.nodes();
    std::vector<std::pair<Index, Arrivals>> waiting(1);
    waiting[0].first = 0;
    waiting[0].second.reserve(static_cast<std::size_t>(problem_.nSamples));
    for (Index i = 0; i < problem_.nSamples; ++i)
        waiting[0].second.push_back({static_cast<Sample>(i), true});
    while (!waiting.empty())
    {
        auto const [h, arrivals] = std::move(waiting.back());
        waiting.pop_back();
        if (!visit(h, arrivals) || nodes[h].isLeaf())
            continue;
        auto const lower = problem_.lower(nodes[h].feature);
        auto const upper = problem_.upper(nodes[h].feature);
        Arrivals left;
        Arrivals right;
        for (auto const [i, isCertain] : arrivals)
        {
            auto const toLeft = lower[i] <= nodes[h].threshold;
            auto const toRight = upper[i] > nodes[h].threshold;
            if (toLeft)
                left.push_back({i, isCertain && !toRight});
            if (toRight)
                right.push_back({i, isCertain && !toLeft});
        }
        waiting.emplace_back(nodes[h].right, std::move(right));
        waiting.emplace_back(nodes[h].left, std::move(left));
    }
}

Weight Reoptimiser::costOf(Tree const &tree)
{
    if (problem_.minLeaf == 0)
    {
        markLost(problem_, tree, isLost_.view());
        Weight cost = problem_.penalty * tree.nLeaves();
        for (Index i = 0; i < problem_.nSamples; ++i)
            cost += isLost_[i] != 0 ? problem_.weight[i] : 0;
        return cost;
    }
    std::fill(isLost_.begin(), isLost_.end(), std::uint8_t{0});
    auto const nodes = tree.nodes();
    bool isAllowed = true;
    walk(tree,
         [&](Index h, Arrivals const &arrivals)
         {
             if (!nodes[h].isLeaf())
                 return true;
             Index certain = 0;
             for (auto const [i, isCertain] : arrivals)
             {
                 certain += isCertain ? problem_.count[i] : 0;
                 if (problem_.label[i] != nodes[h].label)
                     isLost_[i] = 1;
             }
             isAllowed = isAllowed && (certain >= problem_.minLeaf || nodes.size() == 1);
             return true;
         });
    if (!isAllowed)
        return problem_.forbidden;
    Weight cost = problem_.penalty * tree.nLeaves();
    for (Index i = 0; i < problem_.nSamples; ++i)
        cost += isLost_[i] != 0 ? problem_.weight[i] : 0;
    return cost;
}

// What the samples that reach the node and are not lost elsewhere weigh, 0 for all others, into `weight_`. Who reaches
// it, where leaves have a least size.
Reoptimiser::Arrivals Reoptimiser::weighAt(Tree const &tree, Index node)
{
    if (problem_.minLeaf == 0)
    {
        auto const reaches = work_.member.view();
        markLost(problem_, tree, isLost_.view(), node, reaches);
        for (Index i = 0; i < problem_.nSamples; ++i)
            weight_[i] = reaches[i] != 0 && isLost_[i] == 0 ? problem_.weight[i] : 0;
        return {};
    }
    std::fill(isLost_.begin(), isLost_.end(), std::uint8_t{0});
    auto const nodes = tree.nodes();
    Arrivals here;
    walk(tree,
         [&](Index h, Arrivals const &arrivals)
         {
             if (h == node)
             {
                 here = arrivals;
                 return false;
             }
             if (nodes[h].isLeaf())
                 for (auto const [i, isCertain] : arrivals)
                     if (problem_.label[i] != nodes[h].label)
                         isLost_[i] = 1;
             return true;
         });
    std::fill(weight_.begin(), weight_.end(), Weight{0});
    for (auto const [i, isCertain] : here)
        weight_[i] = isLost_[i] != 0 ? 0 : problem_.weight[i];
    return here;
}

// Hand the search the samples that reach the node and are not lost elsewhere, after `weighAt`.
void Reoptimiser::openAt(Arrivals const &here, Node &search)
{
    for (Index i = 0; i < problem_.nSamples; ++i)
    {
        work_.member[i] = weight_[i] > 0 ? 1 : 0;
        search.setCertain(i, false);
    }
    for (auto const [i, isCertain] : here)
    {
        work_.member[i] = weight_[i] > 0 || problem_.minLeaf > 0 ? 1 : 0;
        search.setCertain(i, isCertain);
    }
    search.open(problem_.events.view(), 2 * problem_.nSamples);
    search.weigh(weight_.view());
}

// Find the best split of the node for the two subtrees that it has, on one feature or on any (-1); whether the tree got
// cheaper. Along the thresholds of a feature a sample goes from the right subtree to both, from its lower end on, and
// then, from its upper end on, to the left one.
bool Reoptimiser::resplitAt(Tree &tree, Index node, Weight &cost, Index onlyFeature)
{
    static_cast<void>(weighAt(tree, node));
    auto const left = tree.subtreeAt(tree.nodes()[node].left);
    auto const right = tree.subtreeAt(tree.nodes()[node].right);
    Array<std::uint8_t> lostLeft(problem_.nSamples);
    Array<std::uint8_t> lostRight(problem_.nSamples);
    markLost(problem_, left, lostLeft.view());
    markLost(problem_, right, lostRight.view());
    Weight allRight = 0;
    for (Index i = 0; i < problem_.nSamples; ++i)
        allRight += lostRight[i] != 0 ? weight_[i] : 0;
    auto least = everything;
    Index feature = -1;
    Rank threshold = 0;
    auto const first = std::max<Index>(0, onlyFeature);
    auto const end = onlyFeature < 0 ? problem_.nFeatures : onlyFeature + 1;
    for (Index j = first; j < end && !work_.shouldStop(); ++j)
    {
        work_.lookedAt(2 * problem_.nSamples);
        auto const lower = problem_.lower(j);
        auto const upper = problem_.upper(j);
        change_.assign(static_cast<std::size_t>(problem_.nRanks[j] + 2), 0);
        ends_.assign(change_.size(), 0);
        auto const change = Span<Weight>(change_);
        auto const ends = Span<std::uint8_t>(ends_);
        for (Index i = 0; i < problem_.nSamples; ++i)
        {
            ends[Index{lower[i]} + 1] |= 1;
            ends[Index{upper[i]} + 1] |= 2;
            if (lostLeft[i] == lostRight[i])
                continue;
            // Ranks go from -1 (minus infinity) to nRanks (infinity).
            if (lostLeft[i] != 0)
                change[Index{lower[i]} + 1] += weight_[i];
            else
                change[Index{upper[i]} + 1] -= weight_[i];
        }
        // Only a threshold behind an upper and before a lower end is undominated (see node.h).
        auto lost = allRight + change[0];
        Rank last = -1;  // the last upper end, if no lower one has come since
        Weight lostThere = 0;
        for (Index rank = 0; rank <= problem_.nRanks[j]; ++rank)
        {
            if ((ends[rank + 1] & 1) != 0 || rank == problem_.nRanks[j])
            {
                if (last >= 0 && lostThere < least && last + 1 < problem_.nRanks[j])
                    std::tie(least, feature, threshold) = std::tuple(lostThere, j, last);
                last = -1;
            }
            lost += change[rank + 1];
            if ((ends[rank + 1] & 2) != 0)
                std::tie(last, lostThere) = std::pair(static_cast<Rank>(rank), lost);
        }
    }
    if (feature < 0)
        return false;
    return takeIfCheaper(tree, tree.withSubtree(node, Tree::join(feature, threshold, left, right)), cost);
}

Weight Reoptimiser::polish(Tree &tree)
{
    auto cost = costOf(tree);
    for (bool isBetter = true; isBetter;)
    {
        isBetter = false;
        for (auto node = tree.size() - 1; node >= 0; --node)
            if (auto const feature = tree.nodes()[node].feature; feature >= 0 && !work_.shouldStop())
                isBetter = resplitAt(tree, node, cost, feature) || isBetter;
    }
    return cost;
}

bool Reoptimiser::takeIfCheaper(Tree &tree, Tree replaced, Weight &cost)
{
    auto const newCost = costOf(replaced);
    if (newCost >= cost)
        return false;
    tree = std::move(replaced);
    cost = newCost;
    return true;
}

// What the subtree below the node costs of the tree's cost, after `weighAt`: the rest is lost elsewhere.
Weight Reoptimiser::costAt(Tree const &tree, Index node, Weight cost) const
{
    if (cost >= problem_.forbidden)
        return problem_.forbidden;
    auto rest = problem_.penalty * (tree.nLeaves() - tree.subtreeAt(node).nLeaves());
    for (Index i = 0; i < problem_.nSamples; ++i)
        rest += isLost_[i] != 0 ? problem_.weight[i] : 0;
    return cost - rest;
}

// Solve the subtree below the node, given the rest of the tree; whether the tree got cheaper. What was solved before is
// remembered: of a tree that changed in one place the other subtrees are asked for again, and all of them at the end.
bool Reoptimiser::replaceAt(Tree &tree, Index node, Weight &cost, Index reach, Index effort)
{
    auto const here = weighAt(tree, node);
    auto const present = costAt(tree, node, cost);
    auto const key = keyOfWeights(reach);
    auto const known = solved_.find(key);
    auto const isKnown = remembers() && known != solved_.end() && present <= known->second.below;
    if (!isKnown)
    {
        auto const best = solveAt(here, reach, effort, present);
        if (work_.shouldStop() || !remembers())
            return best && takeIfCheaper(tree, tree.withSubtree(node, *best), cost);
        if (solved_.size() >= mostSolved)
            solved_.clear();
        solved_[key] = {present, best};
    }
    auto const &best = solved_[key].best;
    return best && takeIfCheaper(tree, tree.withSubtree(node, *best), cost);
}

// The best subtree for the weights that were taken, if it costs less than the cutoff.
std::optional<Tree> Reoptimiser::solveAt(Arrivals const &here, Index reach, Index effort, Weight cutoff)
{
    auto *&search = node_[static_cast<std::size_t>(reach)];
    if (search == nullptr)
        search = &work_.root(reach);
    openAt(here, *search);
    work_.setEffort(effort);
    return search->solve(cutoff, false) < cutoff ? std::optional(search->best()) : std::nullopt;
}

// A number for the weights that were taken and the reach; two that are alike by chance cost a better tree, nothing
// else.
std::uint64_t Reoptimiser::keyOfWeights(Index reach) const
{
    auto key = static_cast<std::uint64_t>(reach);
    for (Index i = 0; i < problem_.nSamples; ++i)
    {
        key ^= static_cast<std::uint64_t>(weight_[i]) + (static_cast<std::uint64_t>(i) << 32);
        key *= 0x9E3779B97F4A7C15U;
        key ^= key >> 29;
    }
    return key;
}

std::vector<Index> Reoptimiser::nodesAt(Tree const &tree, Index level)
{
    auto const nodes = tree.nodes();
    std::vector<Index> levels(static_cast<std::size_t>(nodes.size()));
    std::vector<Index> found;
    for (Index h = 0; h < nodes.size(); ++h)
    {
        auto const own = levels[static_cast<std::size_t>(h)];
        if (own == level)
            found.push_back(h);
        if (nodes[h].isLeaf())
            continue;
        levels[static_cast<std::size_t>(nodes[h].left)] = own + 1;
        levels[static_cast<std::size_t>(nodes[h].right)] = own + 1;
    }
    return found;
}

// One round over the tree: subtrees that fill what is left of the depth, then splits above and leaves that may be
// split, from the bottom up. Whether anything got cheaper.
bool Reoptimiser::improve(Tree &tree, Weight &cost, Index depth, Index reach, Index effort)
{
    auto const before = cost;
    auto const lowest = std::max<Index>(0, depth - reach);
    for (Index level = lowest; level >= 0; --level)
    {
        auto nodes = nodesAt(tree, level);
        for (std::size_t k = 0; k < nodes.size(); ++k)
        {
            work_.setEffort(effort);
            if (work_.shouldStop())
                return false;
            auto const keepsSubtrees = level < lowest && !tree.nodes()[nodes[k]].isLeaf();
            if (keepsSubtrees && !work_.options.useResplit)
                continue;
            if (keepsSubtrees ? resplitAt(tree, nodes[k], cost, -1) : replaceAt(tree, nodes[k], cost, reach, effort))
                nodes = nodesAt(tree, level);  // the same ones, with other numbers
        }
    }
    return cost < before;
}

Weight Reoptimiser::descend(Tree &tree, Index depth, Index reach, Index effort)
{
    auto cost = costOf(tree);
    for (Index step = 2; step <= std::min(reach, std::max<Index>(2, depth - 1));)
        step = improve(tree, cost, depth, step, effort) ? 2 : step + 1;
    return cost;
}

std::optional<Tree> shifted(Problem const &problem, Tree const &tree, Index node, double share)
{
    auto const [feature, threshold, label, leftChild, rightChild] = tree.nodes()[node];
    Array<std::uint8_t> isLost(problem.nSamples);
    Array<std::uint8_t> reaches(problem.nSamples);
    markLost(problem, tree, isLost.view(), node, reaches.view());
    auto const upper = problem.upper(feature);
    std::vector<Rank> ends;  // a box goes to the left alone from its upper end on
    Index nLeft = 0;
    for (Index i = 0; i < problem.nSamples; ++i)
        if (reaches[i] != 0)
        {
            ends.push_back(upper[i]);
            nLeft += upper[i] <= threshold ? 1 : 0;
        }
    auto const size = static_cast<Index>(ends.size());
    auto const last = nLeft + static_cast<Index>(std::llround(share * static_cast<double>(size))) - 1;
    if (last < 0 || last + 1 >= size)
        return std::nullopt;
    auto const place = ends.begin() + static_cast<std::ptrdiff_t>(last);
    std::nth_element(ends.begin(), place, ends.end());
    if (*place == threshold || *place < 0 || *place + 1 >= problem.nRanks[feature])
        return std::nullopt;
    return tree.withSubtree(node, Tree::join(feature, *place, tree.subtreeAt(leftChild), tree.subtreeAt(rightChild)));
}
}  // namespace hardwood::search
