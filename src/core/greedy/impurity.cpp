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
    Index rank = -1;
};

// A part of one feature's events, and which thresholds a node may take there.
struct Segment
{
    Span<Event const> events;
    RankRegion region;
    Index nRanks;
};

// Which events of a segment may be the last ones before a threshold: all from `begin` up to `end` whose rank differs
// from the next one's.
struct Thresholds
{
    Index begin;
    Index end;

    explicit Thresholds(Segment const &segment)
    {
        auto const firstOf = [&](Index rank)
        {
            auto const &events = segment.events;
            return std::partition_point(events.begin(), events.end(), [=](Event e) { return e.rank < rank; }) -
                   events.begin();
        };
        begin = firstOf(std::max<Index>(0, segment.region.lowest + 1));
        // Behind a threshold there is at least one finite end.
        end = std::min(firstOf(segment.region.highest), firstOf(segment.nRanks) - 1);
    }
};

// Groot's scan of one feature for two classes of unweighted samples. The general scan spends its time on looking up
// samples; here an event carries its class, and the totals, which no threshold changes, are divided by once.
Candidate scanTwoClasses(Segment const &segment, double total0, double total1)
{
    std::array<double, 8> counts{};  // of events by kind and class: no branch that nobody can predict
    auto const passed = [&](Event::Kind kind, std::size_t label) -> double &
    { return counts[static_cast<std::size_t>(kind) + label]; };
    double const inverse0 = 1.0 / total0, inverse1 = 1.0 / total1;
    double const inverseSquares = 1.0 / (total0 * total0 + total1 * total1);
    Thresholds const thresholds(segment);
    Candidate best;
    for (Index k = 0; k < thresholds.begin; ++k)
        counts[static_cast<std::size_t>(segment.events[k].code & 7)] += 1.0;
    for (Index k = thresholds.begin; k < thresholds.end; ++k)
    {
        Event const event = segment.events[k];
        counts[static_cast<std::size_t>(event.code & 7)] += 1.0;
        if (segment.events[k + 1].rank == event.rank)
            continue;
        // Certainly left, left as it stands, not certainly right.
        double const left0 = passed(Event::upper, 0), stands0 = passed(Event::value, 0),
                     reach0 = passed(Event::lower, 0);
        double const left1 = passed(Event::upper, 1), stands1 = passed(Event::value, 1),
                     reach1 = passed(Event::lower, 1);
        double const low = std::max(left0 * inverse0, left1 * inverse1);
        double const high = std::min(reach0 * inverse0, reach1 * inverse1);
        double const stands = (total0 * stands0 + total1 * stands1) * inverseSquares;
        // The nearest to `stands` between low and high, or midway between them where low > high, as in `Groot::place`.
        double const share = 0.5 * (std::min(std::max(stands, low), high) + std::max(std::min(stands, high), low));
        // What moves is rounded, as `Groot::place` does, and not what is on the left: halves go to the even number.
        double const moved0 = roundHalfEven(share * total0 - left0), moved1 = roundHalfEven(share * total1 - left1);
        double const a0 = std::min(std::max(moved0 + left0, left0), reach0);
        double const a1 = std::min(std::max(moved1 + left1, left1), reach1);
        double const a = a0 + a1, b0 = total0 - a0, b1 = total1 - a1, b = b0 + b1;
        // Impurity times half the weight of the node.
        double const score = (a > 0.0 ? a0 * a1 / a : 0.0) + (b > 0.0 ? b0 * b1 / b : 0.0);
        if (score < best.score)
            best = {score, -1, event.rank};
    }
    best.score = 2.0 * best.score / (total0 + total1);
    return best;
}

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

    Candidate scan(Segment const &segment)
    {
        if constexpr (std::is_same_v<CriterionOf, Groot> && classes == 2)
            if (problem_.whole && problem_.robustWeight == 1.0)
                return scanTwoClasses(segment, totals_[0], totals_[1]);
        standing_.allRight(totals_);
        Candidate best;
        Thresholds const thresholds(segment);
        for (Index k = 0; k < thresholds.end; ++k)
        {
            pass(segment.events[k]);
            if (k < thresholds.begin || segment.events[k + 1].rank == segment.events[k].rank)
                continue;
            double const score = worstPlacement();
            if (score < best.score)
                best = {score, -1, segment.events[k].rank};
        }
        return best;
    }

    // The best split of a node; none where the Control stopped the search.
    Candidate bestSplit(Index node)
    {
        Index const nFeatures = problem_.events.rows();
        if (limits_.maxFeatures < nFeatures)
            random_.drawToFront(order_, limits_.maxFeatures);
        Candidate best;
        for (Index const j : order_.view().part(0, limits_.maxFeatures))
        {
            if (control_.shouldStopOrPoll())
                return {};
            Index const nRanks = problem_.nRanks[j];
            Candidate found = scan({segment(j, tree_[node]), tree_.region(node, j, nRanks), nRanks});
            if (found.score < best.score)
            {
                found.feature = j;
                best = found;
            }
        }
        return best;
    }

    // Decide for every sample of a node whether it goes left, as the worst placement says: who stands left stays there,
    // up to the share of its class. Returns how many do.
    Index distribute(Span<Event const> events, Index rank)
    {
        standing_.allRight(totals_);
        for (Event const event : events)
        {
            if (event.rank <= rank)
            {
                pass(event);
                goesLeft_[event.sample()] = event.kind() != Event::lower ? 1 : 0;
            }
            else if (event.kind() == Event::lower)
                goesLeft_[event.sample()] = 0;
        }
        worstPlacement();
        ClassWeights<classes> balance = placement_.moved;  // what is still to be moved left, by class
        for (Index c = 0; c != balance.size(); ++c)
            balance[c] -= placement_.staysLeft[c];
        for (Event const event : events)
        {
            auto const i = event.sample();
            double const w = problem_.weight[i];
            double &left = balance[problem_.label[i]];
            bool const mayEnter = event.kind() == Event::lower && event.rank <= rank && goesLeft_[i] == 0;
            bool const mayLeave = event.kind() == Event::upper && event.rank > rank && goesLeft_[i] == 1;
            if (mayEnter && left >= 0.5 * w && w > 0.0)
            {
                goesLeft_[i] = 1;
                left -= w;
            }
            else if (mayLeave && left <= -0.5 * w && w > 0.0)
            {
                goesLeft_[i] = 0;
                left += w;
            }
        }
        return std::count_if(events.begin(), events.end(),
                             [&](Event event)
                             { return event.kind() == Event::lower && goesLeft_[event.sample()] == 1; });
    }

    // Divide a segment stably: events of samples that go left first.
    void partition(Span<Event> events)
    {
        Index left = 0, right = 0;
        for (Event const event : events)
        {
            // Written to both places, kept in one: nobody can predict where a sample goes.
            Index const goesLeft = goesLeft_[event.sample()];
            events[left] = event;
            buffer_[right] = event;
            left += goesLeft;
            right += 1 - goesLeft;
        }
        std::copy(buffer_.begin(), buffer_.begin() + right, events.begin() + left);
    }

    // Split a node if that is worth it and allowed.
    void grow(Index node, std::vector<Index> &open)
    {
        double weightHere = 0.0;
        if (!label(tree_[node], weightHere) || control_.stopRequested())
            return;
        double const impurity = CriterionOf::Impurity::ofNode(totals_, weightHere);
        Candidate const best = bestSplit(node);
        if (best.feature < 0 || impurity - best.score <= noGain)
            return;
        GrowingNode const here = tree_[node];
        Index const n = here.end - here.begin;
        Index const nLeft = distribute(segment(best.feature, here), best.rank);
        if (std::min(nLeft, n - nLeft) < std::max<Index>(limits_.minSamplesLeaf, 1))
            return;
        // Leaves are labelled by the samples of one list; the others are divided only where they are scanned again.
        Index const lists = here.depth + 1 < limits_.maxDepth ? problem_.events.rows() : 1;
        for (Index j = 0; j != lists; ++j)
        {
            if (control_.shouldStopOrPoll())
                return;  // a leaf still: nobody looks at the lists again
            partition(segment(j, here));
        }
        Index const left = tree_.split(node, best.feature, best.rank);
        tree_[left].begin = here.begin;
        tree_[left].end = tree_[left + 1].begin = here.begin + nLeft;
        tree_[left + 1].end = here.end;
        open.push_back(left);
        open.push_back(left + 1);
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
        for (std::vector<Index> open{0}; !open.empty();)
        {
            Index const node = open.back();
            open.pop_back();
            grow(node, open);
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
