#include "search/block_stumps.h"

#include <algorithm>

#include "search/two_labels.h"

namespace hardwood::search
{
template <class Number>
BlockStumps<Number>::Child::Child(Problem const &problem)
    : total(problem.nClasses),
      bound(problem.nFeatures + 1),
      achieved(problem.nFeatures + 1, everything),
      known(problem.nFeatures + 1, Known::bound),
      byBound(problem.nFeatures)
{
    known[problem.nFeatures] = Known::exact;
}

template <class Number>
BlockStumps<Number>::BlockStumps(Workspace &work)
    : work_(work),
      problem_(work.problem),
      tables_(work),
      children_{Child(work.problem), Child(work.problem)},
      mostLeft_(BlockTables<Number>::mostBlocks + 1),
      mostRight_(BlockTables<Number>::mostBlocks + 1),
      running_(2 * work.problem.nClasses)
{
}

// --- The samples ---

template <class Number>
void BlockStumps<Number>::open(Span<Sample const> ids)
{
    // Weight of samples that left was taken.
    noteSides();
    std::array<Weight, 3> gone{0, 0, 0};
    std::vector<Charge> kept(static_cast<std::size_t>(ids.size()));
    auto const was = Span<Charge const>(was_);
    auto const oldId = Span<Sample const>(ids_);
    Index old = 0;
    for (Index k = 0; k < ids.size(); ++k)
    {
        for (; old < oldId.size() && oldId[old] < ids[k]; ++old)
            gone[was[old].side] += was[old].weight;
        if (old < oldId.size() && oldId[old] == ids[k])
            kept[static_cast<std::size_t>(k)] = was[old++];
    }
    for (; old < oldId.size(); ++old)
        gone[was[old].side] += was[old].weight;
    lower(0, gone[1]);
    lower(1, gone[2]);
    was_ = std::move(kept);

    size_ = ids.size();
    ids_.assign(ids.begin(), ids.end());
    tables_.open(ids);
}

template <class Number>
void BlockStumps<Number>::takeWeights(Span<Weight const> weight)
{
    noteSides();
    std::array<Weight, 3> gone{0, 0, 0};
    for (Index k = 0; k < size_; ++k)
    {
        auto &was = was_[static_cast<std::size_t>(k)];
        gone[was.side] += std::max<Weight>(0, was.weight - weight[k]);
        was.weight = static_cast<Number>(weight[k]);
    }
    tables_.takeWeights(weight);
    lower(0, gone[1]);
    lower(1, gone[2]);
}

// Note who is on which side, before the sides or the samples change altogether.
template <class Number>
void BlockStumps<Number>::noteSides()
{
    if (root_ < 0)
        return;  // nothing since the last change
    if (leftEnd_ >= 0)
        for (Index k = 0; k < size_; ++k)
            was_[static_cast<std::size_t>(k)] = {tables_.weight(k), static_cast<std::uint8_t>(isOn(0, k)   ? 1
                                                                                              : isOn(1, k) ? 2
                                                                                                           : 0)};
    root_ = -1;
}

template <class Number>
void BlockStumps<Number>::begin(Index feature)
{
    if (feature == root_)
        return;
    noteSides();
    root_ = feature;
    tables_.begin(feature);
    leftEnd_ = -1;  // the sides are not known yet
}

// --- Sides ---

template <class Number>
void BlockStumps<Number>::setSides(Index leftEnd, Index rightBegin)
{
    std::array<Weight, 2> taken{0, 0};
    if (leftEnd_ < 0)
    {
        // Another feature than before: compare sample by sample.
        work_.lookedAt(size_);
        leftEnd_ = leftEnd;
        rightBegin_ = rightBegin;
        for (Index k = 0; k < size_; ++k)
        {
            auto const was = was_[static_cast<std::size_t>(k)].side;
            taken[0] += was == 1 && !isOn(0, k) ? tables_.weight(k) : 0;
            taken[1] += was == 2 && !isOn(1, k) ? tables_.weight(k) : 0;
        }
    }
    else
    {
        taken[0] = std::max<Weight>(0, tables_.weightBefore(leftEnd_) - tables_.weightBefore(leftEnd));
        taken[1] = std::max<Weight>(0, tables_.weightBefore(rightBegin) - tables_.weightBefore(rightBegin_));
        leftEnd_ = leftEnd;
        rightBegin_ = rightBegin;
    }
    for (Index side = 0; side < 2; ++side)
    {
        addUp(side);
        lower(side, taken[static_cast<std::size_t>(side)]);
    }
}

// The weight of each class on a side.
template <class Number>
void BlockStumps<Number>::addUp(Index side)
{
    auto &own = child(side);
    tables_.countClasses(side == 0 ? leftEnd_ : rightBegin_, side == 1, own.total.view());
    own.sum =
        side == 0 ? tables_.weightBefore(leftEnd_) : tables_.weightBefore(size_) - tables_.weightBefore(rightBegin_);
}

// Let the bounds per feature follow a change that took so much weight away; a plain leaf is always known exactly.
template <class Number>
void BlockStumps<Number>::lower(Index side, Weight taken)
{
    auto &own = child(side);
    auto const leaf = problem_.nFeatures;
    for (Index j = 0; j < leaf; ++j)
    {
        own.bound[j] = work_.options.useLazyScan ? std::max<Weight>(0, own.bound[j] - taken) : 0;
        own.known[j] = Known::bound;
    }
    Weight const heaviest = *std::max_element(own.total.begin(), own.total.end());
    own.bound[leaf] = own.achieved[leaf] = own.sum - heaviest + problem_.penalty;
}

// --- Scans ---

// The weight of the side before each block of the feature, by class, into `sums_`.
template <class Number>
void BlockStumps<Number>::sumBlocks(Index side, Index feature)
{
    auto const k = problem_.nClasses;
    auto const width = orderOf(feature).nBlocks() * k;
    makeRoom(sums_, width + k, (BlockTables<Number>::mostBlocks + 1) * k);
    auto const sums = sums_.view().part(0, width + k);
    auto const counts = sums.part(k, width);
    tables_.countBlocks(feature, side == 0 ? leftEnd_ : rightBegin_, side == 1, counts);
    std::fill(sums.begin(), sums.begin() + k, Number{0});
    for (Index c = 0; c < width; ++c)
        counts[c] += sums[c];
}

// What a split at the best boundary between blocks gets right; notes the heaviest class on both sides of each boundary.
template <class Number>
Number BlockStumps<Number>::bestBoundary(Index side, Index feature)
{
    auto const k = problem_.nClasses;
    auto const total = child(side).total.view();
    auto const nBlocks = orderOf(feature).nBlocks();
    auto const sums = sums_.view();
    Number best = 0;
    for (Index block = 0; block <= nBlocks; ++block)
    {
        Number left = 0;
        Number right = 0;
        for (Index c = 0; c < k; ++c)
        {
            auto const before = sums[block * k + c];
            left = std::max(left, before);
            right = std::max<Number>(right, total[c] - before);
        }
        mostLeft_[block] = left;
        mostRight_[block] = right;
        // Before the first block and behind the last one it is a plain leaf.
        best = std::max<Number>(best, left + right);
    }
    return best;
}

// What a split inside the block gets right at most: with labels a and c, all of a up to its end, all of c from its
// beginning on. Splits with equal labels get no more right than a plain leaf.
template <class Number>
Number BlockStumps<Number>::mostInside(Index side, Index block) const
{
    auto const k = problem_.nClasses;
    auto const total = child(side).total.view();
    auto const first = sums_.view().part(block * k, k);
    auto const last = sums_.view().part((block + 1) * k, k);
    if (k == 2)
        return std::max<Number>(last[0] + total[1] - first[1], last[1] + total[0] - first[0]);
    return mostOfTwoLabels<Number>(
        k, [&](Index c) { return last[c]; }, [&](Index c) { return total[c] - first[c]; });
}

// What the best split inside the block gets right, or `best` if that is more.
template <class Number>
Number BlockStumps<Number>::bestInside(Index side, Index feature, Index block, Number best)
{
    auto const k = problem_.nClasses;
    auto const total = child(side).total.view();
    auto const &order = orderOf(feature);
    auto const entries = tables_.entries(feature);
    auto const before = sums_.view().part(block * k, k);
    auto const left = running_.view().part(0, k);
    auto const right = running_.view().part(k, k);
    for (Index c = 0; c < k; ++c)
    {
        left[c] = before[c];
        right[c] = total[c] - before[c];
    }
    auto mostLeft = *std::max_element(left.begin(), left.end());
    auto mostRight = *std::max_element(right.begin(), right.end());
    work_.scanned(order.firstOf(block + 1) - order.firstOf(block));
    for (Index m = order.firstOf(block); m < order.firstOf(block + 1); ++m)
    {
        auto const place = tables_.placeOf(entries[m]);
        auto const c = tables_.label(place);
        Number const w = isOn(side, place) ? tables_.weight(place) : 0;
        left[c] += w;
        right[c] -= w;
        mostLeft = std::max(mostLeft, left[c]);
        // The right side only loses: what it had is a bound on what it has.
        if (!tables_.isLastOfTies(entries[m]) || mostLeft + mostRight <= best)
            continue;
        mostRight = *std::max_element(right.begin(), right.end());
        best = std::max<Number>(best, mostLeft + mostRight);
    }
    return best;
}

template <class Number>
void BlockStumps<Number>::scan(Index side, Index feature, bool isExact)
{
    auto &own = child(side);
    auto const &order = orderOf(feature);
    sumBlocks(side, feature);
    auto best = bestBoundary(side, feature);
    auto most = best;
    for (Index block = 0; block < order.nBlocks(); ++block)
    {
        // With equal labels on both sides the first sum counts the block twice: a rough bound, but often enough.
        if (order.isDivided[static_cast<std::size_t>(block)] == 0 || mostLeft_[block + 1] + mostRight_[block] <= best)
            continue;
        auto const inside = mostInside(side, block);
        if (inside > best && isExact)
            best = bestInside(side, feature, block, best);
        most = std::max(most, inside);
    }
    auto const costOf = [&](Number right) { return own.sum - right + 2 * problem_.penalty; };
    own.achieved[feature] = costOf(best);
    own.known[feature] = isExact || most <= best ? Known::exact : Known::blocks;
    own.bound[feature] = std::max(own.bound[feature], costOf(isExact ? best : most));
}

// --- The two best stumps ---

template <class Number>
void BlockStumps<Number>::beginChoice()
{
    for (auto &child : children_)
        child.byBound.begin(child.bound.view().part(0, problem_.nFeatures));
}

// The feature of the child's stump with the least bound; of equals a plain leaf, then the first.
template <class Number>
Index BlockStumps<Number>::cheapest(Index side) const
{
    auto const &own = child(side);
    auto const leaf = problem_.nFeatures;
    auto const feature = own.byBound.least();
    return own.bound[feature] < own.bound[leaf] ? feature : leaf;
}

// The cost of the cheapest stump that is known to be there.
template <class Number>
Weight BlockStumps<Number>::cheapestAchieved(Index side) const
{
    auto const &own = child(side);
    auto least = own.achieved[problem_.nFeatures];
    for (Index j = 0; j < problem_.nFeatures; ++j)
        least = own.known[j] == Known::bound ? least : std::min(least, own.achieved[j]);
    return least;
}

template <class Number>
typename BlockStumps<Number>::Choice BlockStumps<Number>::choose(Weight cutoff, Index &nScans, bool early)
{
    beginChoice();
    std::array<Weight, 2> there{cheapestAchieved(0), cheapestAchieved(1)};
    while (true)
    {
        std::array<Index, 2> const best{cheapest(0), cheapest(1)};
        auto const left = children_[0].bound[best[0]];
        auto const right = children_[1].bound[best[1]];
        if (left + right >= cutoff)
            return {Verdict::pruned, left + right};
        auto const leftKnown = children_[0].known[best[0]];
        auto const rightKnown = children_[1].known[best[1]];
        if (leftKnown == Known::exact && rightKnown == Known::exact)
            return {Verdict::found, left + right};
        if (early && there[0] + there[1] < cutoff)
            return {Verdict::found, cutoff - 1};
        if (work_.shouldStop())
            return {Verdict::stopped, left + right};
        ++nScans;
        // What is known least first, then the cheaper one.
        auto const takesLeft = leftKnown != rightKnown ? leftKnown < rightKnown : left <= right;
        std::size_t const side = takesLeft ? 0 : 1;
        auto const feature = best[side];
        auto &own = children_[side];
        scan(static_cast<Index>(side), feature, own.known[feature] == Known::blocks);
        own.byBound.change(feature, own.bound[feature]);
        there[side] = std::min(there[side], own.achieved[feature]);
    }
}

template <class Number>
Stump BlockStumps<Number>::stump(Index side)
{
    auto const &own = child(side);
    auto const feature = cheapest(side);
    auto const heaviest = [](Span<Number const> sums)
    { return static_cast<Label>(std::max_element(sums.begin(), sums.end()) - sums.begin()); };
    if (feature == problem_.nFeatures)
        return {.left = heaviest(own.total.view())};
    auto const k = problem_.nClasses;
    auto const wanted = own.sum + 2 * problem_.penalty - own.bound[feature];
    auto const left = running_.view().part(0, k);
    auto const right = running_.view().part(k, k);
    std::fill(left.begin(), left.end(), Number{0});
    std::copy(own.total.begin(), own.total.end(), right.begin());
    work_.lookedAt(size_);
    for (auto const entry : tables_.entries(feature))
    {
        auto const place = tables_.placeOf(entry);
        if (isOn(side, place))
        {
            left[tables_.label(place)] += tables_.weight(place);
            right[tables_.label(place)] -= tables_.weight(place);
        }
        if (!tables_.isLastOfTies(entry))
            continue;
        auto const a = heaviest(left);
        auto const c = heaviest(right);
        if (Weight{left[a]} + Weight{right[c]} == wanted)
            return {feature, problem_.upper(feature)[ids_[static_cast<std::size_t>(place)]], a, c};
    }
    throw std::logic_error("a scan by blocks found a weight that its order does not reach");
}

template class BlockStumps<std::int32_t>;
template class BlockStumps<Weight>;
}  // namespace hardwood::search
