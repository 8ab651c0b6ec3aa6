// The scan for any criterion and any number of classes: a lane keeps where the samples of its node stand.
//
// To score a threshold takes a time that grows with the classes. Where class and weight of a sample fit into the eight
// bits that an event carries (`isPacked`), nothing has to be looked up, and a block whose bound tells that it holds no
// better threshold is passed without scoring any.
//
// The bound. Let F(a) be the weighted Gini impurity of a split with weights a on the left, and let the placements of
// all thresholds of a block lie between A and B, class by class. Where no slope of F there is steeper than s_c,
//
//     F(a) >= F(A) - sum s_c (a_c - A_c)  and  F(a) >= F(B) - sum s_c (B_c - a_c),
//
// so F(a) >= (F(A) + F(B) - sum s_c (B_c - A_c)) / 2. The slopes: with the shares p_c of the classes on the left and
// q_c on the right,
//
//     dF / da_c = 2 q_c - 2 p_c + sum p^2 - sum q^2,
//
// never steeper than 2, and nearly flat where a split hardly tells classes apart, as most thresholds do.
#pragma once

#include <bit>
#include <type_traits>

#include "greedy/threshold_scan.h"

namespace hardwood
{
// A part of a scan: where the samples of the node stand before and behind it.
template <Index classes>
struct ScanPart
{
    Standing<classes> const &before, &behind;
    ClassWeights<classes> const &totals;
};

// The shares of classes in a weight, each known to lie between two numbers.
class ShareLimits
{
    double perMost_, perLeast_;
    double leastSquares_ = 0.0, mostSquares_ = 0.0;

public:
    ShareLimits(double leastTotal, double mostTotal)
        : perMost_(mostTotal > 0.0 ? 1.0 / mostTotal : 0.0), perLeast_(leastTotal > 0.0 ? 1.0 / leastTotal : 1e300)
    {
    }

    [[nodiscard]] double least(double weight) const { return weight * perMost_; }
    [[nodiscard]] double most(double weight) const { return lesser(weight * perLeast_, 1.0); }
    [[nodiscard]] double leastSquares() const { return leastSquares_; }
    [[nodiscard]] double mostSquares() const { return lesser(mostSquares_, 1.0); }

    void add(double leastWeight, double mostWeight)
    {
        leastSquares_ += least(leastWeight) * least(leastWeight);
        mostSquares_ += most(mostWeight) * most(mostWeight);
    }
};

// What all thresholds of a part of a scan score at least.
template <Index classes>
class ScanBound
{
    ClassWeights<classes> from_, to_;  // A and B

    // Who is certainly left, stands left, is not certainly right.
    static double left(Standing<classes> const &at, Index c) { return at.sureLeft(c); }
    static double stands(Standing<classes> const &at, Index c) { return at.sureLeft(c) + at.mayLeave(c); }
    static double reach(Standing<classes> const &at, Index c) { return stands(at, c) + at.mayEnter(c); }

    // The bound for placements between A and B.
    [[nodiscard]] double leastBetween(ClassWeights<classes> const &totals) const
    {
        Gini::Split first, last;
        for (Index c = 0; c != totals.size(); ++c)
        {
            first.add(from_[c], totals[c] - from_[c]);
            last.add(to_[c], totals[c] - to_[c]);
        }
        ShareLimits p(first.left(), last.left()), q(last.right(), first.right());
        for (Index c = 0; c != totals.size(); ++c)
        {
            p.add(from_[c], to_[c]);
            q.add(totals[c] - to_[c], totals[c] - from_[c]);
        }
        double const fall = p.leastSquares() - q.mostSquares(), climb = p.mostSquares() - q.leastSquares();
        double change = 0.0;
        for (Index c = 0; c != totals.size(); ++c)
        {
            double const steepestFall = 2.0 * (p.most(to_[c]) - q.least(totals[c] - to_[c])) - fall;
            double const steepestClimb = 2.0 * (q.most(totals[c] - from_[c]) - p.least(from_[c])) + climb;
            change += lesser(greater(steepestFall, steepestClimb), 2.0) * (to_[c] - from_[c]);
        }
        return 0.5 * (first.impurity() + last.impurity() - change);
    }

    // The share of all classes that Groot places on the left, as in `Groot::place`.
    static double share(Standing<classes> const &at, ClassWeights<classes> const &totals)
    {
        double low = 0.0, high = 1.0, product = 0.0, squares = 0.0;
        for (Index c = 0; c != totals.size(); ++c)
            if (double const total = totals[c]; total > 0.0)
            {
                low = greater(low, left(at, c) / total);
                high = lesser(high, reach(at, c) / total);
                product += total * stands(at, c);
                squares += total * total;
            }
        return nearestShare(product / squares, low, high);
    }

    template <class Placed>
    double leastOf(ScanPart<classes> const &part, Placed placed)
    {
        for (Index c = 0; c != from_.size(); ++c)
        {
            from_[c] = placed(part.before, c);
            to_[c] = placed(part.behind, c);
        }
        return leastBetween(part.totals);
    }

public:
    explicit ScanBound(Index nClasses) : from_(nClasses), to_(nClasses) {}

