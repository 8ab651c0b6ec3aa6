#include "greedy/impurity.h"

#include <numeric>
#include <utility>

#include "greedy/standing_scan.h"
#include "rng.h"

namespace hardwood
{
namespace
{
constexpr double noGain = 1e-12;  // a split must lower the impurity by more than rounding errors do

// In which open node a sample is, with what the events of the sample carry.
class SampleState
{
    std::uint32_t code_ = 0;  // 256 * number + carried

public:
    static constexpr std::uint32_t closed = 0;  // the number of those in no open node
    static constexpr Index mostNodes = (1 << 24) - 1;

    SampleState() = default;
    SampleState(Index number, std::uint32_t carried) : code_(static_cast<std::uint32_t>(number) << 8 | carried) {}
    [[nodiscard]] std::uint32_t number() const { return code_ >> 8; }
    [[nodiscard]] std::uint32_t carried() const { return code_ & 255; }
};

// What one node holds.
template <Index classes>
struct Held
{
    Index size = 0;
    ClassWeights<classes> totals;

    explicit Held(Index nClasses) : totals(nClasses) {}

    [[nodiscard]] double weight() const
    {
        double sum = 0.0;
        for (Index c = 0; c != totals.size(); ++c)
            sum += totals[c];
        return sum;
    }

    [[nodiscard]] Index heaviest() const
    {
        Index heaviest = 0;
        for (Index c = 0; c != totals.size(); ++c)
            if (totals[c] > totals[heaviest])
                heaviest = c;
        return heaviest;
    }
};

// A node that may be split, and the best split so far.
template <Index classes>
struct OpenNode
{
    Index node;
    Held<classes> held;
    double impurity;
    std::vector<Index> order{};  // of the features, those drawn first
    Index looked = 0;            // at so many of them
    Candidate best{};
    Index position = 0;  // of its feature in that order

    [[nodiscard]] bool gains() const { return best.feature >= 0 && impurity - best.score > noGain; }
    [[nodiscard]] bool isDone(Index nFeatures) const { return looked == nFeatures || (looked > 0 && gains()); }
};

template <class CriterionOf, Index classes, class Scorer>
class ImpurityGrowth
{
    // Where the events of one node wait until they are a block.
    struct Lane
    {
        std::uint32_t begin;
        std::uint32_t next;
        std::uint32_t end;
        std::uint32_t step;  // 1, or 0 for the lane of all those who do not look at the feature
        std::uint32_t lastRank = 0;
    };
    static constexpr Index eventsPerLook = 1 << 20;  // at the clock: some milliseconds

    ImpurityProblem const &problem_;
    GrowthLimits limits_;
    Control &control_;
    Random random_;
    Scorer scorer_;
    GrowingTree tree_;
    std::vector<Index> rankBegin_;  // of each split: the first place of the rank before its threshold
    Array<SampleState> state_;
    Array<std::uint8_t> goesLeft_;           // by sample, 1 or 0
    std::vector<OpenNode<classes>> open_;    // the number of the first is 1
    std::vector<std::uint32_t> laneOf_;      // by number
    std::vector<std::vector<Index>> asked_;  // by feature: the open nodes that look at it or are split on it
    std::vector<Lane> lanes_;
    std::vector<Passed> waiting_;

    [[nodiscard]] Index nFeatures() const { return problem_.events.rows(); }
    [[nodiscard]] Index nSamples() const { return problem_.label.size(); }
    OpenNode<classes> &openAt(Index k) { return open_[static_cast<std::size_t>(k)]; }
    std::vector<Index> &askedOf(Index feature) { return asked_[static_cast<std::size_t>(feature)]; }

    // The thresholds of a feature that a node may take, by the splits above it.
    [[nodiscard]] Window windowOf(Index node, Index feature) const
    {
        auto const [first, end] = problem_.finite[feature];
        Window window{first, end, end};
        for (Index above = tree_[node].parent; above >= 0; node = above, above = tree_[node].parent)
        {
            if (tree_[above].feature != feature)
                continue;
            if (tree_[above].left == node)
                window.end = std::min(window.end, rankBegin_[static_cast<std::size_t>(above)]);
            else
                window.begin = std::max(window.begin, tree_[above].index + 1);
        }
        return window;
    }

    // Give lanes to the open nodes that ask for a feature, from 1 on, or take them back.
    void giveLanes(std::vector<Index> const &nodes)
    {
        std::uint32_t lane = 0;
        for (Index const k : nodes)
            laneOf_[static_cast<std::size_t>(k + 1)] = ++lane;
    }

    void takeLanes(std::vector<Index> const &nodes)
    {
        for (Index const k : nodes)
            laneOf_[static_cast<std::size_t>(k + 1)] = 0;
    }

