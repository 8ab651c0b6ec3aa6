// How a node finds the best threshold of a feature: its events come in order, in blocks, and a scorer looks at the
// thresholds between them.
//
// A scorer has a lane for every node that looks at the feature. `carriedOf` says in eight bits what it wants to know of
// a sample, `carried` what of an event.
#pragma once

#include <limits>
#include <vector>

#include "greedy/impurity.h"
#include "greedy/placement.h"

namespace hardwood
{
struct Candidate
{
    double score = std::numeric_limits<double>::infinity();
    Index feature = -1;
    Index place = -1;  // of the last event before the threshold, in the list of the feature
};

// Which thresholds of a feature a node may take, by places in the list: by the splits above it the last event before a
// threshold is one from `begin` up to `end`, and the next one stands before `finiteEnd`.
struct Window
{
    Index begin;
    Index end;
    Index finiteEnd;
};

// An event of a node, and its place in the list. It begins a rank if no earlier event of the node has its rank.
struct Passed
{
    Event event;
    std::uint32_t place;
};

constexpr Index longestBlock = 64;

// A block of a node's events and the last place before it; there is a threshold before an event that begins a rank.
struct Block
{
    Span<Passed const> events;
    Index previous;  // -1 if this is the first block
    Window window;

    // Call `take(place)` for every threshold, with the place behind which it stands, and `pass(event)` for every event,
    // in their order.
    template <class Take, class Pass>
    void each(Take take, Pass pass) const
    {
        Index before = previous;
        for (Passed const &passed : events)
        {
            if (passed.event.beginsRank() && before >= window.begin && before < window.end &&
                passed.place < window.finiteEnd)
                take(before);
            pass(passed.event);
            before = passed.place;
        }
    }

    // Whether there may be a threshold.
    [[nodiscard]] bool isInside() const
    {
        return events[events.size() - 1].place > window.begin && previous < window.end &&
               events[0].place < window.finiteEnd;
    }
};

// As std::min and std::max, which return references and so keep compilers from working on several numbers at once.
constexpr double lesser(double a, double b)
{
    return a < b ? a : b;
}

constexpr double greater(double a, double b)
{
    return a > b ? a : b;
}

// The nearest to `stands` between low and high, or midway where low > high, as in `Groot::place`; it rises with all
// three.
constexpr double nearestShare(double stands, double low, double high)
{
    return 0.5 * (lesser(greater(stands, low), high) + greater(lesser(stands, high), low));
}

// Half the weighted impurity of a split of two classes: weights a0 and a1 on the left, the others on the right.
// Concave, with slopes between -1 and 1 in both: g(a0, a1) = a0 a1 / (a0 + a1) has the slopes (a1 / (a0 + a1))^2 and
// (a0 / (a0 + a1))^2, and the right side is g of what is left over. A side without samples costs nothing.
constexpr double halfImpurity(double a0, double a1, double total0, double total1)
{
    constexpr double tiny = 1e-300;
    double const b0 = total0 - a0, b1 = total1 - a1;
    return a0 * a1 / greater(a0 + a1, tiny) + b0 * b1 / greater(b0 + b1, tiny);
}

// How much weight of each kind and class was passed, at the number 0..7 that ends an event's code.
using EventWeights = std::array<double, 8>;

// Groot's scan for two classes whose samples have small whole weights. The general scan spends its time on looking up
// samples; here an event carries its class and weight, and the totals, which no threshold changes, are divided by once.
//
// From what was passed before a block and behind it follows a bound on all its scores; only where that is not above the
// best score so far, its thresholds are collected and scored: a loop without a branch, which works on several of them
// at once. The bound: of class c, at least l and at most r can be on the left at any threshold of the block, where l
// were surely left behind the block, and r could be before it. Where l <= r the attacker may choose; where l > r some
// weight between r and l is possible at each threshold. So the attacker can force the least, over those intervals, of
// the most that his choices give, and since the impurity is concave the least stands in a corner. Where placements are
// rounded (`rounds`: every weight is 1), Groot's is the worst one but for half a sample of each class, and slopes are
// at most 1:
//
//     score >= bound - 1.
template <bool rounds>
class TwoClassScorer
{
    static constexpr auto most = static_cast<std::size_t>(longestBlock);
    // How far a score may be below its bound: what placements round, and, in proportion, what arithmetic does.
    static constexpr double rounding = rounds ? 1.0 + 1e-6 : 0.0, slack = 1e-13;

    struct Lane
    {
        double total0, total1, toBeat;
        Window window;
        EventWeights passed{};
        Index previous = -1;
        Candidate best{};  // scored by half the weighted impurity
    };

    std::vector<Lane> lanes_;
    // Of each threshold and class: certainly left, left as it stands, not certainly right; and its place and score.
    // Zero at first: the last ones may be fewer, and are scored all the same.
    std::array<double, most> left0_{}, stands0_{}, reach0_{}, left1_{}, stands1_{}, reach1_{}, score_{};
    std::array<Index, most> place_{};

    static double rounded(double moved) { return rounds ? roundHalfEven(moved) : moved; }

