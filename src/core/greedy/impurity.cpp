#include "greedy/impurity.h"

#include <limits>
#include <numeric>

#include "greedy/placement.h"
#include "rng.h"

namespace hardwood
{
namespace
{
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double noGain = 1e-12;  // a split must lower the impurity by more than rounding errors do

struct Candidate
{
    double score = infinity;
    Index feature = -1;
    Index place = -1;  // of the last event before the threshold, in the segment
};

// Which thresholds of a feature a node may take, by places of its events there. By the splits above it, the last event
// before a threshold is one from `begin` up to `end`, both between ranks, and the next one is at a finite number.
struct Window
{
    Index begin;
    Index end;
    Index finiteEnd;
};

// A part of one feature's events, and which thresholds a node may take there: those behind an event from `begin` up to
// `end` whose next one begins a rank.
struct Segment
{
    Span<Event const> events;
    Index begin;
    Index end;

    Segment(Span<Event const> events, Window window)
        : events(events), begin(window.begin), end(std::min(window.end, window.finiteEnd - 1))
    {
    }

    [[nodiscard]] bool hasThresholdBehind(Index k) const { return k >= begin && events[k + 1].beginsRank(); }
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

// Half the weighted impurity of a split of two classes: a0 and a1 samples on the left, the others on the right.
// Concave, with slopes between -1 and 1 in both: g(a0, a1) = a0 a1 / (a0 + a1) has the slopes (a1 / (a0 + a1))^2 and
// (a0 / (a0 + a1))^2, and the right side is g of what is left over. A side without samples costs nothing: 0 / 1.
constexpr double halfImpurity(double a0, double a1, double total0, double total1)
{
    double const b0 = total0 - a0, b1 = total1 - a1;
    return a0 * a1 / greater(a0 + a1, 1.0) + b0 * b1 / greater(b0 + b1, 1.0);
}

// How many events of each kind and class were passed, at the number 0..7 that ends an event's code.
using EventCounts = std::array<double, 8>;

// Groot's scan of one feature for two classes of unweighted samples. The general scan spends its time on looking up
// samples; here an event carries its class, and the totals, which no threshold changes, are divided by once.
//
// Events are passed in blocks. From what was passed before a block and behind it follows a bound on all its scores;
// only where that is not above the best score so far, its thresholds are collected and scored: a loop without a branch,
// which works on several of them at once. The bound: of class c, at least l and at most r samples can be on the left at
// any threshold of the block, where l were surely left behind the block, and r could be before it. Where l <= r the
// attacker may choose; where l > r some number between r and l is possible at each threshold. So the attacker can force
// the least, over those intervals, of the most that his choices give, and since the impurity is concave the least
// stands in a corner. Groot's placement is the worst one but for rounding half a sample of each class, and slopes are
// at most 1:
//
//     score >= bound - 1.
class TwoClassScan
{
    static constexpr std::size_t most = 64;
    static constexpr double rounding = 1.0 + 1e-6;

    double total0_, total1_;
    // Of each threshold and class: certainly left, left as it stands, not certainly right; and its place and score.
    // Zero at first: the last ones may be fewer, and are scored all the same.
    std::array<double, most> left0_{}, stands0_{}, reach0_{}, left1_{}, stands1_{}, reach1_{}, score_{};
    std::array<Index, most> place_{};
    std::size_t size_ = 0;
    Candidate best_;

    // Scores are impurities times half the weight of the node.
    void scoreAll()
    {
        double const inverse0 = 1.0 / total0_, inverse1 = 1.0 / total1_;
        double const inverseSquares = 1.0 / (total0_ * total0_ + total1_ * total1_);
        for (std::size_t k = 0; k != most; ++k)
        {
            double const low = greater(left0_[k] * inverse0, left1_[k] * inverse1);
            double const high = lesser(reach0_[k] * inverse0, reach1_[k] * inverse1);
            double const stands = (total0_ * stands0_[k] + total1_ * stands1_[k]) * inverseSquares;
            // The nearest to `stands` between low and high, or midway where low > high, as in `Groot::place`.
            double const share = 0.5 * (lesser(greater(stands, low), high) + greater(lesser(stands, high), low));
            // What moves is rounded, as there, and not what is on the left: halves go to the even number.
            double const moved0 = roundHalfEven(share * total0_ - left0_[k]);
            double const moved1 = roundHalfEven(share * total1_ - left1_[k]);
            double const a0 = lesser(greater(moved0 + left0_[k], left0_[k]), reach0_[k]);
            double const a1 = lesser(greater(moved1 + left1_[k], left1_[k]), reach1_[k]);
            score_[k] = halfImpurity(a0, a1, total0_, total1_);
        }
    }