    // Let the open nodes that ask for a feature score its thresholds.
    void beginScan(Index feature)
    {
        scorer_.clear();
        lanes_.assign(1, Lane{0, 0, 2, 0});
        std::uint32_t begin = 1;
        for (Index const k : askedOf(feature))
        {
            auto const &open = openAt(k);
            bool const isFirstLook = open.looked <= limits_.maxFeatures;
            double const known = open.impurity - noGain;
            scorer_.add(open.held.totals, windowOf(open.node, feature),
                        isFirstLook ? std::min(open.best.score, known) : known);
            auto const room = static_cast<std::uint32_t>(std::min(3 * open.held.size, longestBlock));
            lanes_.push_back({begin, begin, begin + room, 1});
            begin += room;
        }
        if (waiting_.size() < begin)
            waiting_.resize(begin);
    }

    void passWaiting(std::size_t lane)
    {
        auto &[begin, next, end, step, lastRank] = lanes_[lane];
        if (next != begin)
            scorer_.pass(static_cast<Index>(lane) - 1, Span<Passed const>(waiting_).part(begin, next - begin));
        next = begin;
    }

    // Hand the events of a feature to the nodes that ask for it. False where the Control stopped it.
    bool scan(Index feature)
    {
        beginScan(feature);
        giveLanes(askedOf(feature));
        auto const events = problem_.events.row(feature);
        std::uint32_t rank = 1;
        bool isStopped = control_.shouldStopOrPoll();
        for (Index from = 0; from < events.size() && !isStopped; isStopped = control_.shouldStopOrPoll())
        {
            Index const to = std::min(from + eventsPerLook, events.size());
            for (Index place = from; place != to; ++place)
            {
                Event const event = events[place];
                rank += event.beginning() / Event::begins;
                SampleState const state = state_[event.sample()];
                std::size_t const number = laneOf_[state.number()];
                // Written for all, kept for those that look: nobody can predict which samples they have.
                Lane &lane = lanes_[number];
                waiting_[lane.next] = {Scorer::carried(event, state.carried())
                                           .with(lane.lastRank == rank ? 0U : std::uint32_t{Event::begins}),
                                       static_cast<std::uint32_t>(place)};
                lane.lastRank = rank;
                lane.next += lane.step;
                if (lane.next == lane.end)
                    passWaiting(number);
            }
            from = to;
        }
        for (std::size_t lane = 1; lane < lanes_.size(); ++lane)
            passWaiting(lane);
        takeLanes(askedOf(feature));
        return !isStopped;
    }

    // Take what a node found on a feature: the best of those looked at first, and of the others the first that gains.
    void takeFound(OpenNode<classes> &open, Candidate found, Index feature)
    {
        Index position = feature;
        if (!open.order.empty())
            position = std::find(open.order.begin(), open.order.end(), feature) - open.order.begin();
        bool const isFirstLook = open.looked <= limits_.maxFeatures;
        bool const isBetter =
            isFirstLook ? found.score < open.best.score || (found.score == open.best.score && position < open.position)
                        : open.impurity - found.score > noGain && (!open.gains() || position < open.position);
        if (found.place < 0 || !isBetter)
            return;
        open.best = {found.score, feature, found.place};
        open.position = position;
    }

    // Let every open node look at features, and at more of them while none gains. False where the Control stopped it.
    bool lookAround()
    {
        for (auto &asking : asked_)
            asking.clear();
        for (Index k = 0; k != static_cast<Index>(open_.size()); ++k)
        {
            auto &open = openAt(k);
            if (open.isDone(nFeatures()))
                continue;
            Index const upTo = std::min(open.looked == 0 ? limits_.maxFeatures : 2 * open.looked, nFeatures());
            for (; open.looked != upTo; ++open.looked)
            {
                if (!open.order.empty())
                    random_.drawTo(open.looked, open.order);
                askedOf(open.order.empty() ? open.looked : open.order[static_cast<std::size_t>(open.looked)])
                    .push_back(k);
            }
        }
        for (Index j = 0; j != nFeatures(); ++j)
        {
            if (askedOf(j).empty())
                continue;
            if (!scan(j))
                return false;
            Index lane = 0;
            for (Index const k : askedOf(j))
                takeFound(openAt(k), scorer_.best(lane++), j);
        }
        return true;
    }

    bool findSplits()
    {
        auto const isDone = [&](auto const &open) { return open.isDone(nFeatures()); };
        while (!std::all_of(open_.begin(), open_.end(), isDone))
            if (!lookAround())
                return false;
        return true;
    }

    // Call `take(place, event, k)` for the events of a feature in the open nodes that ask for it, k the number of a
    // node among these. False where the Control stopped it.
    template <class Take>
    bool eachAsked(Index feature, Take take)
    {
        auto const events = problem_.events.row(feature);
        for (Index from = 0; from < events.size();)
        {
            if (control_.shouldStopOrPoll())
                return false;
            Index const to = std::min(from + eventsPerLook, events.size());
            for (Index place = from; place != to; ++place)
            {
                Event const event = events[place];
                auto const lane = laneOf_[state_[event.sample()].number()];
                if (lane > 0)
                    take(place, event, lane - 1);
            }
            from = to;
        }
        return true;
    }

