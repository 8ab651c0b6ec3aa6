// Maximum flow from many supplies to many demands, which gives the largest packing and the lightest cover.
//
// Vertices have amounts to send (supply) or to take (demand); arcs have no capacity of their own. Two problems are of
// this shape. The matching bound: rows of one class supply their weight, columns of the other classes demand theirs, an
// arc per conflict; a maximum flow is a maximum weighted matching of pairs and the minimum cut a vertex cover of
// minimum weight (König). Relabelling: groups of samples that want a class supply their weight, groups that do not
// demand theirs, and the leaves they share stand between them (Picard, "Maximal Closure of a Graph", 1976).
//
// The algorithm is Dinic's: breadth-first layers over arcs forward (always open) and backward (open while they carry
// flow), then a blocking flow along the layers, until no demand is reached; for unit weights this is Hopcroft & Karp
// ("An n^5/2 algorithm for maximum matchings in bipartite graphs", SIAM J. Comput. 2(4), 1973). It may start from any
// feasible flow. When nothing is reached any more the flow is maximum, and the vertices that were reached are the
// source side of the minimum cut nearest to the supplies: the same set for every maximum flow.
//
// Amounts are int64 or double. An augmentation subtracts the least of some amounts from all of them, so one of them
// becomes exactly zero: doubles need no tolerance. Sums cannot overflow: what an arc carries, and what a vertex has
// left, is at most the total supply, which the boundary requires to be below 2^62.
//
// Every augmentation is complete in itself: a run that is stopped leaves a feasible flow, whose amount is a valid lower
// bound on every cover; only the cut is not there yet.
#pragma once

#include "control.h"
#include "span.h"

namespace hardwood
{
template <class Amount>
struct Network
{
    Span<std::int32_t const> tail;  // per arc
    Span<std::int32_t const> head;
    Span<Amount> flow;    // per arc: what it carries
    Span<Amount> supply;  // per vertex: what it may still send
    Span<Amount> demand;  // per vertex: what it may still take; a vertex has one of the two at most
};

template <class Amount>
class MaximumFlow
{
    Network<Amount> net_;
    Array<Index> start_;       // arcs of v: arc_[start_[v]], ..., arc_[start_[v + 1] - 1]
    Array<std::int32_t> arc_;  // e: along arc e; ~e: against it
    Array<Index> next_;        // where the blocking flow goes on at each vertex
    Array<std::int32_t> level_;
    Array<std::int32_t> path_;  // the breadth-first queue, then the path of the blocking flow

    [[nodiscard]] bool isOpen(std::int32_t arc) const { return arc >= 0 || net_.flow[~arc] > 0; }
    [[nodiscard]] std::int32_t target(std::int32_t arc) const { return arc >= 0 ? net_.head[arc] : net_.tail[~arc]; }
    [[nodiscard]] std::int32_t origin(std::int32_t arc) const { return arc >= 0 ? net_.tail[arc] : net_.head[~arc]; }

    bool layer(Ticker &stop);
    void augmentAlongLayers(Ticker &stop, bool &stopped);
    Index findPath(std::int32_t root, Ticker &stop, bool &stopped);
    void augment(std::int32_t root, Index length);

public:
    explicit MaximumFlow(Network<Amount> net);

    // Send what fits along single arcs, vertices with few arcs first: most of a maximum flow for little time.
    void pushGreedily();

    // Grow the flow to a maximum one; false where the Control stopped it before.
    bool grow(Control &control);

    // Whether each vertex was reached when the flow became maximum: the source side of the minimum cut.
    [[nodiscard]] bool isReached(Index vertex) const { return level_[vertex] >= 0; }
};

// A packing of vertices into pairs, and which samples each vertex stands for.
struct Packing
{
    Grid<Index const> pair;
    Span<Index const> amount;
    Span<Index const> start;  // member[start[v]], ..., member[start[v + 1] - 1] are the samples of v
    Span<Index const> member;
};

// Hand a packing of vertices down to their samples, whose weights `left` are used up one after the other. Each line
// uses up a pair or a sample, so there are at most as many lines as pairs and samples; returned is their number. A
// packing that asks more of a vertex than its samples have throws std::invalid_argument.
Index handDown(Packing const &packing, Span<Index> left, Grid<Index> pair, Span<Index> amount);
}  // namespace hardwood
