// Greedy growth on the impurity under attack (criteria in placement.h).
//
// Every feature has one list of 3 n events, in order: a sample's lower end, its own value and its upper end.
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
    [[nodiscard]] std::uint32_t kindAndClass() const { return code_ & 7; }
    [[nodiscard]] bool beginsRank() const { return (code_ & begins) != 0; }
    // `begins`, or 0.
    [[nodiscard]] std::uint32_t beginning() const { return code_ & begins; }
    [[nodiscard]] Event with(std::uint32_t beginning) const { return Event((code_ & ~begins) | beginning); }
    // 4 * sample + 0, 1 or 2: whose and what it is.
    [[nodiscard]] Index name() const { return 4 * sample() + kind() / 2; }
};

// Moves events one by one from a list to a part of it. Where the first event of a rank stays behind, the next one of
// that rank begins it.
class RankKeeper
{
    std::uint32_t pending_ = 0;

public:
    // Note the next event of the list; what it is in the part, if it belongs there.
    [[nodiscard]] Event next(Event event)
    {
        pending_ |= event.beginning();
        return event.with(pending_);
    }
    // Whether it did (1 or 0).
    void kept(Index isKept) { pending_ &= static_cast<std::uint32_t>(isKept) - 1; }
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
    Grid<Event> events;               // (n_features, 3 n), each row in order; reordered while the tree grows
    Span<FiniteEvents const> finite;  // per feature
    Span<Index const> label;
    Span<double const> weight;
    Index nClasses = 0;
    double robustWeight = 1.0;  // share of the movable samples that the attacker really moves
    bool whole = false;         // every weight is 1
};

// Whether every sample has its lower end, value and upper end once per feature, in this order.
bool areEventsOf(Grid<Event const> events, Span<Index const> label);

// Grow a tree. A split's index is the name of the last event before its threshold, at the node. Where the Control stops
// it, the nodes that are still open become leaves: the tree is valid, only
// smaller.
GrowingTree growOnImpurity(ImpurityProblem const &problem, Criterion criterion, GrowthLimits limits, std::uint32_t seed,
                           Control &control);
}  // namespace hardwood