    // Decide for every sample of the nodes that are split on a feature whether it goes left, as the worst placement
    // says: who stands left stays there, up to the share of its class. False where the Control stopped it.
    bool distribute(Index feature)
    {
        std::vector<Standing<classes>> standing;
        std::vector<Index> threshold;
        for (Index const k : askedOf(feature))
        {
            standing.emplace_back(problem_.nClasses);
            standing.back().allRight(openAt(k).held.totals);
            threshold.push_back(openAt(k).best.place);
        }
        giveLanes(askedOf(feature));
        auto const stand = [&](Index place, Event event, std::size_t k)
        {
            Index const i = event.sample();
            if (place <= threshold[k])
                standing[k].pass(event.end(), problem_.label[i], problem_.weight[i]);
            if (place <= threshold[k] || event.kind() == Event::lower)
                goesLeft_[i] = place <= threshold[k] && event.kind() != Event::lower ? 1 : 0;
        };
        bool isFinished = eachAsked(feature, stand);
        std::vector<ClassWeights<classes>> balance;  // what is still to be moved left, by class
        for (auto const &one : standing)
        {
            Placement<classes> placement(problem_.nClasses);
            placement.hold(one, problem_.robustWeight, problem_.whole);
            CriterionOf::place(placement, problem_.whole);
            balance.push_back(placement.moved);
            for (Index c = 0; c != placement.moved.size(); ++c)
                balance.back()[c] -= placement.staysLeft[c];
        }
        auto const move = [&](Index place, Event event, std::size_t k)
        {
            Index const i = event.sample();
            bool const isBefore = place <= threshold[k];
            if (event.kind() != (isBefore ? Event::lower : Event::upper) || goesLeft_[i] != (isBefore ? 0 : 1))
                return;
            double const w = problem_.weight[i];
            double &left = balance[k][problem_.label[i]];
            if (isBefore ? left >= 0.5 * w : left <= -0.5 * w)
            {
                goesLeft_[i] = isBefore ? 1 : 0;
                left += isBefore ? -w : w;
            }
        };
        isFinished = isFinished && eachAsked(feature, move);
        takeLanes(askedOf(feature));
        return isFinished;
    }

    // Whether both sides of a split are as large as they must be.
    [[nodiscard]] bool isAllowed(Held<classes> const &left, Held<classes> const &right) const
    {
        return std::min(left.size, right.size) >= std::max<Index>(limits_.minSamplesLeaf, 1) &&
               (limits_.minWeightLeaf <= 0.0 || std::min(left.weight(), right.weight()) >= limits_.minWeightLeaf);
    }

    // What goes right and left of every open node: two entries for each, of those that are not split empty.
    [[nodiscard]] std::vector<Held<classes>> sides() const
    {
        std::vector<Held<classes>> sides(2 * (open_.size() + 1), Held<classes>(problem_.nClasses));
        for (Index i = 0; i != nSamples(); ++i)
        {
            std::size_t const number = state_[i].number();
            if (number == SampleState::closed || !open_[number - 1].gains())
                continue;
            auto &side = sides[2 * number + goesLeft_[i]];
            ++side.size;
            side.totals[problem_.label[i]] += problem_.weight[i];
        }
        return sides;
    }

    // Split the open nodes whose splits gain and are allowed; their children are the next ones that are open.
    void split()
    {
        for (auto &asking : asked_)
            asking.clear();
        for (Index k = 0; k != static_cast<Index>(open_.size()); ++k)
            if (openAt(k).gains())
                askedOf(openAt(k).best.feature).push_back(k);
        for (Index j = 0; j != nFeatures(); ++j)
            if (!askedOf(j).empty() && !distribute(j))
                return closeAll();
        auto const parts = sides();
        std::vector<Index> numberOf(parts.size(), SampleState::closed);
        auto const parents = std::exchange(open_, {});
        for (std::size_t k = 0; k != parents.size(); ++k)
        {
            auto const &parent = parents[k];
            auto const &right = parts[2 * k + 2], &left = parts[2 * k + 3];
            if (!parent.gains() || !isAllowed(left, right))
                continue;
            Index const child = tree_.split(parent.node, parent.best.feature, parent.best.place);
            rankBegin_.resize(static_cast<std::size_t>(tree_.size()), -1);
            rankBegin_[static_cast<std::size_t>(parent.node)] = beginOfRank(parent.best);
            numberOf[2 * k + 3] = labelled(child, left);
            numberOf[2 * k + 2] = labelled(child + 1, right);
        }
        for (Index i = 0; i != nSamples(); ++i)
            state_[i] = SampleState(numberOf[2 * state_[i].number() + goesLeft_[i]], state_[i].carried());
        laneOf_.assign(open_.size() + 1, 0);
    }