    void takeBest()
    {
        scoreAll();
        for (std::size_t k = 0; k != size_; ++k)
            if (score_[k] < best_.score)
                best_ = {score_[k], -1, place_[k]};
        size_ = 0;
    }

    // What every score is at least, but for `rounding`, between two places of the scan.
    [[nodiscard]] double boundBetween(EventCounts const &before, EventCounts const &behind) const
    {
        double const left0 = behind[Event::upper], reach0 = before[Event::lower];
        double const left1 = behind[Event::upper + 1], reach1 = before[Event::lower + 1];
        if (left0 <= reach0 && left1 <= reach1)
        {
            double const low = greater(left0 / total0_, left1 / total1_);
            double const high = lesser(reach0 / total0_, reach1 / total1_);
            double const share = 0.5 * (low + high);  // where low <= high any share is as bad
            return halfImpurity(lesser(greater(share * total0_, left0), reach0),
                                lesser(greater(share * total1_, left1), reach1), total0_, total1_);
        }
        // Who may choose takes the middle: one of his choices.
        auto const corners = [](double left, double reach) {
            return left <= reach ? std::array{0.5 * (left + reach), 0.5 * (left + reach)} : std::array{reach, left};
        };
        double least = infinity;
        for (double const a0 : corners(left0, reach0))
            for (double const a1 : corners(left1, reach1))
                least = lesser(least, halfImpurity(a0, a1, total0_, total1_));
        return least;
    }

    // Pass the events begin, ..., end - 1, of which there are at most `most`.
    static void pass(Span<Event const> events, EventCounts &counts)
    {
        std::uint64_t byCode = 0;  // eight numbers of eight bits
        for (Event const event : events)
            byCode += std::uint64_t{1} << (8 * event.kindAndClass());
        for (std::size_t code = 0; code != counts.size(); ++code)
            counts[code] += static_cast<double>(byCode >> (8 * code) & 255);
    }

    // Collect the thresholds behind the events begin, ..., end - 1 of the segment, to be scored.
    void collect(Segment const &segment, Index begin, Index end, EventCounts counts)
    {
        if (size_ + static_cast<std::size_t>(end - begin) > most)
            takeBest();
        for (Index k = begin; k < end; ++k)
        {
            counts[segment.events[k].kindAndClass()] += 1.0;
            if (!segment.hasThresholdBehind(k))
                continue;
            left0_[size_] = counts[Event::upper];
            left1_[size_] = counts[Event::upper + 1];
            stands0_[size_] = counts[Event::value];
            stands1_[size_] = counts[Event::value + 1];
            reach0_[size_] = counts[Event::lower];
            reach1_[size_] = counts[Event::lower + 1];
            place_[size_] = k;
            ++size_;
        }
    }

public:
    TwoClassScan(double total0, double total1) : total0_(total0), total1_(total1) {}

    // The best threshold of a feature that is better than an impurity.
    Candidate best(Segment const &segment, double known)
    {
        double const toBeat = 0.5 * known * (total0_ + total1_);
        EventCounts counts{};
        for (Index begin = 0, end = 0; begin < segment.end; begin = end)
        {
            end = std::min(begin + static_cast<Index>(most), segment.end);
            EventCounts behind = counts;
            pass(segment.events.part(begin, end - begin), behind);
            if (end > segment.begin &&
                boundBetween(counts, behind) - rounding <= lesser(toBeat, best_.score) * (1.0 + 1e-9))
                collect(segment, begin, end, counts);
            counts = behind;
        }
        takeBest();
        best_.score = 2.0 * best_.score / (total0_ + total1_);
        return best_;
    }
};

template <class CriterionOf, Index classes>
class ImpurityGrowth
{
    ImpurityProblem const &problem_;
    GrowthLimits limits_;
    Control &control_;
    Random random_;
    GrowingTree tree_;
    ClassWeights<classes> totals_;
    Standing<classes> standing_;
    Placement<classes> placement_;
    Array<std::uint8_t> goesLeft_;  // by sample, 1 or 0
    Array<Event> buffer_;
    Array<Index> order_;  // of the features, those drawn first

