#include "search/depth_two.h"

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
        return label == 1 ? -weight : weight;
    else
        return weight;
}
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
DepthTwo<Classes>::DepthTwo(Workspace &work, Index level) : Node(work, level, 2)
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
    if (mark_.size() < size_)
        mark_ = Array<Mark>(n, Mark::none);
    for (Index k = 0; k < size_; ++k)
        label_[k] = problem_.label[ids_[k]];
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

// --- The two sides of a threshold, or of a range ---

template <class Classes>
void DepthTwo<Classes>::setSides(Index feature, Rank first, Rank last)
{
    auto const lower = problem_.lower(feature);
    auto const upper = problem_.upper(feature);
    auto const share = shares_.of(feature);
    auto &[left, right] = children_;
    for (auto &child : children_)
        std::fill(child.total.begin(), child.total.end(), Weight{0});
    Weight takenLeft = 0;
    Weight takenRight = 0;
    for (Index k = 0; k < size_; ++k)
    {
        auto const i = ids_[k];
        auto const toLeft = lower[i] <= first;
        auto const toRight = upper[i] > last;
        reach_[k] = static_cast<std::uint8_t>((toLeft ? 1 : 0) | (toRight ? 2 : 0));
        auto const [a, b] = divide(own_[k], mark_[k], toLeft, toRight, share[i], problem_.forbidden);
        takenLeft += std::max<Weight>(0, magnitude(left.weight[k]) - a);
        takenRight += std::max<Weight>(0, magnitude(right.weight[k]) - b);
        auto const label = label_[k];
        left.total[label] += a;
        right.total[label] += b;
        left.weight[k] = signedFor<Classes>(label, a);
        right.weight[k] = signedFor<Classes>(label, b);
    }
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
    work_.spend(size_);
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

// Scan features until the two best stumps are known or their bounds reach the cutoff.
template <class Classes>
typename DepthTwo<Classes>::Choice DepthTwo<Classes>::choose(Weight cutoff)
{
    auto const leaf = problem_.nFeatures;
    while (true)
    {
        std::array<Index, 2> best{leaf, leaf};
        for (std::size_t c = 0; c < 2; ++c)
            for (Index j = 0; j < leaf; ++j)
                if (children_[c].bound[j] < children_[c].bound[best[c]])
                    best[c] = j;
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
        scan(scanLeft ? 0 : 1, scanLeft ? best[0] : best[1]);
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

// Join the two stumps to a real tree and see which samples it loses, and on which only one side is wrong.
template <class Classes>
typename DepthTwo<Classes>::Joined DepthTwo<Classes>::join(Choice const &choice)
{
    for (std::size_t c = 0; c < 2; ++c)
        stump_[c] = stumpOf(static_cast<Index>(c), choice.feature[c]);
    auto const [left, right] = stump_;
    auto const lowerLeft = problem_.lower(std::max<Index>(0, left.feature));
    auto const upperLeft = problem_.upper(std::max<Index>(0, left.feature));
    auto const lowerRight = problem_.lower(std::max<Index>(0, right.feature));
    auto const upperRight = problem_.upper(std::max<Index>(0, right.feature));
    Joined joined{problem_.penalty * (left.nLeaves() + right.nLeaves()), 0, -1};
    disputed_.clear();
    for (Index k = 0; k < size_; ++k)
    {
        auto const i = ids_[k];
        auto const y = label_[k];
        auto const lostLeft = (static_cast<int>(lowerLeft[i] <= left.threshold) & static_cast<int>(y != left.left)) |
                              (static_cast<int>(upperLeft[i] > left.threshold) & static_cast<int>(y != left.right));
        auto const lostRight =
            (static_cast<int>(lowerRight[i] <= right.threshold) & static_cast<int>(y != right.left)) |
            (static_cast<int>(upperRight[i] > right.threshold) & static_cast<int>(y != right.right));
        auto const wrong = (lostLeft | (lostRight << 1)) & reach_[k];
        wrong_[k] = static_cast<std::uint8_t>(wrong);
        if (wrong == 0)
            continue;
        auto const w = own_[k];
        joined.cost += w;
        if (reach_[k] != 3 || wrong == 3 || w == 0 || mark_[k] == Mark::givenUp)
            continue;
        disputed_.push_back(k);
        if (joined.heaviest < 0 || w > own_[joined.heaviest])
            joined.heaviest = k;
    }
    joined.nDisputed = static_cast<Index>(disputed_.size());
    return joined;
}

// Move weight of the disputed samples to the child that loses them.
template <class Classes>
void DepthTwo<Classes>::moveWeight(Index feature, Weight step)
{
    auto &[left, right] = children_;
    auto const share = shares_.of(feature);
    Weight takenLeft = 0;
    Weight takenRight = 0;
    for (auto const k : disputed_)
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
