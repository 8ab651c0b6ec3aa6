#include "search/reoptimise.h"

namespace hardwood::search
{
Reoptimiser::Reoptimiser(Problem const &problem, Options const &options, Control &control)
    : problem_(problem),
      work_(problem, options, control),
      node_(work_.root(2)),
      weight_(problem.nSamples),
      isLost_(problem.nSamples)
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

// Hand the search the samples that reach the node and are not lost elsewhere.
void Reoptimiser::openAt(Tree const &tree, Index node)
{
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
    std::fill(work_.member.begin(), work_.member.end(), std::uint8_t{0});
    for (Index i = 0; i < problem_.nSamples; ++i)
        node_.setCertain(i, false);
    for (auto const [i, isCertain] : here)
    {
        weight_[i] = isLost_[i] != 0 ? 0 : problem_.weight[i];
        work_.member[i] = weight_[i] > 0 || problem_.minLeaf > 0 ? 1 : 0;
        node_.setCertain(i, isCertain);
    }
    node_.open(problem_.events.view(), 2 * problem_.nSamples);
    node_.weigh(weight_.view());
}

// Solve the subtree below the node, given the rest of the tree; whether the tree got cheaper.
bool Reoptimiser::replaceAt(Tree &tree, Index node, Weight &cost, Index effort)
{
    openAt(tree, node);
    work_.setEffort(effort);
    auto const leaf = node_.bestLeaf();
    auto best = leaf.cost;
    auto subtree = Tree::leaf(leaf.label);
    for (Index feature = 0; feature < problem_.nFeatures; ++feature)
    {
        Index next = 0;
        while (best > 0)
        {
            auto const end = node_.sweep(feature, best, next);
            if (!end.found)
                break;
            best = end.cost;
            next = end.next;
            subtree = node_.found();
        }
    }
    if (best >= problem_.forbidden)
        return false;
    auto replaced = tree.withSubtree(node, subtree);
    auto const newCost = costOf(replaced);
    if (newCost >= cost)
        return false;
    tree = std::move(replaced);
    cost = newCost;
    return true;
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

Weight Reoptimiser::descend(Tree &tree, Index depth, Index effort)
{
    auto cost = costOf(tree);
    work_.setEffort(effort);
    auto const lowest = std::max<Index>(0, depth - 2);
    for (bool improved = true; improved;)
    {
        improved = false;
        // Subtrees that fill what is left of the depth, then leaves that may be split, from the bottom up.
        for (Index level = lowest; level >= 0; --level)
        {
            auto nodes = nodesAt(tree, level);
            for (std::size_t k = 0; k < nodes.size(); ++k)
            {
                work_.setEffort(effort);
                if (work_.shouldStop())
                    return cost;
                if (level < lowest && !tree.nodes()[nodes[k]].isLeaf())
                    continue;
                if (replaceAt(tree, nodes[k], cost, effort))
                {
                    improved = true;
                    nodes = nodesAt(tree, level);  // the same ones, with other numbers
                }
            }
        }
    }
    return cost;
}
}  // namespace hardwood::search