    void scoreFirst(std::size_t size, double total0, double total1)
    {
        double const inverse0 = 1.0 / total0, inverse1 = 1.0 / total1;
        double const inverseSquares = 1.0 / (total0 * total0 + total1 * total1);
        for (std::size_t k = 0; k < size; ++k)
        {
            double const low = greater(left0_[k] * inverse0, left1_[k] * inverse1);
            double const high = lesser(reach0_[k] * inverse0, reach1_[k] * inverse1);
            double const stands = (total0 * stands0_[k] + total1 * stands1_[k]) * inverseSquares;
            double const share = nearestShare(stands, low, high);
            // What moves is rounded, as there, and not what is on the left: halves go to the even number.
            double const moved0 = rounded(share * total0 - left0_[k]);
            double const moved1 = rounded(share * total1 - left1_[k]);
            double const a0 = lesser(greater(moved0 + left0_[k], left0_[k]), reach0_[k]);
            double const a1 = lesser(greater(moved1 + left1_[k], left1_[k]), reach1_[k]);
            score_[k] = halfImpurity(a0, a1, total0, total1);
        }
    }

    // What every score is at least, but for `rounding`, between two places of the scan.
    [[nodiscard]] static double boundBetween(Lane const &lane, EventWeights const &behind)
    {
        double const left0 = behind[Event::upper], reach0 = lane.passed[Event::lower];
        double const left1 = behind[Event::upper + 1], reach1 = lane.passed[Event::lower + 1];
        double const total0 = lane.total0, total1 = lane.total1;
        if (left0 <= reach0 && left1 <= reach1)
        {
            double const low = greater(left0 / total0, left1 / total1);
            double const high = lesser(reach0 / total0, reach1 / total1);
            double const share = 0.5 * (low + high);  // where low <= high any share is as bad
            return halfImpurity(lesser(greater(share * total0, left0), reach0),
                                lesser(greater(share * total1, left1), reach1), total0, total1);
        }
        // Who may choose takes the middle: one of his choices.
        auto const corners = [](double left, double reach) {
            return left <= reach ? std::array{0.5 * (left + reach), 0.5 * (left + reach)} : std::array{reach, left};
        };
        double least = std::numeric_limits<double>::infinity();
        for (double const a0 : corners(left0, reach0))
            for (double const a1 : corners(left1, reach1))
                least = lesser(least, halfImpurity(a0, a1, total0, total1));
        return least;
    }

    // The weights that were passed behind a block.
    static EventWeights behindBlock(EventWeights passed, Span<Passed const> events)
    {
        // Four numbers of 16 bits each: 64 weights below 256 fit. Upper ends have the second four.
        std::uint64_t lowerAndValue = 0, upper = 0;
        for (Passed const &one : events)
        {
            auto const code = one.event.kindAndClass();
            auto const weight = static_cast<std::uint64_t>(one.event.sample()) << (16 * (code & 3));
            auto const isUpper = -static_cast<std::uint64_t>(code >> 2);
            upper += weight & isUpper;
            lowerAndValue += weight & ~isUpper;
        }
        for (std::size_t code = 0; code != 4; ++code)
        {
            passed[code] += static_cast<double>(lowerAndValue >> (16 * code) & 0xFFFF);
            passed[code + 4] += static_cast<double>(upper >> (16 * code) & 0xFFFF);
        }
        return passed;
    }

    void scoreThresholds(Lane &lane, Block const &block)
    {
        auto passed = lane.passed;
        std::size_t size = 0;
        block.each(
            [&](Index place)
            {
                left0_[size] = passed[Event::upper];
                left1_[size] = passed[Event::upper + 1];
                stands0_[size] = passed[Event::value];
                stands1_[size] = passed[Event::value + 1];
                reach0_[size] = passed[Event::lower];
                reach1_[size] = passed[Event::lower + 1];
                place_[size++] = place;
            },
            [&](Event event) { passed[event.kindAndClass()] += static_cast<double>(event.sample()); });
        scoreFirst(size, lane.total0, lane.total1);
        for (std::size_t k = 0; k != size; ++k)
            if (score_[k] < lane.best.score)
                lane.best = {score_[k], -1, place_[k]};
    }

public:
    static constexpr std::uint32_t largestWeight = 255;

    explicit TwoClassScorer(ImpurityProblem const &) {}

    static std::uint32_t carriedOf(Index, double weight) { return static_cast<std::uint32_t>(weight); }
    static Event carried(Event event, std::uint32_t ofSample) { return Event(ofSample, event.kindAndClass()); }

    void clear() { lanes_.clear(); }
    // A lane for a node with these totals that asks for scores below a known one.
    void add(ClassWeights<2> const &totals, Window window, double known)
    {
        lanes_.push_back({totals[0], totals[1], 0.5 * known * (totals[0] + totals[1]), window});
    }

    void pass(Index number, Span<Passed const> events)
    {
        Lane &lane = lanes_[static_cast<std::size_t>(number)];
        auto const behind = behindBlock(lane.passed, events);
        Block const block{events, lane.previous, lane.window};
        if (block.isInside() &&
            boundBetween(lane, behind) - rounding <= lesser(lane.toBeat, lane.best.score) * (1.0 + slack))
            scoreThresholds(lane, block);
        lane.passed = behind;
        lane.previous = events[events.size() - 1].place;
    }

    [[nodiscard]] Candidate best(Index number) const
    {
        Lane const &lane = lanes_[static_cast<std::size_t>(number)];
        auto best = lane.best;
        best.score = 2.0 * best.score / (lane.total0 + lane.total1);
        return best;
    }
};
}  // namespace hardwood
