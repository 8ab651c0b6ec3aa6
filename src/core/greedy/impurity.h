// Greedy growth on the impurity under attack (criteria in placement.h).
//
// Every feature has one list of 3 n events, in order: a sample's lower end, its own value and its upper end.
// Passing them from left to right takes the sample from *certainly right* over *right, but may go left* and *left, but
// may go right* to *certainly left*. The lists are sorted once and never change: any number of trees can grow from them
// at a time. A tree grows level by level. It knows of every sample in which of the open nodes it is; one pass over a
// list hands its events to those nodes that look at the feature, which score the thresholds between them
// (threshold_scan.h). So a level costs O(n p), and a tree needs a few bytes per sample. After a split the movable
// samples are distributed as the worst placement says, and each child grows from its share.
//
// Weights of samples are doubles; where all of them are 1 (`whole`) every sum is a whole number below 2^53 and exact.
// Samples of weight 0 take no part.
#pragma once

#include "control.h"
#include "greedy/growing.h"

namespace hardwood
{
// One end or value of a sample, in 32 bits: whose, what, and whether it begins a rank. What its rank is nobody asks:
// the list is in order, and only where one rank ends and the next begins there may be a threshold.
class Event
{
    std::uint32_t code_ = 0;  // 16 * sample + 8 * (begins a rank) + kind + (label == 1)

public:
    enum Kind : std::uint32_t
    {
        lower = 0,
        value = 2,
        upper = 4
    };
    static constexpr std::uint32_t begins = 8;
    static constexpr Index mostSamples = (Index{1} << 28) - 1;

    Event() = default;
    explicit constexpr Event(std::uint32_t code) : code_(code) {}
    constexpr Event(Index sample, std::uint32_t rest) : code_((static_cast<std::uint32_t>(sample) << 4) | rest) {}

    [[nodiscard]] Index sample() const { return code_ >> 4; }
    [[nodiscard]] Kind kind() const { return static_cast<Kind>(code_ & 6); }
    // 0, 1, 2 for the lower end, the value and the upper end.
    [[nodiscard]] Index end() const { return (code_ & 6) / 2; }
    [[nodiscard]] std::uint32_t kindAndClass() const { return code_ & 7; }
    [[nodiscard]] bool beginsRank() const { return (code_ & begins) != 0; }
    // `begins`, or 0.
    [[nodiscard]] std::uint32_t beginning() const { return code_ & begins; }
    [[nodiscard]] Event with(std::uint32_t beginning) const { return Event((code_ & ~begins) | beginning); }
};

// Which events of a feature are at finite numbers: those from `first` up to `end`.
struct FiniteEvents
{
    Index first;
    Index end;
};

enum class Criterion
{
    groot,
    chenGini,
    chenEntropy
};

struct ImpurityProblem
{
    Grid<Event const> events;         // (n_features, 3 n), each row in order
    Span<FiniteEvents const> finite;  // per feature
    Span<Index const> label;
    Span<double const> weight;
    Index nClasses = 0;
    double robustWeight = 1.0;  // share of the movable samples that the attacker really moves
    bool whole = false;         // every weight is 1, or 0
};

// Whether every sample has its lower end, value and upper end once per feature, in this order.
bool areEventsOf(Grid<Event const> events, Span<Index const> label);

// Grow a tree. A split's index is the place of the last event before its threshold in the list of its feature. Where
// the Control stops it, the nodes that are still open become leaves: the tree is valid, only smaller.
GrowingTree growOnImpurity(ImpurityProblem const &problem, Criterion criterion, GrowthLimits limits, std::uint32_t seed,
                           Control &control);
}  // namespace hardwood
