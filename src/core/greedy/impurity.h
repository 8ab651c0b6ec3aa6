// Greedy growth on the impurity under attack (criteria in placement.h).
//
// Every feature has one list of 3 n events, sorted by rank: a sample's lower end, its own value and its upper end.
// Passing them from left to right takes the sample from *certainly right* over *right, but may go left* and *left, but
// may go right* to *certainly left*. A node owns the same segment of every list; a split divides the segments stably,
// so the lists are sorted once and a level costs O(n p). After a split the movable samples are distributed as the worst
// placement says, and each child grows from its share.
//
// Weights of samples are doubles; where all of them are 1 (`whole`) every sum is a whole number below 2^53 and exact.
#pragma once

#include "control.h"
#include "greedy/growing.h"

namespace hardwood
{
// One end or value of a sample: its code and its place.
struct Event
{
    enum Kind : std::int32_t
    {
        lower = 0,
        value = 2,
        upper = 4
    };

    std::int32_t code;  // 8 * sample + kind + (label == 1)
    std::int32_t rank;

    [[nodiscard]] std::int32_t sample() const { return code >> 3; }
    [[nodiscard]] std::int32_t kind() const { return code & 6; }
    [[nodiscard]] bool isOfClass1() const { return (code & 1) != 0; }
};

enum class Criterion
{
    groot,
    chenGini,
    chenEntropy
};

struct ImpurityProblem
{
    Grid<Event> events;        // (n_features, 3 n), each row sorted by rank; reordered while the tree grows
    Span<Index const> nRanks;  // finite ranks per feature; -1 and nRanks stand for the infinities
    Span<Index const> label;
    Span<double const> weight;
    Index nClasses = 0;
    double robustWeight = 1.0;  // share of the movable samples that the attacker really moves
    bool whole = false;         // every weight is 1
};

// Whether every sample has its lower end, value and upper end once per feature, in this order and in order of ranks.
bool areEventsOf(Grid<Event const> events, Span<Index const> label);

// Grow a tree. Where the Control stops it, the nodes that are still open become leaves: the tree is valid, only
// smaller.
GrowingTree growOnImpurity(ImpurityProblem const &problem, Criterion criterion, GrowthLimits limits, std::uint32_t seed,
                           Control &control);
}  // namespace hardwood
