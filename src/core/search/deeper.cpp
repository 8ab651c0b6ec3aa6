#include "search/deeper.h"

namespace hardwood::search
{
Deeper::Deeper(Workspace &work, Index level, Index depth)
    : Node(work, level, depth),
      side_{Array<Weight>(work.problem.nSamples), Array<Weight>(work.problem.nSamples)},
      reach_(work.problem.nSamples),
      handedDown_(work.problem.nSamples)
{
    branching_.makeRoomFor(work.problem.nSamples);
}

void Deeper::fill(Span<Event const> source, Index sourceWidth)
{
    for (auto &side : side_)
        std::fill(side.begin(), side.end(), Weight{0});
    auto const width = 2 * size_;
    if (work_.isCoarse())
        return;
    if (!holdsAll())
        makeRoom(events_, problem_.nFeatures * width, problem_.nFeatures * 2 * problem_.nSamples);
    for (Index j = 0; j < problem_.nFeatures && !work_.shouldStop(); ++j)
    {
        work_.lookedAt(sourceWidth);
        if (holdsAll())
        {
            if (!work_.listsLate())
                noteCandidates(j, problem_.eventsOf(j, work_.sorted));
            continue;
        }
        Index nKept = 0;
        for (auto const event : rowOf(source, sourceWidth, j))
        {
            work_.kept[nKept] = event;
            nKept += work_.place[event.sample()] >= 0 ? 1 : 0;
        }
        auto const kept = work_.kept.view().part(0, nKept);
        std::copy(kept.begin(), kept.end(), events_.view().part(j * width, width).begin());
        if (!work_.listsLate())
            noteCandidates(j, kept);
    }
}

void Deeper::setSides(Range const &range)
{
    auto const lower = problem_.lower(range.feature);
    auto const upper = problem_.upper(range.feature);
    auto const share = shares_.of(range.feature);
    for (auto const i : ids())
    {
        auto const toLeft = lower[i] <= range.first;
        auto const toRight = upper[i] > range.last;
        reach_[i] = static_cast<std::uint8_t>((toLeft ? 1 : 0) | (toRight ? 2 : 0));
        auto const [a, b] = divide(weight_[i], branching_[i], toLeft, toRight, share[i], problem_.forbidden);
        side_[0][i] = a;
        side_[1][i] = b;
    }
}

void Deeper::openChild(Index side, Range const &range)
{
    makeChild(side);
    auto *const child = children_[static_cast<std::size_t>(side)];
    auto const member = work_.member.view();
    std::fill(member.begin(), member.end(), std::uint8_t{0});
    // With a least size of leaves, samples without weight still count.
    auto const keepsWeightless = problem_.minLeaf > 0;
    auto const lower = problem_.lower(range.feature);
    auto const upper = problem_.upper(range.feature);
    for (auto const i : ids())
    {
        auto isMember =
            (reach_[i] & (1 << side)) != 0 && (keepsWeightless || (weight_[i] > 0 && branching_[i] != Mark::givenUp));
        if (keepsWeightless)
        {
            auto const reachesOther = side == 0 ? upper[i] > range.last : lower[i] <= range.first;
            auto const isCertain = isCertain_[i] != 0 && !reachesOther;
            child->setCertain(i, isCertain);
            isMember = isMember || isCertain;
        }
        member[i] = isMember ? 1 : 0;
    }
    child->open(events(), 2 * size_);
}

void Deeper::weighChild(Index side)
{
    std::fill(handedDown_.begin(), handedDown_.end(), Weight{0});
    auto &child = *children_[static_cast<std::size_t>(side)];
    for (auto const i : child.ids())
        handedDown_[i] = side_[static_cast<std::size_t>(side)][i];
    child.weigh(handedDown_.view());
}

// Join two pooled trees: whether the real tree is below the cutoff, and on which shared samples they disagree.
bool Deeper::joinPooled(Range const &range, PooledTree const &left, PooledTree const &right, Weight cutoff,
                        Ascent &ascent, Index &nDisputed)
{
    Weight cost = problem_.penalty * (left.nLeaves + right.nLeaves);
    nDisputed = 0;
    Index heaviest = -1;
    for (Index const i : ids())
    {
        auto const wrong = (left.isLost[i] | (right.isLost[i] << 1)) & reach_[i];
        if (wrong == 0)
            continue;
        cost += weight_[i];
        if (wrong == 3 || reach_[i] != 3 || weight_[i] == 0 || branching_[i] != Mark::none)
            continue;
        ++nDisputed;
        if (heaviest < 0 || weight_[i] > weight_[heaviest])
            heaviest = i;
    }
    if (heaviest >= 0)
        ascent.sample = heaviest;
    if (cost >= cutoff + branching_.givenUp())
        return false;
    if (range.isSingle())
        found_ = Tree::join(range.feature, range.first, left.tree, right.tree);
    ascent.verdict = Verdict::found;
    ascent.left = cost;
    return true;
}

void Deeper::moveWeight(Index feature, PooledTree const &left, PooledTree const &right, Weight step)
{
    auto const share = shares_.change(feature);
    for (auto const i : ids())
    {
        auto const w = weight_[i];
        if (reach_[i] != 3 || left.isLost[i] == right.isLost[i] || branching_[i] != Mark::none || w == 0)
            continue;
        auto const old = side_[0][i];
        share[i] = shareOf(left.isLost[i] != 0 ? std::min(w, old + step) : std::max<Weight>(0, old - step), w);
        side_[0][i] = partOf(w, share[i]);
        side_[1][i] = w - side_[0][i];
    }
}

// Move weight between the children until no pair of pooled trees is cheaper than the cutoff, with some room if it can
// be had: where the pool's prices just meet the cutoff, each child would have to prove that its pool holds the best
// tree.
Deeper::Ascent Deeper::ascend(Range const &range, Weight cutoff)
{
    Ascent ascent{Verdict::undecided, 0, 0, -1};
    auto const goal = cutoff + (work_.options.useRoom ? cutoff / room : 0);
    Index stepsLeft = stepsForRoom;
    for (Index turn = 0; turn < work_.options.ascentSteps; ++turn)
    {
        work_.lookedAt(10 * size_);  // one pass per pooled tree
        auto const left = pools_[0].cheapest(problem_, side_[0].view());
        auto const right = pools_[1].cheapest(problem_, side_[1].view());
        auto const price = left.price + right.price;
        ascent.left = left.price;
        ascent.right = right.price;
        if (left.tree == nullptr || right.tree == nullptr)
        {
            ascent.verdict = Verdict::pruned;
            return ascent;
        }
        Index nDisputed = 0;
        if (joinPooled(range, *left.tree, *right.tree, cutoff, ascent, nDisputed))
            return ascent;
        if (price >= goal || (price >= cutoff && (nDisputed == 0 || stepsLeft-- == 0)))
        {
            ascent.verdict = Verdict::pruned;
            return ascent;
        }
        if ((!work_.options.usePool && turn > 0) || nDisputed == 0)
            break;
        moveWeight(range.feature, *left.tree, *right.tree, std::max<Weight>(1, (goal - price) / nDisputed));
    }
    return ascent;
}

// Ask each child for a tree below its target; the first one that has any puts it into its pool. Whether one had.
// The child that had one last time is asked first: it often has another, and then the other child need not prove
// anything, which takes longer than to find a tree.
bool Deeper::askChildren(Range const &range, Weight leftTarget, Weight rightTarget)
{
    if (work_.proof != nullptr)
        writeShares(range.feature);
    auto const first = work_.options.useDoubtfulFirst ? doubtful_ : 0;
    for (auto const side : {first, 1 - first})
    {
        auto const target = side == 0 ? leftTarget : rightTarget;
        weighChild(static_cast<Index>(side));
        ++counters_.childSolves;
        if (work_.proof != nullptr)
            work_.proof->child(static_cast<Index>(side), children_[side]->number(), target);
        auto const isForHelpers = level_ == 0 && work_.visitor != nullptr;
        if (isForHelpers)
            work_.visitor->questionBegins();
        auto const hasTree = children_[side]->solve(target, work_.options.firstTree) < target;
        if (isForHelpers)
            work_.visitor->questionEnds();
        if (work_.proof != nullptr)
            work_.proof->ended(!hasTree && !work_.shouldStop());
        if (hasTree)
        {
            doubtful_ = side;
            pools_[side].add(problem_, children_[side]->best());
            if (sharing_ != nullptr)
                sharing_->tell(static_cast<Index>(side), children_[side]->best());
            return true;
        }
    }
    return false;
}

// Prove that no tree with a threshold of the range costs less than the cutoff, given the marks, or find one.
Deeper::Outcome Deeper::settle(Range const &range, Weight cutoff)
{
    ++counters_.evaluations;
    setSides(range);
    if (problem_.minLeaf > 0)
        for (auto &pool : pools_)
            pool.clear();  // their trees may not be allowed here
    Index sample = -1;
    bool childrenAreOpen = false;
    for (Index turn = 1; range.isSingle() || turn <= work_.options.deepRangeRounds; ++turn)
    {
        ++counters_.rounds;
        auto const ascent = ascend(range, cutoff);
        sample = ascent.sample >= 0 ? ascent.sample : sample;
        if (ascent.verdict == Verdict::found)
            return {Verdict::found, ascent.left, -1};
        auto const hasAskedEnough = range.isSingle() && turn >= work_.options.deepRounds && sample >= 0;
        if (ascent.verdict == Verdict::undecided || hasAskedEnough)
            break;
        if (!childrenAreOpen)
            for (Index side = 0; side < 2; ++side)
                openChild(side, range);
        childrenAreOpen = true;
        // What the pool's prices exceed the cutoff by is shared out in proportion to them.
        auto const price = ascent.left + ascent.right;
        auto const ratio = static_cast<double>(ascent.left) / static_cast<double>(std::max<Weight>(1, price));
        auto const leftTarget = ascent.left - static_cast<Weight>(static_cast<double>(price - cutoff) * ratio);
        auto const improved = askChildren(range, leftTarget, cutoff - leftTarget);
        if (work_.shouldStop())
            return {Verdict::stopped, 0, -1};
        if (!improved)
            return {Verdict::pruned, cutoff, -1};
    }
    return {Verdict::undecided, 0, sample};
}

// Go on to the next branch of the threshold; whether there is one.
bool Deeper::branchOn(Outcome const &outcome)
{
    if (outcome.verdict == Verdict::undecided)
    {
        branching_.on(outcome.sample);
        if (work_.proof != nullptr)
            work_.proof->branch(outcome.sample);
    }
    else if (!branching_.next(weight_.view()))
    {
        return false;
    }
    ++counters_.branches;
    return true;
}

void Deeper::writeOutcome(Range const &range, Outcome const &outcome)
{
    if (outcome.verdict == Verdict::pruned)
        work_.proof->joined();
    else if (outcome.verdict != Verdict::undecided || !range.isSingle())
        work_.proof->dropped();
}

// Put the trees that other threads were answered with into the pools.
void Deeper::hearNews()
{
    if (sharing_ == nullptr)
        return;
    for (auto const &[side, tree] : sharing_->news())
        pools_[static_cast<std::size_t>(side)].add(problem_, tree);
}

SweepEnd Deeper::sweep(Index feature, Weight cutoff, Index start)
{
    if (start == 0)
        listActive(feature, cutoff);
    auto const &known = candidates(feature);
    Index position = start;
    while (position < nActive() && !work_.shouldStop())
    {
        if (branching_.isEmpty())
        {
            cutoff = share(feature, position, cutoff);
            if (isAnswered())
                return takeAnswer(position);
            hearNews();
        }
        auto const last = branching_.isEmpty() ? std::min(position + width_, nActive()) - 1 : position;
        Range const range{feature, active(position), active(last), known.at(active(position)), known.at(active(last))};
        if (work_.proof != nullptr && branching_.isEmpty())
            writeRange(feature, range.firstCandidate, range.lastCandidate);
        auto const outcome = settle(range, cutoff - branching_.givenUp());
        if (work_.proof != nullptr)
            writeOutcome(range, outcome);
        if (outcome.verdict == Verdict::stopped)
            break;
        if (range.isSingle())
        {
            if (outcome.verdict == Verdict::found)
            {
                branching_.clear();
                return {true, outcome.cost, position};
            }
            if (outcome.verdict == Verdict::undecided && branching_.isEmpty() && canPutOff())
            {
                if (work_.proof != nullptr)
                    work_.proof->dropped();
                putOff(feature, range.firstCandidate, cutoff);
                ++position;
                continue;
            }
            if (branchOn(outcome))
                continue;
        }
        else if (outcome.verdict != Verdict::pruned)
        {
            width_ = std::max<Index>(1, (last - position + 1) / 2);
            continue;
        }
        remember(feature, range.firstCandidate, range.lastCandidate, cutoff);
        position = last + 1;
        widen();
    }
    branching_.clear();
    return {false, cutoff, nActive()};
}

void Deeper::makeChild(Index side)
{
    auto &child = children_[static_cast<std::size_t>(side)];
    if (child == nullptr)
        child = &work_.child(level_, depth_, side);
}

std::array<Index, 2> Deeper::childNumbers() const
{
    auto const numberOf = [](Node const *child) { return child == nullptr ? -1 : child->number(); };
    return {numberOf(children_[0]), numberOf(children_[1])};
}

void Deeper::beginFrom(Node const &other)
{
    Node::beginFrom(other);
    auto const &deeper = static_cast<Deeper const &>(other);
    for (std::size_t side = 0; side < 2; ++side)
    {
        if (deeper.children_[side] == nullptr || level_ >= levelsTaught)
            continue;
        makeChild(static_cast<Index>(side));
        children_[side]->beginFrom(*deeper.children_[side]);
    }
}

void Deeper::save(StateWriter &state) const
{
    Node::save(state);
    for (auto const &pool : pools_)
        pool.save(state);
}

void Deeper::load(StateReader &state)
{
    Node::load(state);
    for (auto &pool : pools_)
        pool.load(problem_, state);
}
}  // namespace hardwood::search
