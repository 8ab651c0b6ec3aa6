// Pool: trees that earlier searches of a child answered with.
//
// A pooled tree is known by the samples it loses, so its price under any weights is one sum over them. The pool is a
// heuristic for the weights only: no bound rests on it.
#pragma once

#include <vector>

#include "search/tree.h"

namespace hardwood::search
{
struct PooledTree
{
    Tree tree;
    Index nLeaves = 0;
    Array<std::uint8_t> isLost;  // one byte per sample
    std::vector<Sample> lost;    // the same as a list
    Index lastUsed = 0;
};

class Pool
{
    static constexpr std::size_t capacity = 32;
    static constexpr std::size_t capacityOfLarge = 8;  // a tree takes several bytes per sample
    std::vector<PooledTree> trees_;

    [[nodiscard]] Index newest() const
    {
        Index newest = 0;
        for (auto const &pooled : trees_)
            newest = std::max(newest, pooled.lastUsed);
        return newest;
    }

    // A free place, or that of the tree that was not used for the longest time.
    PooledTree &place(Problem const &problem)
    {
        if (trees_.size() < (problem.isLarge() ? capacityOfLarge : capacity))
            return trees_.emplace_back();
        return *std::min_element(trees_.begin(), trees_.end(),
                                 [](auto const &a, auto const &b) { return a.lastUsed < b.lastUsed; });
    }

public:
    void clear() { trees_.clear(); }

    void add(Problem const &problem, Tree const &tree)
    {
        auto const now = newest() + 1;
        auto &pooled = place(problem);
        pooled.tree = tree;
        pooled.nLeaves = tree.nLeaves();
        pooled.lastUsed = now;
        if (pooled.isLost.empty())
            pooled.isLost = Array<std::uint8_t>(problem.nSamples);
        markLost(problem, tree, pooled.isLost.view());
        pooled.lost.clear();
        for (Index i = 0; i < problem.nSamples; ++i)
            if (pooled.isLost[i] != 0)
                pooled.lost.push_back(static_cast<Sample>(i));
    }

    void save(StateWriter &state) const
    {
        state.put(static_cast<Index>(trees_.size()));
        for (auto const &pooled : trees_)
            saveTree(pooled.tree, state);
    }

    void load(Problem const &problem, StateReader &state)
    {
        clear();
        for (auto n = state.getIndex(0, static_cast<Index>(capacity)); n > 0; --n)
            add(problem, loadTree(problem, state));
    }

    // The cheapest tree under the weights (0 for samples that are not there) and its price; null and `forbidden` where
    // none is cheaper than that.
    struct Priced
    {
        PooledTree *tree;
        Weight price;
    };
    [[nodiscard]] Priced cheapest(Problem const &problem, Span<Weight const> weight)
    {
        Priced best{nullptr, problem.forbidden};
        for (auto &pooled : trees_)
        {
            Weight price = problem.penalty * pooled.nLeaves;
            for (auto const i : pooled.lost)
                price += weight[i];
            if (price < best.price)
                best = {&pooled, price};
        }
        if (best.tree != nullptr)
            best.tree->lastUsed = newest() + 1;
        return best;
    }
};
}  // namespace hardwood::search
