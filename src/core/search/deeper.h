// Depth 3 and more: the same decomposition as at depth 2, with children that are searched themselves.
//
// To settle a threshold (or a range) weights are sought under which the left child costs at least x and the right one
// at least cutoff - x: two questions of the same kind, one level down. A child search costs milliseconds to minutes, so
// weights are first moved until no pair of pooled trees (see Pool) is cheaper than the cutoff, which costs
// microseconds, and a few steps further: children that have room below the pool's prices have less to prove. Only then
// are they searched, and either the bound is proven or the pool gains a tree. What
// remains of a gap is closed by branching on samples: each must be correct, or is given up and paid for; both are the
// same problem again.
#pragma once

#include "search/node.h"
#include "search/pool.h"

namespace hardwood::search
{
class Deeper final : public Node
{
    // Once pooled trees cost the cutoff, weight is moved on for so many steps, or until they cost this part more.
    static constexpr Index stepsForRoom = 10;
    static constexpr Weight room = 50;
    // The shares of nodes on so many levels below the root are taught to beginners: there are twice as many on each,
    // and deep down nodes share their children.
    static constexpr Index levelsTaught = 3;

    // A threshold or a range of thresholds that is being settled.
    struct Range
    {
        Index feature;
        Index firstCandidate;
        Index lastCandidate;
        Rank first;
        Rank last;
        [[nodiscard]] bool isSingle() const { return firstCandidate == lastCandidate; }
    };

    // What moving weight between the pooled trees led to. Pruned holds for the pool only.
    struct Ascent
    {
        Verdict verdict;
        Weight left;  // the two prices; for a tree that was found its cost is in `left`
        Weight right;
        Index sample;  // the disputed sample of largest weight, -1: none
    };

    struct Outcome
    {
        Verdict verdict;
        Weight cost;
        Index sample;
    };

    std::array<Node *, 2> children_{};
    std::array<Pool, 2> pools_;
    std::size_t doubtful_ = 0;           // the side that was last answered with a tree
    Array<Event> events_;                // feature by feature, 2 size_ each; see `events`
    std::array<Array<Weight>, 2> side_;  // by sample: what each child charges; 0 outside the node
    Array<std::uint8_t> reach_;          // by sample; 1: left, 2: right, 3: both
    Array<Weight> handedDown_;           // scratch: the weights of a child's next question

    // A node of all samples has the events of the problem.
    [[nodiscard]] bool holdsAll() const { return size_ == problem_.nSamples; }
    [[nodiscard]] Span<Event const> events() const { return holdsAll() ? problem_.events.view() : events_.view(); }
    void fill(Span<Event const> source, Index sourceWidth) override;
    void setSides(Range const &range);
    void openChild(Index side, Range const &range);
    void weighChild(Index side);
    [[nodiscard]] bool joinPooled(Range const &range, PooledTree const &left, PooledTree const &right, Weight cutoff,
                                  Ascent &ascent, Index &nDisputed);
    void moveWeight(Index feature, PooledTree const &left, PooledTree const &right, Weight step);
    [[nodiscard]] Ascent ascend(Range const &range, Weight cutoff);
    [[nodiscard]] bool askChildren(Range const &range, Weight leftTarget, Weight rightTarget);
    [[nodiscard]] Outcome settle(Range const &range, Weight cutoff);
    [[nodiscard]] bool branchOn(Outcome const &outcome);
    void hearNews();
    void writeOutcome(Range const &range, Outcome const &outcome);

public:
    Deeper(Workspace &work, Index level, Index depth);
    [[nodiscard]] SweepEnd sweep(Index feature, Weight cutoff, Index start) override;
    [[nodiscard]] std::array<Index, 2> childNumbers() const override;
    void makeChild(Index side) override;
    void beginFrom(Node const &other) override;
    void save(StateWriter &state) const override;
    void load(StateReader &state) override;
};
}  // namespace hardwood::search
