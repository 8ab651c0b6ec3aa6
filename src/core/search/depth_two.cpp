#include "search/depth_two.h"

#include <algorithm>
#include <tuple>

#include "search/unshared.h"

namespace hardwood::search
{
std::unique_ptr<Node> makeDepthTwo(Workspace &work, Index level)
{
    auto const &problem = work.problem;
    if (usesBlocks(problem, work.options))
        return makeUnshared(work, level);
    // The largest sum of two children, see problem.h; with a least size of leaves samples are counted as well.
    auto const room = exactInDoubles / (2 * (problem.nSamples + 1));
    auto const isSmall = problem.forbidden < room;
    if (problem.minLeaf > 0 || problem.nClasses != 2)
    {
        if (isSmall)
            return std::make_unique<DepthTwo<ManyClasses<double>>>(work, level);
        return std::make_unique<DepthTwo<ManyClasses<Weight>>>(work, level);
    }
    if (isSmall)
        return std::make_unique<DepthTwo<TwoClasses<double>>>(work, level);
    return std::make_unique<DepthTwo<TwoClasses<Weight>>>(work, level);
}

template <class Classes>
DepthTwo<Classes>::DepthTwo(Workspace &work, Index level)
    : DepthTwoNode(work, level), ranks_(work.problem), stumps_(work, ranks_)
{
}

// --- The samples of the node, by place ---

template <class Classes>
void DepthTwo<Classes>::fill(Span<Event const> source, Index sourceWidth)
{
    auto const n = problem_.nSamples;
    makeRoom(label_, size_, n);
    makeRoom(own_, size_, n);
    makeRoom(reach_, size_, n);
    makeRoom(wrong_, size_, n);
    branching_.makeRoomFor(size_);
    for (Index k = 0; k < size_; ++k)
        label_[k] = problem_.label[ids_[k]];
    for (auto &lost : lost_)
        makeRoom(lost, size_, n);
    ranks_.open(ids());
    knowsLost_ = false;
    stumps_.open(ids(), label_.view());
    if (work_.isCoarse())
        return;  // no order of the ends is needed
    for (Index j = 0; j < problem_.nFeatures && !work_.shouldStop(); ++j)
        keepEvents(j, rowOf(source, sourceWidth, j));
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
    stumps_.order(feature, kept);
    if (work_.listsLate())
        return;
    // For the candidates the samples' own numbers are needed.
    for (auto &event : kept)
        event = Event(ids_[event.sample()], event.isUpper());
    noteCandidates(feature, kept);
}

template <class Classes>
void DepthTwo<Classes>::takeWeights()
{
    for (Index k = 0; k < size_; ++k)
        own_[k] = weight_[ids_[k]];
    stumps_.takeWeights(own_.view());
}

// --- The two sides of a threshold, or of a range ---

template <class Classes>
void DepthTwo<Classes>::markReach(Index feature, Rank first, Rank last)
{
    // Local views: a byte that is written could otherwise be part of anything, and all would be read anew.
    auto const [lower, upper] = ranks_.of(feature);
    auto const reach = reach_.view();
    auto const n = size_;
    for (Index k = 0; k < n; ++k)
        reach[k] =
            static_cast<std::uint8_t>(static_cast<int>(lower[k] <= first) | (static_cast<int>(upper[k] > last) << 1));
    // Mostly few are shared: room for them is made when they are, with one place more for what is not kept.
    Index const most = std::count(reach.begin(), reach.begin() + n, std::uint8_t{3});
    makeRoom(shared_, most + 1, problem_.nSamples + 1);
    makeRoom(disputed_, most + 1, problem_.nSamples + 1);
    makeRoom(parts_, most, problem_.nSamples);
    auto const shared = shared_.view();
    Index nShared = 0;
    for (Index k = 0; k < n; ++k)
    {
        shared[nShared] = static_cast<Sample>(k);
        nShared += static_cast<Index>(reach[k] == 3);
    }
    nShared_ = nShared;
}

template <class Classes>
void DepthTwo<Classes>::setSides(Index feature, Rank first, Rank last)
{
    work_.lookedAt(size_);
    auto const share = shares_.of(feature);
    auto const shared = Span<Sample const>(shared_.view().part(0, nShared_));
    for (Index m = 0; m < nShared_; ++m)
    {
        Index const k = shared[m];
        // Only samples that reach both sides are ever branched on.
        auto const [a, b] = divide(own_[k], branching_[k], true, true, share[ids_[k]], problem_.forbidden);
        parts_[m] = stumps_.part(k, a, b);
    }
    if (problem_.minLeaf > 0)
        countCertain(feature, first, last);
    stumps_.weigh(reach_.view(), shared, parts_.view());
}

// For a range a sample counts as certain if it is at some threshold of the range: the easier problem.
template <class Classes>
void DepthTwo<Classes>::countCertain(Index feature, Rank first, Rank last)
{
    auto const lower = problem_.lower(feature);
    auto const upper = problem_.upper(feature);
    for (Index k = 0; k < size_; ++k)
    {
        auto const i = ids_[k];
        auto const count = isCertain_[i] != 0 ? problem_.count[i] : 0;
        stumps_.setCertain(k, upper[i] <= last ? count : 0, lower[i] > first ? count : 0);
    }
    stumps_.countCertain();
}

// --- The two best stumps, joined ---

// Mark who reaches a leaf of another class in the stump. No branch in this loop: who is lost is hard to foretell.
template <class Classes>
void DepthTwo<Classes>::markLost(Stump const &stump, Span<std::uint8_t> lost)
{
    auto const [lower, upper] = ranks_.of(std::max<Index>(0, stump.feature));
    auto const label = label_.view();
    auto const own = stump;
    for (Index k = 0, n = size_; k < n; ++k)
        lost[k] = static_cast<std::uint8_t>(own.loses(lower[k], upper[k], label[k]));
}

// Which side of the split loses each sample, by the stumps of `stump_`.
template <class Classes>
void DepthTwo<Classes>::findWrong()
{
    if (!knowsLost_)
        for (std::size_t c = 0; c < 2; ++c)
            markLost(stump_[c], lost_[c].view());
    knowsLost_ = true;
    auto const [left, right, reach, wrong] = std::tuple(lost_[0].view(), lost_[1].view(), reach_.view(), wrong_.view());
    for (Index k = 0, n = size_; k < n; ++k)
        wrong[k] = static_cast<std::uint8_t>((left[k] | (right[k] << 1)) & reach[k]);
}

template <class Classes>
Weight DepthTwo<Classes>::costOfPair() const
{
    auto const [own, wrong] = std::pair(own_.view(), wrong_.view());
    Weight cost = problem_.penalty * (stump_[0].nLeaves() + stump_[1].nLeaves());
    for (Index k = 0, n = size_; k < n; ++k)
        cost += own[k] & -Weight{wrong[k] != 0};
    return cost;
}

// Whether the pair that was joined last costs less than the cutoff at the sides that were marked, too.
template <class Classes>
bool DepthTwo<Classes>::isCheapAgain(Weight cutoff)
{
    // With a least size of leaves the pair may not be allowed here.
    if (!work_.options.useWitness || !hasStumps_ || problem_.minLeaf > 0)
        return false;
    work_.lookedAt(size_);
    findWrong();
    return costOfPair() < cutoff;
}

// Join the two stumps to a real tree and see which samples it loses, and on which only one side is wrong.
template <class Classes>
typename DepthTwo<Classes>::Joined DepthTwo<Classes>::join(Choice const &choice)
{
    for (std::size_t c = 0; c < 2; ++c)
        stump_[c] = stumps_.stump(static_cast<Index>(c), choice.feature[c]);
    hasStumps_ = true;
    knowsLost_ = false;
    findWrong();
    auto const cost = costOfPair();
    auto const own = own_.view();
    auto const mark = branching_.marks();
    auto const wrong = wrong_.view();
    auto const disputed = disputed_.view();
    Index nDisputed = 0;
    for (auto const k : shared_.view().part(0, nShared_))
    {
        disputed[nDisputed] = k;
        nDisputed += Index{wrong[k] == 1} | Index{wrong[k] == 2};
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
    auto const share = shares_.change(feature);
    for (Index const k : disputed_.view().part(0, nDisputed_))
    {
        if (branching_[k] != Mark::none)
            continue;
        auto const w = own_[k];
        auto const old = stumps_.charged(0, k);
        auto const wanted = wrong_[k] == 1 ? std::min(w, old + step) : std::max<Weight>(0, old - step);
        share[ids_[k]] = shareOf(wanted, w);
        auto const now = partOf(w, share[ids_[k]]);
        stumps_.change(k, now, w - now);
    }
    stumps_.follow();
}

// Raise the bound of the sides that were set to the cutoff, or find a pair of stumps below it.
template <class Classes>
DepthTwoNode::Outcome DepthTwo<Classes>::evaluate(Index feature, Weight cutoff, Index rounds, bool isRange)
{
    ++counters_.evaluations;
    for (Index turn = 0;; ++turn)
    {
        if (!work_.options.useLazyScan)
            stumps_.forgetBounds();
        auto choice = stumps_.choose(cutoff, counters_.scans, isRange && turn == 0 && work_.options.useEarlyJoin);
        if (choice.verdict == Verdict::undecided && !choice.isBest)
        {
            // Whatever the other features give: a pair below the cutoff dooms the range.
            if (auto const joined = join(choice); joined.cost < cutoff)
                return {Verdict::found, joined.cost, -1};
            choice = stumps_.choose(cutoff, counters_.scans, false);
        }
        if (choice.verdict != Verdict::undecided)
            return {choice.verdict, choice.bound, -1};
        ++counters_.rounds;
        if (isRange && turn == rounds)
            return {Verdict::undecided, choice.bound, -1};
        auto const joined = join(choice);
        if (joined.cost < cutoff + branching_.givenUp())
            return {Verdict::found, joined.cost, -1};
        if (turn == rounds || joined.nDisputed == 0)
            return {Verdict::undecided, choice.bound, joined.heaviest, joined.cost};
        moveWeight(feature, std::max<Weight>(1, (cutoff - choice.bound) / joined.nDisputed));
    }
}

// Close the gap of one threshold by branching on samples: each must be correct, or is given up and paid for.
template <class Classes>
DepthTwoNode::Outcome DepthTwo<Classes>::settle(Index feature, Rank threshold, Weight cutoff, Index firstSample)
{
    Outcome outcome{Verdict::undecided, cutoff, firstSample};
    while (true)
    {
        if (outcome.verdict == Verdict::undecided)
        {
            branching_.on(outcome.sample);
            if (work_.proof != nullptr)
                work_.proof->branch(ids_[outcome.sample]);
        }
        else if (!branching_.next(own_.view()))
        {
            return {Verdict::pruned, cutoff, -1};
        }
        ++counters_.branches;
        markReach(feature, threshold, threshold);
        setSides(feature, threshold, threshold);
        outcome = evaluate(feature, cutoff - branching_.givenUp(), work_.options.rounds, false);
        if (outcome.verdict == Verdict::pruned)
            writeSettled(feature);
        if (outcome.verdict == Verdict::found || outcome.verdict == Verdict::stopped)
        {
            if (work_.proof != nullptr)
                work_.proof->dropped();
            branching_.clear();
            return outcome;
        }
    }
}

template <class Classes>
void DepthTwo<Classes>::begin(Index feature)
{
    if (!work_.options.useCarry)
        shares_.forget(feature);
}

template <class Classes>
DepthTwoNode::Outcome DepthTwo<Classes>::look(Index feature, Index first, Index last, Weight cutoff)
{
    auto const &known = candidates(feature);
    auto const isRange = first != last;
    markReach(feature, known.at(first), known.at(last));
    if (isCheapAgain(cutoff))
        return {Verdict::found, costOfPair()};
    setSides(feature, known.at(first), known.at(last));
    auto const rounds = isRange || canPutOff() ? work_.options.rangeRounds : work_.options.rounds;
    return evaluate(feature, cutoff, rounds, isRange);
}

template class DepthTwo<TwoClasses<double>>;
template class DepthTwo<TwoClasses<Weight>>;
template class DepthTwo<ManyClasses<double>>;
template class DepthTwo<ManyClasses<Weight>>;
}  // namespace hardwood::search