    // A node that may be split, with its window on each feature.
    struct OpenNode
    {
        Index node;
        std::vector<Window> windows;

        Window &windowOn(Index feature) { return windows[static_cast<std::size_t>(feature)]; }
    };

    [[nodiscard]] Span<Event> segment(Index feature, GrowingNode const &node) const
    {
        return problem_.events.row(feature).part(3 * node.begin, 3 * (node.end - node.begin));
    }

    void pass(Event event)
    {
        auto const i = event.sample();
        auto const c = problem_.label[i];
        double const w = problem_.weight[i];
        if (event.kind() == Event::lower)
        {
            standing_.sureRight[c] -= w;
            standing_.mayEnter[c] += w;
        }
        else if (event.kind() == Event::value)
        {
            standing_.mayEnter[c] -= w;
            standing_.mayLeave[c] += w;
        }
        else
        {
            standing_.mayLeave[c] -= w;
            standing_.sureLeft[c] += w;
        }
    }

    double worstPlacement()
    {
        placement_.hold(standing_, problem_.robustWeight, problem_.whole);
        return CriterionOf::place(placement_, problem_.whole);
    }

    // Label a node by its heaviest class; whether it is worth splitting.
    bool label(GrowingNode &node, double &weightHere)
    {
        totals_.fill(0.0);
        for (Event const event : segment(0, node))
            if (event.kind() == Event::lower)
                totals_[problem_.label[event.sample()]] += problem_.weight[event.sample()];
        Index heaviest = 0;
        weightHere = 0.0;
        for (Index c = 0; c != totals_.size(); ++c)
        {
            weightHere += totals_[c];
            if (totals_[c] > totals_[heaviest])
                heaviest = c;
        }
        node.label = heaviest;
        return node.depth < limits_.maxDepth && node.end - node.begin >= limits_.minSamplesSplit &&
               totals_[heaviest] < weightHere;
    }

    // The best threshold of a feature, if it is better than the impurity that is known already.
    Candidate scan(Segment const &segment, double known)
    {
        if constexpr (std::is_same_v<CriterionOf, Groot> && classes == 2)
            if (problem_.whole && problem_.robustWeight == 1.0)
                return TwoClassScan(totals_[0], totals_[1]).best(segment, known);
        standing_.allRight(totals_);
        Candidate best;
        for (Index k = 0; k < segment.end; ++k)
        {
            pass(segment.events[k]);
            if (!segment.hasThresholdBehind(k))
                continue;
            double const score = worstPlacement();
            if (score < best.score)
                best = {score, -1, k};
        }
        return best;
    }

    [[nodiscard]] static bool gains(Candidate const &split, double impurity)
    {
        return split.feature >= 0 && impurity - split.score > noGain;
    }

    // The best split of a node of this impurity, one that gains where any feature has such a one; none where the
    // Control stopped the search.
    Candidate bestSplit(OpenNode &open, double impurity)
    {
        Index const nFeatures = problem_.events.rows();
        Candidate best;
        for (Index place = 0; place != nFeatures && (place < limits_.maxFeatures || !gains(best, impurity)); ++place)
        {
            if (control_.shouldStopOrPoll())
                return {};
            if (limits_.maxFeatures < nFeatures)
                random_.drawTo(place, order_);
            Index const j = order_[place];
            Candidate found = scan({segment(j, tree_[open.node]), open.windowOn(j)}, best.score);
            if (found.score < best.score)
            {
                found.feature = j;
                best = found;
            }
        }
        return best;
    }

