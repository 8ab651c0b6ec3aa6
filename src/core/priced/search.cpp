#include "priced/search.h"

#include <algorithm>

#include "priced/stump.h"

namespace hardwood
{
namespace
{
constexpr int roundsAtOne = 12;   // subgradient rounds at a single threshold
constexpr int roundsAtRange = 3;  // and at a range of them

std::size_t at(Index index)
{
    return static_cast<std::size_t>(index);
}

// The samples of a node that can be brought to one side of a split, and their places at the node.
Stand moved(Prices const &prices, Stand const &stand, Side side, std::vector<Index> *place = nullptr)
{
    Stand part;
    part.region = divided(prices, stand.region, side);
    if (part.region.first(side.feature) > part.region.last(side.feature))
        return part;
    for (std::size_t k = 0; k != stand.sample.size(); ++k)
    {
        auto const sample = stand.sample[k];
        auto const spent = stand.spent[k] - blockPrice(prices, stand.region, side.feature, sample) +
                           blockPrice(prices, part.region, side.feature, sample);
        if (spent > prices.affordable)
            continue;
        part.sample.push_back(sample);
        part.spent.push_back(spent);
        if (place != nullptr)
            place->push_back(static_cast<Index>(k));
    }
    return part;
}

Plan joined(Index feature, Index threshold, Plan const &left, Plan const &right)
{
    Plan plan{{feature, threshold, 1, 1 + static_cast<Index>(left.size()), 0}};
    for (auto const *side : {&left, &right})
    {
        auto const offset = static_cast<Index>(plan.size());
        for (PlanNode node : *side)
        {
            if (node.left >= 0)
            {
                node.left += offset;
                node.right += offset;
            }
            plan.push_back(node);
        }
    }
    return plan;
}

Cost leavesOf(Plan const &plan)
{
    return std::count_if(plan.begin(), plan.end(), [](PlanNode const &node) { return node.left < 0; });
}

void markLost(PricedProblem const &problem, Stand const &stand, std::vector<Index> const &place, Plan const &plan,
              Index node, std::vector<char> &lost)
{
    auto const &here = plan[at(node)];
    if (here.left < 0)
    {
        for (std::size_t k = 0; k != stand.sample.size(); ++k)
            if (problem.label[stand.sample[k]] != here.label)
                lost[at(place[k])] = 1;
        return;
    }
    for (bool const isLeft : {true, false})
    {
        std::vector<Index> among;
        auto const part = moved(problem.prices, stand, {here.feature, here.threshold, isLeft}, &among);
        for (auto &k : among)
            k = place[at(k)];
        markLost(problem, part, among, plan, isLeft ? here.left : here.right, lost);
    }
}
}  // namespace

Stand everybody(Prices const &prices)
{
    Stand stand;
    stand.region = Region::all(prices);
    for (Index i = 0; i != prices.samples; ++i)
    {
        stand.sample.push_back(i);
        stand.spent.push_back(0);
    }
    return stand;
}

std::vector<char> lostBy(PricedProblem const &problem, Stand const &stand, Plan const &plan)
{
    std::vector<char> lost(stand.sample.size(), 0);
    std::vector<Index> place(stand.sample.size());
    for (std::size_t k = 0; k != place.size(); ++k)
        place[k] = static_cast<Index>(k);
    markLost(problem, stand, place, plan, 0, lost);
    return lost;
}

Answer solvePriced(PricedProblem const &problem, Stand const &stand, std::vector<Cost> const &weight, int depth,
                   Cost cutoff, Control &control)
{
    if (control.shouldStopOrPoll())
        throw PricedFrame::Stopped{};
    Answer best = bestLeaf(problem, stand, weight);
    if (depth == 0 || best.bound == problem.leafPenalty)
        return best;
    if (depth == 1)
    {
        improveByStump(problem, stand, weight, best);
        return best;
    }
    PricedFrame frame(problem, stand, weight, depth, cutoff, 1, control);
    while (frame.advance())
    {
    }
    return frame.cost() < cutoff ? Answer{frame.cost(), frame.plan()} : Answer{frame.bound(), frame.plan()};
}

PricedFrame::PricedFrame(PricedProblem const &problem, Stand stand, std::vector<Cost> weight, int depth, Cost cutoff,
                         Cost step, Control &control)
    : problem_(problem),
      stand_(std::move(stand)),
      weight_(std::move(weight)),
      depth_(depth),
      step_(step),
      control_(control),
      upper_(cutoff)
{
    auto best = bestLeaf(problem_, stand_, weight_);
    improveByStump(problem_, stand_, weight_, best);
    cost_ = best.bound;
    plan_ = std::move(best.plan);
    upper_ = std::min(upper_, cost_);
    for (Index j = 0; j != problem_.prices.features(); ++j)
    {
        auto const first = stand_.region.first(j), last = stand_.region.last(j);
        if (first < last)
            waiting_.push({0, j, first, last - 1, nullptr});
    }
}

Cost PricedFrame::bound() const
{
    return waiting_.empty() ? upper_ : std::min(upper_, waiting_.top().bound);
}

bool PricedFrame::advance()
{
    if (!waiting_.empty() && waiting_.top().bound < limit())
    {
        auto const range = waiting_.top();
        work(range);  // where it is stopped, the range is still waiting
    }
    else
        waiting_ = {};
    return !waiting_.empty();
}

PricedFrame::Sides PricedFrame::sidesOf(Range const &range) const
{
    Sides sides;
    sides.left = moved(problem_.prices, stand_, {range.feature, range.first, true}, &sides.leftPlace);
    sides.right = moved(problem_.prices, stand_, {range.feature, range.last, false}, &sides.rightPlace);
    sides.inBoth.assign(stand_.sample.size(), 0);
    for (auto const k : sides.leftPlace)
        sides.inBoth[at(k)] = 1;
    for (auto const k : sides.rightPlace)
        sides.inBoth[at(k)] = sides.inBoth[at(k)] == 1 ? 2 : 0;
    for (auto &flag : sides.inBoth)
        flag = flag == 2 ? 1 : 0;
    return sides;
}

void PricedFrame::work(Range range)
{
    auto const sides = sidesOf(range);
    std::vector<Cost> share(weight_.size());
    for (std::size_t k = 0; k != share.size(); ++k)
        share[k] = range.share ? (*range.share)[k] : weight_[k] / 2;
    Decisions const nothing{weight_, std::vector<char>(weight_.size(), 0), 0};
    std::vector<Range> next;
    if (range.first == range.last)
        close(range, sides, nothing, std::move(share));
    else
    {
        auto best = std::make_shared<std::vector<Cost>>(share);
        auto const middle = range.first + (range.last - range.first) / 2;
        bool isSettled = false;
        for (int round = 0; round != roundsAtRange && !isSettled; ++round)
        {
            auto const priced = price(sides, nothing, share);
            isSettled = priced.isSettled;
            if (isSettled)
                break;
            if (priced.bound > range.bound)
            {
                range.bound = priced.bound;
                *best = share;
            }
            if (round == 0)
                consider(range.feature, middle, priced.left.plan, priced.right.plan);
            if (!shift(sides, nothing, priced, round, share))
                break;
        }
        if (!isSettled)
        {
            next.push_back({range.bound, range.feature, range.first, middle, best});
            next.push_back({range.bound, range.feature, middle + 1, range.last, best});
        }
    }
    waiting_.pop();
    for (auto &part : next)
        waiting_.push(std::move(part));
}

void PricedFrame::close(Range const &range, Sides const &sides, Decisions decisions, std::vector<Cost> share)
{
    Priced priced;
    for (int round = 0; round != roundsAtOne; ++round)
    {
        priced = price(sides, decisions, share);
        if (priced.isSettled)
            return;
        consider(range.feature, range.first, priced.left.plan, priced.right.plan);
        if (priced.bound >= limit())
            return;
        if (!shift(sides, decisions, priced, round, share))
            return;  // nobody is lost on one side only: the joined tree costs what the bound says
    }
    Index chosen = -1;
    for (std::size_t k = 0; k != weight_.size(); ++k)
        if (sides.inBoth[k] != 0 && decisions.isForced[k] == 0 && priced.lostLeft[k] != priced.lostRight[k] &&
            (chosen < 0 || decisions.weight[k] > decisions.weight[at(chosen)]))
            chosen = static_cast<Index>(k);
    auto forced = decisions;
    forced.isForced[at(chosen)] = 1;
    close(range, sides, std::move(forced), share);
    decisions.paid += decisions.weight[at(chosen)];
    decisions.weight[at(chosen)] = 0;
    share[at(chosen)] = 0;
    close(range, sides, std::move(decisions), std::move(share));
}

PricedFrame::Priced PricedFrame::price(Sides const &sides, Decisions const &decisions, std::vector<Cost> const &share)
{
    Priced priced;
    priced.bound = decisions.paid;
    for (bool const isLeft : {true, false})
    {
        auto const &side = isLeft ? sides.left : sides.right;
        auto const &place = isLeft ? sides.leftPlace : sides.rightPlace;
        Stand heavy;  // without samples that weigh nothing
        heavy.region = side.region;
        std::vector<Cost> weight;
        std::vector<Index> among;
        for (std::size_t k = 0; k != side.sample.size(); ++k)
        {
            auto const own = at(place[k]);
            Cost w = decisions.weight[own];
            if (decisions.isForced[own] != 0)
                w = problem_.heavy;
            else if (sides.inBoth[own] != 0)
                w = isLeft ? share[own] : w - share[own];
            if (w == 0)
                continue;
            heavy.sample.push_back(side.sample[k]);
            heavy.spent.push_back(side.spent[k]);
            weight.push_back(w);
            among.push_back(place[k]);
        }
        auto answer = solvePriced(problem_, heavy, weight, depth_ - 1, limit() - priced.bound, control_);
        priced.bound += answer.bound;
        priced.isSettled = priced.bound >= limit();
        if (priced.isSettled)
            return priced;
        // Those that weigh nothing here may be lost as well; what counts is whether the side charges for them.
        auto const lost = lostBy(problem_, side, answer.plan);
        auto &mark = isLeft ? priced.lostLeft : priced.lostRight;
        mark.assign(weight_.size(), 0);
        for (std::size_t k = 0; k != place.size(); ++k)
            mark[at(place[k])] = lost[k];
        (isLeft ? priced.left : priced.right) = std::move(answer);
    }
    return priced;
}

bool PricedFrame::shift(Sides const &sides, Decisions const &decisions, Priced const &priced, int round,
                        std::vector<Cost> &share) const
{
    bool isShifted = false;
    for (std::size_t k = 0; k != share.size(); ++k)
    {
        if (sides.inBoth[k] == 0 || decisions.isForced[k] != 0 || decisions.weight[k] == 0 ||
            priced.lostLeft[k] == priced.lostRight[k])
            continue;
        auto const step = std::max<Cost>(1, decisions.weight[k] / (2 + round));
        share[k] = std::clamp<Cost>(share[k] + (priced.lostLeft[k] != 0 ? step : -step), 0, decisions.weight[k]);
        isShifted = true;
    }
    return isShifted;
}

void PricedFrame::consider(Index feature, Index threshold, Plan const &left, Plan const &right)
{
    auto plan = joined(feature, threshold, left, right);
    auto const lost = lostBy(problem_, stand_, plan);
    Cost cost = problem_.leafPenalty * leavesOf(plan);
    for (std::size_t k = 0; k != lost.size(); ++k)
        if (lost[k] != 0)
            cost += weight_[k];
    if (cost < cost_)
    {
        cost_ = cost;
        plan_ = std::move(plan);
        upper_ = std::min(upper_, cost_);
    }
}
}  // namespace hardwood