    // Groot places the same share of every class on the left, as far as it can: shares and limits rise with the
    // threshold. What is placed of whole samples is rounded.
    double least(Groot, ScanPart<classes> const &part, bool whole)
    {
        double const before = share(part.before, part.totals), behind = share(part.behind, part.totals);
        double const rounding = whole ? 0.5 + 1e-6 : 0.0;
        for (Index c = 0; c != from_.size(); ++c)
        {
            auto const placed = [&](Standing<classes> const &at, double share)
            { return lesser(greater(share * part.totals[c], left(at, c)), reach(at, c)); };
            from_[c] = greater(placed(part.before, before) - rounding, left(part.before, c));
            to_[c] = lesser(placed(part.behind, behind) + rounding, reach(part.behind, c));
        }
        return leastBetween(part.totals);
    }

    // Of Chen's four placements the worst counts: all to the right, nobody moves, all to the left; that all change
    // sides is left out, which makes the bound a little lower.
    double least(Chen<Gini>, ScanPart<classes> const &part, bool /*whole*/)
    {
        return std::max({leastOf(part, left), leastOf(part, stands), leastOf(part, reach)});
    }
};

// Class and weight of a sample, and how both are packed into eight bits.
class PackedSamples
{
    int classBits_;

public:
    static constexpr std::uint32_t codes = 256;

    explicit PackedSamples(Index nClasses)
        : classBits_(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<Index>(nClasses, 1) - 1))))
    {
    }

    [[nodiscard]] std::uint32_t largestWeight() const { return classBits_ < 8 ? (codes >> classBits_) - 1 : 0; }
    [[nodiscard]] std::uint32_t packed(Index label, std::uint32_t weight) const
    {
        return weight << classBits_ | static_cast<std::uint32_t>(label);
    }
    [[nodiscard]] Index label(Index code) const { return code & ((Index{1} << classBits_) - 1); }
    [[nodiscard]] double weight(Index code) const { return static_cast<double>(code >> classBits_); }
};

template <class CriterionOf, Index classes, bool isPacked>
class StandingScorer
{
    static constexpr double slack = 1e-12;  // what arithmetic may have added to a bound, in proportion

    struct Lane
    {
        Standing<classes> standing;
        ClassWeights<classes> totals;
        double weight;
        double toBeat;
        Window window;
        Index previous = -1;
        Candidate best{};
    };

    ImpurityProblem const &problem_;
    PackedSamples samples_;
    std::vector<Lane> lanes_;
    Standing<classes> behind_;
    ScanBound<classes> bound_;
    Placement<classes> placement_;

    void passEvent(Standing<classes> &standing, Event event) const
    {
        Index const i = event.sample();
        if constexpr (isPacked)
            standing.pass(event.end(), samples_.label(i), samples_.weight(i));
        else
            standing.pass(event.end(), problem_.label[i], problem_.weight[i]);
    }

    void scoreThresholds(Lane &lane, Block const &block)
    {
        block.each(
            [&](Index place)
            {
                placement_.hold(lane.standing, problem_.robustWeight, problem_.whole);
                double const score = CriterionOf::place(placement_, problem_.whole);
                if (score < lane.best.score)
                    lane.best = {score, -1, place};
            },
            [&](Event event) { passEvent(lane.standing, event); });
    }

    // Pass a block without scoring its thresholds if none of them can be the best. Whether that was so.
    bool isPassed(Lane &lane, Block const &block)
    {
        behind_ = lane.standing;
        for (Passed const &passed : block.events)
            passEvent(behind_, passed.event);
        if (block.isInside())
        {
            ScanPart<classes> const part{lane.standing, behind_, lane.totals};
            double const least = bound_.least(CriterionOf{}, part, problem_.whole);
            if (least <= lesser(lane.toBeat, lane.best.score) * lane.weight * (1.0 + slack))
                return false;
        }
        lane.standing = behind_;
        return true;
    }

public:
    explicit StandingScorer(ImpurityProblem const &problem)
        : problem_(problem),
          samples_(problem.nClasses),
          behind_(problem.nClasses),
          bound_(problem.nClasses),
          placement_(problem.nClasses)
    {
    }

    // What an event carries of its sample: at most eight bits.
    [[nodiscard]] std::uint32_t carriedOf(Index label, double weight) const
    {
        return isPacked ? samples_.packed(label, static_cast<std::uint32_t>(weight)) : 0;
    }
    static Event carried(Event event, std::uint32_t ofSample)
    {
        return isPacked ? Event(ofSample, event.kindAndClass()) : event;
    }

    void clear() { lanes_.clear(); }
    void add(ClassWeights<classes> const &totals, Window window, double known)
    {
        Standing<classes> standing(problem_.nClasses);
        standing.allRight(totals);
        double weight = 0.0;
        for (Index c = 0; c != totals.size(); ++c)
            weight += totals[c];
        lanes_.push_back({std::move(standing), totals, weight, known, window});
    }

    void pass(Index number, Span<Passed const> events)
    {
        Lane &lane = lanes_[static_cast<std::size_t>(number)];
        Block const block{events, lane.previous, lane.window};
        bool isDone = false;
        if constexpr (isPacked)
            isDone = isPassed(lane, block);
        if (!isDone)
            scoreThresholds(lane, block);
        lane.previous = events[events.size() - 1].place;
    }

    [[nodiscard]] Candidate best(Index number) const { return lanes_[static_cast<std::size_t>(number)].best; }
};
}  // namespace hardwood