    // Decide for every sample of a node whether it goes left, as the worst placement says: who stands left stays there,
    // up to the share of its class. The threshold is behind the event at a place. Returns how many do.
    Index distribute(Span<Event const> events, Index place)
    {
        standing_.allRight(totals_);
        auto const before = events.part(0, place + 1), behind = events.part(place + 1, events.size() - place - 1);
        for (Event const event : before)
        {
            pass(event);
            goesLeft_[event.sample()] = event.kind() != Event::lower ? 1 : 0;
        }
        for (Event const event : behind)
            if (event.kind() == Event::lower)
                goesLeft_[event.sample()] = 0;
        worstPlacement();
        ClassWeights<classes> balance = placement_.moved;  // what is still to be moved left, by class
        for (Index c = 0; c != balance.size(); ++c)
            balance[c] -= placement_.staysLeft[c];
        for (Event const event : before)
        {
            auto const i = event.sample();
            double const w = problem_.weight[i];
            double &left = balance[problem_.label[i]];
            bool const mayEnter = event.kind() == Event::lower && goesLeft_[i] == 0;
            if (mayEnter && left >= 0.5 * w && w > 0.0)
            {
                goesLeft_[i] = 1;
                left -= w;
            }
        }
        for (Event const event : behind)
        {
            auto const i = event.sample();
            double const w = problem_.weight[i];
            double &left = balance[problem_.label[i]];
            bool const mayLeave = event.kind() == Event::upper && goesLeft_[i] == 1;
            if (mayLeave && left <= -0.5 * w && w > 0.0)
            {
                goesLeft_[i] = 0;
                left += w;
            }
        }
        return std::count_if(events.begin(), events.end(),
                             [&](Event event)
                             { return event.kind() == Event::lower && goesLeft_[event.sample()] == 1; });
    }

    // Weight of the samples on the lighter side, after they were distributed.
    [[nodiscard]] double lighterSide(Span<Event const> events) const
    {
        std::array<double, 2> sides{};
        for (Event const event : events)
            if (event.kind() == Event::lower)
                sides[goesLeft_[event.sample()]] += problem_.weight[event.sample()];
        return std::min(sides[0], sides[1]);
    }

    // Divide a segment stably: events of samples that go left first. How many go left before each of some places, which
    // stand in order.
    template <std::size_t nPlaces>
    std::array<Index, nPlaces> partition(Span<Event> events, std::array<Index, nPlaces> const &places)
    {
        std::array<Index, nPlaces> leftBefore{};
        RankKeeper leftRanks, rightRanks;
        Index left = 0, right = 0, k = 0;
        auto const divideUpTo = [&](Index end)
        {
            for (; k != end; ++k)
            {
                // Written to both places, kept in one: nobody can predict where a sample goes.
                Event const event = events[k];
                Index const goesLeft = goesLeft_[event.sample()];
                events[left] = leftRanks.next(event);
                buffer_[right] = rightRanks.next(event);
                leftRanks.kept(goesLeft);
                rightRanks.kept(1 - goesLeft);
                left += goesLeft;
                right += 1 - goesLeft;
            }
        };
        for (std::size_t c = 0; c != nPlaces; ++c)
        {
            divideUpTo(places[c]);
            leftBefore[c] = left;
        }
        divideUpTo(events.size());
        std::copy(buffer_.begin(), buffer_.begin() + right, events.begin() + left);
        return leftBefore;
    }

    // Divide the events of a feature, and give both children their windows there. Behind the split itself, at a place,
    // the left child may take thresholds before the rank of that event, the right one those behind it.
    void divide(Span<Event> events, Window const &window, Index place, Window &left, Window &right)
    {
        Index first = place;  // of the rank before the threshold
        while (first > window.begin && !events[first].beginsRank())
            --first;
        bool const isSplit = place >= 0;
        Index const before = isSplit ? first : window.begin, behind = isSplit ? place + 1 : window.begin;
        std::array const places{window.begin, before, behind, window.end, window.finiteEnd};
        auto const leftBefore = partition(events, places);
        auto const rightBefore = [&](std::size_t k) { return places[k] - leftBefore[k]; };
        left = {leftBefore[0], leftBefore[isSplit ? 1 : 3], leftBefore[4]};
        right = {rightBefore(isSplit ? 2 : 0), rightBefore(3), rightBefore(4)};
    }

