#include "search/depth_two.h"

#include <algorithm>
#include <tuple>

namespace hardwood::search
{
namespace
{
Weight magnitude(Weight weight)
{
    return weight < 0 ? -weight : weight;
}

// The weight with the sign of its class: class 1 counts downwards.
template <class Classes>
Weight signedFor(Label label, Weight weight)
{
    if constexpr (Classes::hasTwoOrders)
        return (weight ^ -Weight{label}) + label;  // -weight for class 1, without a branch
    else
        return weight;
}

// Sums of weight by class. Two classes are summed in registers: one sum of all, one of class 1.
template <class Classes>
class Totals
{
    Span<Weight> total_;
    Weight all_ = 0;
    Weight ofOne_ = 0;

public:
    explicit Totals(Span<Weight> total) : total_(total) { std::fill(total_.begin(), total_.end(), Weight{0}); }
    void add(Label label, Weight weight)
    {
        if constexpr (Classes::hasTwoOrders)
        {
            all_ += weight;
            ofOne_ += weight & -Weight{label};
        }
        else
        {
            total_[label] += weight;
        }
    }
    void write()
    {
        if constexpr (Classes::hasTwoOrders)
        {
            total_[0] = all_ - ofOne_;
            total_[1] = ofOne_;
        }
    }
};
}  // namespace

std::unique_ptr<Node> makeDepthTwo(Workspace &work, Index level)
{
    if (work.problem.minLeaf > 0)
        return std::make_unique<DepthTwo<ManyClassesMinLeaf>>(work, level);
    if (work.problem.nClasses != 2)
        return std::make_unique<DepthTwo<ManyClasses>>(work, level);
    return std::make_unique<DepthTwo<TwoClasses>>(work, level);
}

template <class Classes>
DepthTwo<Classes>::DepthTwo(Workspace &work, Index level) : Node(work, level, 2), hasRanks_(work.problem.nFeatures)
{
    auto const p = problem_.nFeatures;
    for (auto &child : children_)
    {
        child.total = Array<Weight>(problem_.nClasses);
        child.bound = Array<Weight>(p + 1);
        child.isExact = Array<std::uint8_t>(p + 1);
        child.split.resize(static_cast<std::size_t>(p));
    }
}

// --- The samples of the node, by place ---

template <class Classes>
void DepthTwo<Classes>::fill(Span<Event const> source, Index sourceWidth)
{
    auto const n = problem_.nSamples;
    carryWeights();
    makeRoom(label_, size_, n);
    makeRoom(own_, size_, n);
    makeRoom(reach_, size_, n);
    makeRoom(wrong_, size_, n);
    makeRoom(disputed_, size_ + 1, n + 1);
    if (mark_.size() < size_)
        mark_ = Array<Mark>(n, Mark::none);
    for (Index k = 0; k < size_; ++k)
        label_[k] = problem_.label[ids_[k]];
    for (auto &lost : lost_)
        makeRoom(lost, size_, n);
    makeRoom(ranks_, problem_.nFeatures * 2 * size_, problem_.nFeatures * 2 * n);
    std::fill(hasRanks_.begin(), hasRanks_.end(), std::uint8_t{0});
    makeRoom(orders_, problem_.nFeatures * 2 * size_, problem_.nFeatures * 2 * n);
    for (Index j = 0; j < problem_.nFeatures && !work_.shouldStop(); ++j)
        keepEvents(j, source.part(j * sourceWidth, sourceWidth));
}

// The children's weights stay with their samples when the node is filled anew; weight of samples that left was taken.
template <class Classes>
void DepthTwo<Classes>::carryWeights()
{
    for (Index c = 0; c < 2; ++c)
    {
        auto &weight = children_[static_cast<std::size_t>(c)].weight;
        auto &previous = previousWeight_[static_cast<std::size_t>(c)];
        std::swap(weight, previous);
        makeRoom(weight, size_, problem_.nSamples);
        Weight taken = 0;
        Index old = 0;
        auto const nOld = static_cast<Index>(previousIds_.size());
        auto const oldId = Span<Sample const>(previousIds_);
        for (Index k = 0; k < size_; ++k)
        {
            for (; old < nOld && oldId[old] < ids_[k]; ++old)
                taken += magnitude(previous[old]);
            weight[k] = old < nOld && oldId[old] == ids_[k] ? previous[old++] : 0;
        }
        for (; old < nOld; ++old)
            taken += magnitude(previous[old]);
        lowerBounds(c, taken);
    }
    previousIds_.assign(ids_.begin(), ids_.begin() + size_);
}

template <class Classes>
void DepthTwo<Classes>::keepEvents(Index feature, Span<Event const> source)
{
    work_.lookedAt(source.size());
    Index nKept = 0;
    for (auto const event : source)
    {
        auto const place = work_.place[event.sample()];
        work_.kept[nKept] = Event(place, event.isUpper());
        nKept += place >= 0 ? 1 : 0;
    }
    auto const kept = work_.kept.view().part(0, nKept);
    auto const row = orders_.view().part(feature * 2 * size_, 2 * size_);
    Index rising = 0;
    Index falling = size_;
    for (Index k = 0; k < nKept; ++k)
    {
        auto const place = static_cast<std::uint32_t>(kept[k].sample());
        if constexpr (Classes::hasTwoOrders)
        {
            auto const falls = kept[k].isUpper() == (label_[place] == 1);
            row[falls ? falling : rising] = place;
            falling += falls ? 1 : 0;
            rising += falls ? 0 : 1;
        }
        else
        {
            row[k] = kept[k];
        }
        // For the candidates the samples' own numbers are needed.
        kept[k] = Event(ids_[place], kept[k].isUpper());
    }
    noteCandidates(feature, kept);
}

template <class Classes>
void DepthTwo<Classes>::takeWeights()
{
    for (Index k = 0; k < size_; ++k)
        own_[k] = weight_[ids_[k]];
}

// The ranks of the samples by place, lower ends before upper ends: copied once, read often.
template <class Classes>
Span<Rank const> DepthTwo<Classes>::ranksOf(Index feature)
{
    auto const row = ranks_.view().part(feature * 2 * size_, 2 * size_);
    if (hasRanks_[feature] == 0)
    {
        auto const lower = problem_.lower(feature);
        auto const upper = problem_.upper(feature);
        for (Index k = 0; k < size_; ++k)
        {
            row[k] = lower[ids_[k]];
            row[size_ + k] = upper[ids_[k]];
        }
        hasRanks_[feature] = 1;
    }
    return row;
}

// --- The two sides of a threshold, or of a range ---

template <class Classes>
void DepthTwo<Classes>::setSides(Index feature, Rank first, Rank last)
{
    work_.lookedAt(size_);
    // Local views: a byte that is written could otherwise be part of anything, and all would be read anew.
    auto const ranks = ranksOf(feature);
    auto const lower = ranks.part(0, size_);
    auto const upper = ranks.part(size_, size_);
    auto const share = shares_.of(feature);
    auto const leftWeight = children_[0].weight.view();
    auto const rightWeight = children_[1].weight.view();
    auto const [id, label, own, mark, reach] =
        std::tuple(ids(), label_.view(), own_.view(), mark_.view(), reach_.view());
    auto const forbidden = problem_.forbidden;
    Totals<Classes> totalLeft(children_[0].total.view());
    Totals<Classes> totalRight(children_[1].total.view());
    Weight takenLeft = 0;
    Weight takenRight = 0;
    for (Index k = 0; k < id.size(); ++k)
    {
        auto const toLeft = lower[k] <= first;
        auto const toRight = upper[k] > last;
        reach[k] = static_cast<std::uint8_t>((toLeft ? 1 : 0) | (toRight ? 2 : 0));
        auto const [a, b] = divide(own[k], mark[k], toLeft, toRight, share[id[k]], forbidden);
        takenLeft += std::max<Weight>(0, magnitude(leftWeight[k]) - a);
        takenRight += std::max<Weight>(0, magnitude(rightWeight[k]) - b);
        totalLeft.add(label[k], a);
        totalRight.add(label[k], b);
        leftWeight[k] = signedFor<Classes>(label[k], a);
        rightWeight[k] = signedFor<Classes>(label[k], b);
    }
    totalLeft.write();
    totalRight.write();
    if constexpr (Classes::hasMinLeaf)
    {
        countCertain(feature, first, last);
        // Which splits are allowed changes with the samples: nothing is known of the new ones.
        takenLeft = takenRight = everything;
    }
    lowerBounds(0, takenLeft);
    lowerBounds(1, takenRight);
}

// For a range a sample counts as certain if it is at some threshold of the range: the easier problem.
template <class Classes>
void DepthTwo<Classes>::countCertain(Index feature, Rank first, Rank last)
{
    auto const lower = problem_.lower(feature);
    auto const upper = problem_.upper(feature);
    for (auto &child : children_)
    {
        makeRoom(child.certain, size_, problem_.nSamples);
        child.nCertain = 0;
    }
    for (Index k = 0; k < size_; ++k)
    {
        auto const i = ids_[k];
        auto const count = isCertain_[i] != 0 ? problem_.count[i] : 0;
        children_[0].certain[k] = upper[i] <= last ? count : 0;
        children_[1].certain[k] = lower[i] > first ? count : 0;
        for (auto &child : children_)
            child.nCertain += child.certain[k];
    }
}

// Let the bounds per feature follow a change that took so much weight away; a plain leaf is always known exactly.
template <class Classes>
void DepthTwo<Classes>::lowerBounds(Index which, Weight taken)
{
    auto &child = children_[static_cast<std::size_t>(which)];
    auto const leaf = problem_.nFeatures;
    for (Index j = 0; j < leaf; ++j)
    {
        child.bound[j] = std::max<Weight>(0, child.bound[j] - taken);
        child.isExact[j] = 0;
    }
    Weight sum = 0;
    Weight heaviest = 0;
    for (auto const total : child.total)
    {
        sum += total;
        heaviest = std::max(heaviest, total);
    }
    child.bound[leaf] = child.nCertain < problem_.minLeaf ? problem_.forbidden : sum - heaviest + problem_.penalty;
    child.isExact[leaf] = 1;
}

// As if no scan had been made before.
template <class Classes>
void DepthTwo<Classes>::forgetBounds()
{
    for (auto &child : children_)
        std::fill(child.bound.begin(), child.bound.end() - 1, Weight{0});
}

// --- The two best stumps ---

template <class Classes>
void DepthTwo<Classes>::scan(Index which, Index feature)
{
    auto &child = children_[static_cast<std::size_t>(which)];
    auto &split = child.split[static_cast<std::size_t>(feature)];
    auto const order = orderOf(feature);
    ++counters_.scans;
    work_.scanned(size_);
    Weight sum = 0;
    for (auto const total : child.total)
        sum += total;
    if constexpr (Classes::hasTwoOrders)
    {
        auto const [best01, best10] = scanTwoClasses(order.part(0, size_), order.part(size_, size_),
                                                     child.weight.view(), child.total[0], child.total[1]);
        auto const zeroIsLeft = best01 >= best10;
        split = {zeroIsLeft ? best01 : best10, -1, zeroIsLeft ? 0 : 1, zeroIsLeft ? 1 : 0};
    }
    else
    {
        CertainCounts const certain{child.certain.view(), child.nCertain, problem_.minLeaf};
        split = scanManyClasses<Classes::hasMinLeaf>(order, label_.view(), child.weight.view(), child.total.view(),
                                                     certain, work_.classWeight.view());
    }
    child.bound[feature] = split.right < 0 ? problem_.forbidden : sum - split.right + 2 * problem_.penalty;
    child.isExact[feature] = 1;
}

// The feature of the child's stump with the least bound; of equals a plain leaf, then the first.
template <class Classes>
Index DepthTwo<Classes>::cheapest(Index which) const
{
    auto const bound = children_[static_cast<std::size_t>(which)].bound.view();
    auto const leaf = problem_.nFeatures;
    auto best = leaf;
    auto least = bound[leaf];
    for (Index j = 0; j < leaf; ++j)
    {
        best = bound[j] < least ? j : best;
        least = std::min(least, bound[j]);
    }
    return best;
}

// Scan features until the two best stumps are known or their bounds reach the cutoff.
template <class Classes>
typename DepthTwo<Classes>::Choice DepthTwo<Classes>::choose(Weight cutoff)
{
    std::array<Index, 2> best{cheapest(0), cheapest(1)};
    while (true)
    {
        auto const left = children_[0].bound[best[0]];
        auto const right = children_[1].bound[best[1]];
        if (left + right >= cutoff)
            return {Verdict::pruned, left + right, best};
        auto const leftIsExact = children_[0].isExact[best[0]] != 0;
        auto const rightIsExact = children_[1].isExact[best[1]] != 0;
        if (leftIsExact && rightIsExact)
            return {Verdict::undecided, left + right, best};
        if (work_.shouldStop())
            return {Verdict::stopped, left + right, best};
        auto const scanLeft = rightIsExact || (!leftIsExact && left <= right);
        auto const child = scanLeft ? 0 : 1;
        scan(child, best[static_cast<std::size_t>(child)]);
        best[static_cast<std::size_t>(child)] = cheapest(child);
    }
}

template <class Classes>
Stump DepthTwo<Classes>::stumpOf(Index which, Index feature) const
{
    auto const &child = children_[static_cast<std::size_t>(which)];
    if (feature == problem_.nFeatures)
    {
        auto const heaviest = std::max_element(child.total.begin(), child.total.end());
        return {.left = static_cast<Label>(heaviest - child.total.begin())};
    }
    auto const &split = child.split[static_cast<std::size_t>(feature)];
    auto const order = orderOf(feature);
    Index place;
    if constexpr (Classes::hasTwoOrders)
    {
        // What a plain leaf gets right would be as cheap without a split, so there is an event.
        auto const zeroIsLeft = split.leftLabel == 0;
        auto const half = order.part(zeroIsLeft ? 0 : size_, size_);
        place =
            half[placeOf(half, child.weight.view(), zeroIsLeft ? 1 : -1, child.total[split.rightLabel], split.right)];
    }
    else
    {
        place = order[split.event].sample();
    }
    return {feature, problem_.upper(feature)[ids_[place]], split.leftLabel, split.rightLabel};
}

// Mark who reaches a leaf of another class in the stump. No branch in this loop: who is lost is hard to foretell.
template <class Classes>
void DepthTwo<Classes>::markLost(Stump const &stump, Span<std::uint8_t> lost)
{
    auto const ranks = ranksOf(std::max<Index>(0, stump.feature));
    auto const lower = ranks.part(0, size_);
    auto const upper = ranks.part(size_, size_);
    auto const label = label_.view();
    auto const own = stump;
    for (Index k = 0, n = size_; k < n; ++k)
        lost[k] = static_cast<std::uint8_t>(own.loses(lower[k], upper[k], label[k]));
}

// Join the two stumps to a real tree and see which samples it loses, and on which only one side is wrong.
template <class Classes>
typename DepthTwo<Classes>::Joined DepthTwo<Classes>::join(Choice const &choice)
{
    for (std::size_t c = 0; c < 2; ++c)
        stump_[c] = stumpOf(static_cast<Index>(c), choice.feature[c]);
    auto const [own, mark, reach, wrong] = std::tuple(own_.view(), mark_.view(), reach_.view(), wrong_.view());
    for (std::size_t c = 0; c < 2; ++c)
        markLost(stump_[c], lost_[c].view());
    auto const [left, right] = std::pair(lost_[0].view(), lost_[1].view());
    auto const n = size_;  // in a register: a byte that is written could be part of it
    for (Index k = 0; k < n; ++k)
        wrong[k] = static_cast<std::uint8_t>((left[k] | (right[k] << 1)) & reach[k]);
    Weight cost = problem_.penalty * (stump_[0].nLeaves() + stump_[1].nLeaves());
    for (Index k = 0; k < n; ++k)
        cost += own[k] & -Weight{wrong[k] != 0};
    auto const disputed = disputed_.view();
    Index nDisputed = 0;
    for (Index k = 0; k < n; ++k)
    {
        disputed[nDisputed] = static_cast<Sample>(k);
        nDisputed += static_cast<Index>((reach[k] == 3) & ((wrong[k] == 1) | (wrong[k] == 2)));
    }
    nDisputed = std::remove_if(disputed.begin(), disputed.begin() + nDisputed,
                               [&](Sample k) { return own[k] == 0 || mark[k] == Mark::givenUp; }) -
                disputed.begin();
    Index heaviest = -1;
    for (Index m = 0; m < nDisputed; ++m)
        if (heaviest < 0 || own[disputed[m]] > own[heaviest])
            heaviest = disputed[m];
    nDisputed_ = nDisputed;
    return {cost, nDisputed, heaviest};
}

// Move weight of the disputed samples to the child that loses them.
template <class Classes>
void DepthTwo<Classes>::moveWeight(Index feature, Weight step)
{
    auto &[left, right] = children_;
    auto const share = shares_.of(feature);
    Weight takenLeft = 0;
    Weight takenRight = 0;
    for (Index const k : disputed_.view().part(0, nDisputed_))
    {
        if (mark_[k] != Mark::none)
            continue;
        auto const w = own_[k];
        auto const old = magnitude(left.weight[k]);
        auto const wanted = wrong_[k] == 1 ? std::min(w, old + step) : std::max<Weight>(0, old - step);
        share[ids_[k]] = shareOf(wanted, w);
        auto const now = partOf(w, share[ids_[k]]);
        takenLeft += std::max<Weight>(0, old - now);
        takenRight += std::max<Weight>(0, now - old);
        auto const label = label_[k];
        left.total[label] += now - old;
        right.total[label] += old - now;
        left.weight[k] = signedFor<Classes>(label, now);
        right.weight[k] = signedFor<Classes>(label, w - now);
    }
    lowerBounds(0, takenLeft);
    lowerBounds(1, takenRight);
}

// Raise the bound of the sides that were set to the cutoff, or find a pair of stumps below it.
template <class Classes>
typename DepthTwo<Classes>::Outcome DepthTwo<Classes>::evaluate(Index feature, Weight cutoff, Weight givenUp,
                                                                Index rounds, bool isRange)
{
    ++counters_.evaluations;
    for (Index turn = 0;; ++turn)
    {
        if (!work_.options.useLazyScan)
            forgetBounds();
        auto const choice = choose(cutoff);
        if (choice.verdict != Verdict::undecided)
            return {choice.verdict, choice.bound, -1};
        ++counters_.rounds;
        if (isRange && turn == rounds)
            return {Verdict::undecided, choice.bound, -1};
        auto const joined = join(choice);
        if (joined.cost < cutoff + givenUp)
            return {Verdict::found, joined.cost, -1};
        if (turn == rounds || joined.nDisputed == 0)
            return {Verdict::undecided, choice.bound, joined.heaviest};
        moveWeight(feature, std::max<Weight>(1, (cutoff - choice.bound) / joined.nDisputed));
    }
}

template <class Classes>
void DepthTwo<Classes>::unmark()
{
    for (auto const k : branch_)
        mark_[k] = Mark::none;
    branch_.clear();
}

template <class Classes>
void DepthTwo<Classes>::writeSettled(Index feature)
{
    if (work_.proof == nullptr)
        return;
    writeShares(feature);
    work_.proof->settled();
}

// Close the gap of one threshold by branching on samples: each must be correct, or is given up and paid for.
template <class Classes>
typename DepthTwo<Classes>::Outcome DepthTwo<Classes>::settle(Index feature, Rank threshold, Weight cutoff,
                                                              Index firstSample)
{
    Weight givenUp = 0;
    Outcome outcome{Verdict::undecided, cutoff, firstSample};
    while (true)
    {
        if (outcome.verdict == Verdict::undecided)
        {
            if (outcome.sample < 0)
                throw std::logic_error("a gap remains, but the two sides agree on every sample");
            branch_.push_back(outcome.sample);
            mark_[outcome.sample] = Mark::mustBeCorrect;
            if (work_.proof != nullptr)
                work_.proof->branch(ids_[outcome.sample]);
        }
        else
        {
            while (!branch_.empty() && mark_[branch_.back()] == Mark::givenUp)
            {
                mark_[branch_.back()] = Mark::none;
                givenUp -= own_[branch_.back()];
                branch_.pop_back();
            }
            if (branch_.empty())
                return {Verdict::pruned, cutoff, -1};
            mark_[branch_.back()] = Mark::givenUp;
            givenUp += own_[branch_.back()];
        }
        ++counters_.branches;
        setSides(feature, threshold, threshold);
        outcome = evaluate(feature, cutoff - givenUp, givenUp, work_.options.rounds, false);
        if (outcome.verdict == Verdict::pruned)
            writeSettled(feature);
        if (outcome.verdict == Verdict::found || outcome.verdict == Verdict::stopped)
        {
            if (work_.proof != nullptr)
                work_.proof->dropped();
            unmark();
            return outcome;
        }
    }
}

template <class Classes>
SweepEnd DepthTwo<Classes>::sweep(Index feature, Weight cutoff, Index start)
{
    if (start == 0)
    {
        listActive(feature, cutoff);
        if (!work_.options.useCarry)
            shares_.forget(feature);
    }
    auto const &known = candidates(feature);
    Index position = start;
    while (position < nActive() && !work_.shouldStop())
    {
        cutoff = share(feature, position, cutoff);
        auto const last = std::min(position + width_, nActive()) - 1;
        auto const firstCandidate = active(position);
        auto const lastCandidate = active(last);
        auto const isRange = firstCandidate != lastCandidate;
        setSides(feature, known.at(firstCandidate), known.at(lastCandidate));
        auto outcome =
            evaluate(feature, cutoff, 0, isRange ? work_.options.rangeRounds : work_.options.rounds, isRange);
        if (outcome.verdict == Verdict::stopped)
            break;
        if (outcome.verdict == Verdict::pruned)
        {
            if (work_.proof != nullptr)
                writeRange(feature, firstCandidate, lastCandidate);
            writeSettled(feature);
            remember(feature, firstCandidate, lastCandidate, outcome.value);
            position = last + 1;
            widen();
            continue;
        }
        if (isRange)
        {
            width_ = std::max<Index>(1, (last - position + 1) / 2);
            continue;
        }
        if (outcome.verdict == Verdict::undecided)
        {
            if (work_.proof != nullptr)
                writeRange(feature, firstCandidate, lastCandidate);
            outcome = settle(feature, known.at(firstCandidate), cutoff, outcome.sample);
        }
        if (outcome.verdict == Verdict::stopped)
            break;
        if (outcome.verdict == Verdict::pruned)
        {
            remember(feature, firstCandidate, lastCandidate, cutoff);
            ++position;
            continue;
        }
        found_ = Tree::join(feature, known.at(firstCandidate), Tree::of(stump_[0]), Tree::of(stump_[1]));
        return {true, outcome.value, position};
    }
    return {false, cutoff, nActive()};
}

template class DepthTwo<TwoClasses>;
template class DepthTwo<ManyClasses>;
template class DepthTwo<ManyClassesMinLeaf>;
}  // namespace hardwood::search
