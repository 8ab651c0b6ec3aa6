// Good trees early: exact re-optimisation of subtrees.
//
// Fix a tree except for the subtree below one node. Samples that reach a wrong leaf elsewhere are lost whatever the
// subtree does, so they have weight 0 in it; the best subtree of depth at most 2 (or 3, which takes long) for the
// others is found exactly, or as far as a budget goes: only what is cheaper than the present one is looked for. A split
// above such subtrees is replaced by the best one for the two subtrees that it has, in one pass over the ends of each
// feature. Doing this for one node after the other never makes the tree worse; it is repeated until nothing improves.
#pragma once

#include <optional>
#include <unordered_map>

#include "search/node.h"

namespace hardwood::search
{
class Reoptimiser
{
public:
    static constexpr Index deepestStep = 3;

private:
    // Who reaches a node, and whether it reaches no other one of its level.
    struct Arrival
    {
        Sample sample;
        bool isCertain;
    };
    using Arrivals = std::vector<Arrival>;

    Problem const &problem_;
    Workspace work_;
    std::array<Node *, deepestStep + 1> node_{};  // by depth
    Array<Weight> weight_;
    Array<std::uint8_t> isLost_;
    // What came of a question: the best subtree, if there is one that costs less.
    struct Solved
    {
        Weight below;
        std::optional<Tree> best;
    };
    static constexpr std::size_t mostSolved = 20'000;
    std::unordered_map<std::uint64_t, Solved> solved_;  // by key of the weights and the reach
    std::vector<Weight> change_;                        // scratch: what more is lost from each threshold on
    std::vector<std::uint8_t> ends_;  // scratch: whether the rank is a lower end (1), an upper one (2)

    template <class Visit>
    void walk(Tree const &tree, Visit visit) const;
    [[nodiscard]] static std::vector<Index> nodesAt(Tree const &tree, Index level);
    [[nodiscard]] Arrivals weighAt(Tree const &tree, Index node);
    void openAt(Arrivals const &here, Node &search);
    [[nodiscard]] bool resplitAt(Tree &tree, Index node, Weight &cost, Index onlyFeature);
    [[nodiscard]] bool takeIfCheaper(Tree &tree, Tree replaced, Weight &cost);
    [[nodiscard]] Weight costAt(Tree const &tree, Index node, Weight cost) const;
    [[nodiscard]] std::uint64_t keyOfWeights(Index reach) const;
    [[nodiscard]] std::optional<Tree> solveAt(Arrivals const &here, Index reach, Index effort, Weight cutoff);
    // With a least size of leaves it also matters who is certain.
    [[nodiscard]] bool remembers() const { return problem_.minLeaf == 0 && work_.options.useSolved; }
    [[nodiscard]] bool replaceAt(Tree &tree, Index node, Weight &cost, Index reach, Index effort);
    [[nodiscard]] bool improve(Tree &tree, Weight &cost, Index depth, Index reach, Index effort);

public:
    Reoptimiser(Problem const &problem, Options const &options, Control &control);

    // Cost of a tree; `forbidden` if a leaf is too small.
    [[nodiscard]] Weight costOf(Tree const &tree);

    // Improve the tree of at most `depth` splits on a path until nothing improves or the search must stop; each
    // re-optimisation may scan so many samples. Subtrees have at most `reach` levels of splits. Returns the cost.
    Weight descend(Tree &tree, Index depth, Index reach, Index effort);

    // Move one threshold after the other to where it is best, until nothing improves or the search must stop: on large
    // tables, where a re-optimisation takes long, a step takes a few passes over the samples. Returns the cost.
    Weight polish(Tree &tree);

    // Samples scanned so far: a clock that does not depend on the machine.
    [[nodiscard]] Index effort() const { return work_.scans() * problem_.nSamples; }

    // The same as a proof counts them: only those at the node, and blocks where these are looked at instead.
    [[nodiscard]] Index nScanned() const { return work_.nScanned(); }
};

// The same tree with the threshold of a split moved along its feature, past this share of the samples that reach it, to
// the right or, if negative, to the left; none where there are not so many, or these have equal values.
[[nodiscard]] std::optional<Tree> shifted(Problem const &problem, Tree const &tree, Index node, double share);
}  // namespace hardwood::search