    // Split a node if that is worth it and allowed.
    void grow(OpenNode open, std::vector<OpenNode> &all)
    {
        double weightHere = 0.0;
        if (!label(tree_[open.node], weightHere) || control_.stopRequested())
            return;
        double const impurity = CriterionOf::Impurity::ofNode(totals_, weightHere);
        Candidate const best = bestSplit(open, impurity);
        if (!gains(best, impurity))
            return;
        GrowingNode const here = tree_[open.node];
        Index const n = here.end - here.begin;
        Index const nLeft = distribute(segment(best.feature, here), best.place);
        if (std::min(nLeft, n - nLeft) < std::max<Index>(limits_.minSamplesLeaf, 1))
            return;
        if (limits_.minWeightLeaf > 0.0 && lighterSide(segment(best.feature, here)) < limits_.minWeightLeaf)
            return;
        Index const name = segment(best.feature, here)[best.place].name();
        // Leaves are labelled by the samples of one list; the others are divided only where they are scanned again.
        Index const lists = here.depth + 1 < limits_.maxDepth ? problem_.events.rows() : 1;
        OpenNode left{0, open.windows}, right{0, open.windows};
        for (Index j = 0; j != lists; ++j)
        {
            if (control_.shouldStopOrPoll())
                return;  // a leaf still: nobody looks at the lists again
            Index const place = j == best.feature ? best.place : -1;
            divide(segment(j, here), open.windowOn(j), place, left.windowOn(j), right.windowOn(j));
        }
        left.node = tree_.split(open.node, best.feature, name);
        right.node = left.node + 1;
        tree_[left.node].begin = here.begin;
        tree_[left.node].end = tree_[right.node].begin = here.begin + nLeft;
        tree_[right.node].end = here.end;
        all.push_back(std::move(left));
        all.push_back(std::move(right));
    }

public:
    ImpurityGrowth(ImpurityProblem const &problem, GrowthLimits limits, std::uint32_t seed, Control &control)
        : problem_(problem),
          limits_(limits),
          control_(control),
          random_(seed),
          tree_(problem.label.size()),
          totals_(problem.nClasses),
          standing_(problem.nClasses),
          placement_(problem.nClasses),
          goesLeft_(problem.label.size()),
          buffer_(Array<Event>::unwritten(3 * problem.label.size() + 1)),
          order_(Array<Index>::unwritten(problem.events.rows()))
    {
        std::iota(order_.begin(), order_.end(), Index{0});
    }

    GrowingTree run()
    {
        OpenNode root{0, {}};
        for (auto const &[first, end] : problem_.finite)
            root.windows.push_back({first, end, end});
        std::vector<OpenNode> open;
        open.push_back(std::move(root));
        while (!open.empty())
        {
            OpenNode node = std::move(open.back());
            open.pop_back();
            grow(std::move(node), open);
        }
        return std::move(tree_);
    }
};

template <class CriterionOf>
GrowingTree growWith(ImpurityProblem const &problem, GrowthLimits limits, std::uint32_t seed, Control &control)
{
    if (problem.nClasses == 2)
        return ImpurityGrowth<CriterionOf, 2>(problem, limits, seed, control).run();
    return ImpurityGrowth<CriterionOf, 0>(problem, limits, seed, control).run();
}
}  // namespace

bool areEventsOf(Grid<Event const> events, Span<Index const> label)
{
    // What the next event of a sample must end in: its kind, and whether it is of class 1.
    auto first = Array<std::uint8_t>::unwritten(label.size());
    for (Index i = 0; i != label.size(); ++i)
        first[i] = label[i] == 1 ? 1 : 0;
    auto next = Array<std::uint8_t>::unwritten(label.size());
    for (Index j = 0; j != events.rows(); ++j)
    {
        std::copy(first.begin(), first.end(), next.begin());
        bool isGood = true;
        for (Event const event : events.row(j))
        {
            if (event.sample() >= label.size())
                return false;
            auto &own = next[event.sample()];
            isGood = isGood && own == event.kindAndClass();
            own = static_cast<std::uint8_t>(own + 2);
        }
        if (!isGood)
            return false;
    }
    return true;
}

GrowingTree growOnImpurity(ImpurityProblem const &problem, Criterion criterion, GrowthLimits limits, std::uint32_t seed,
                           Control &control)
{
    switch (criterion)
    {
        case Criterion::groot:
            return growWith<Groot>(problem, limits, seed, control);
        case Criterion::chenGini:
            return growWith<Chen<Gini>>(problem, limits, seed, control);
        case Criterion::chenEntropy:
        default:
            return growWith<Chen<Entropy>>(problem, limits, seed, control);
    }
}
}  // namespace hardwood