    [[nodiscard]] Index beginOfRank(Candidate const &split) const
    {
        auto const events = problem_.events.row(split.feature);
        Index place = split.place;
        while (place > 0 && !events[place].beginsRank())
            --place;
        return place;
    }

    // Label a node by its heaviest class; its number among the open ones if it is worth splitting.
    Index labelled(Index node, Held<classes> const &held)
    {
        auto &leaf = tree_[node];
        leaf.label = held.heaviest();
        double const weight = held.weight();
        if (leaf.depth >= limits_.maxDepth || held.size < limits_.minSamplesSplit ||
            !(held.totals[leaf.label] < weight) || static_cast<Index>(open_.size()) >= SampleState::mostNodes)
            return SampleState::closed;
        open_.push_back({node, held, CriterionOf::Impurity::ofNode(held.totals, weight)});
        if (limits_.maxFeatures < nFeatures())
        {
            open_.back().order.resize(static_cast<std::size_t>(nFeatures()));
            std::iota(open_.back().order.begin(), open_.back().order.end(), Index{0});
        }
        return static_cast<Index>(open_.size());
    }

    void closeAll() { open_.clear(); }

    void openRoot()
    {
        Held<classes> all(problem_.nClasses);
        for (Index i = 0; i != nSamples(); ++i)
            if (problem_.weight[i] > 0.0)
            {
                ++all.size;
                all.totals[problem_.label[i]] += problem_.weight[i];
            }
        Index const number = labelled(0, all);
        for (Index i = 0; i != nSamples(); ++i)
        {
            double const w = problem_.weight[i];
            state_[i] =
                SampleState(w > 0.0 ? number : Index{SampleState::closed}, scorer_.carriedOf(problem_.label[i], w));
        }
        laneOf_.assign(open_.size() + 1, 0);
    }

public:
    ImpurityGrowth(ImpurityProblem const &problem, GrowthLimits limits, std::uint32_t seed, Control &control)
        : problem_(problem),
          limits_(limits),
          control_(control),
          random_(seed),
          scorer_(problem),
          tree_(problem.label.size()),
          rankBegin_(1, -1),
          state_(problem.label.size()),
          goesLeft_(problem.label.size()),
          asked_(static_cast<std::size_t>(problem.events.rows()))
    {
        limits_.maxFeatures = std::max<Index>(limits_.maxFeatures, 1);
    }

    GrowingTree run()
    {
        openRoot();
        while (!open_.empty())
            if (findSplits())
                split();
            else
                closeAll();
        return std::move(tree_);
    }
};

template <class CriterionOf, Index classes, class Scorer>
GrowingTree growBy(ImpurityProblem const &problem, GrowthLimits limits, std::uint32_t seed, Control &control)
{
    return ImpurityGrowth<CriterionOf, classes, Scorer>(problem, limits, seed, control).run();
}

bool areSmallWholeNumbers(Span<double const> weight, std::uint32_t largest)
{
    return std::all_of(weight.begin(), weight.end(),
                       [=](double w) { return w <= largest && w == static_cast<double>(static_cast<int>(w)); });
}

template <class CriterionOf, Index classes>
GrowingTree growWith(ImpurityProblem const &problem, GrowthLimits limits, std::uint32_t seed, Control &control)
{
    if (problem.robustWeight == 1.0)
    {
        if constexpr (classes == 2 && std::is_same_v<CriterionOf, Groot>)
        {
            if (areSmallWholeNumbers(problem.weight, TwoClassScorer<false>::largestWeight))
                return problem.whole ? growBy<Groot, 2, TwoClassScorer<true>>(problem, limits, seed, control)
                                     : growBy<Groot, 2, TwoClassScorer<false>>(problem, limits, seed, control);
        }
        else if constexpr (std::is_same_v<typename CriterionOf::Impurity, Gini>)
            if (areSmallWholeNumbers(problem.weight, PackedSamples(problem.nClasses).largestWeight()))
                return growBy<CriterionOf, classes, StandingScorer<CriterionOf, classes, true>>(problem, limits, seed,
                                                                                                control);
    }
    return growBy<CriterionOf, classes, StandingScorer<CriterionOf, classes, false>>(problem, limits, seed, control);
}

template <class CriterionOf>
GrowingTree growWith(ImpurityProblem const &problem, GrowthLimits limits, std::uint32_t seed, Control &control)
{
    return problem.nClasses == 2 ? growWith<CriterionOf, 2>(problem, limits, seed, control)
                                 : growWith<CriterionOf, 0>(problem, limits, seed, control);
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
