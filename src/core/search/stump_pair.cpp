#include "search/stump_pair.h"

#include <algorithm>

namespace hardwood::search
{
template <class Classes>
StumpPair<Classes>::Child::Child(Problem const &problem)
    : total(problem.nClasses),
      bound(problem.nFeatures + 1),
      achieved(problem.nFeatures + 1),
      known(problem.nFeatures + 1, Known::bound),
      right(problem.nFeatures),
      stump(static_cast<std::size_t>(problem.nFeatures)),
      zeroIsLeft(problem.nFeatures),
      byBound(problem.nFeatures)
{
}

template <class Classes>
StumpPair<Classes>::StumpPair(Workspace &work, PlacedRanks &ranks)
    : work_(work),
      problem_(work.problem),
      ranks_(ranks),
      coarse_(work.problem),
      children_{Child(work.problem), Child(work.problem)},
      classes_(work.problem.nClasses)
{
}

// --- The samples ---

template <class Classes>
void StumpPair<Classes>::open(Span<Sample const> ids, Span<Label const> label)
{
    auto const n = problem_.nSamples;
    size_ = ids.size();
    std::swap(weight_, previous_);
    makeRoom(weight_, size_, n);
    makeRoom(own_, size_, n);
    if (!work_.isCoarse())
        makeRoom(orders_, problem_.nFeatures * rows * size_, problem_.nFeatures * rows * n);
    if constexpr (!Classes::isTwo)
        makeRoom(rightMost_, size_ + 1, n + 1);
    if (problem_.minLeaf > 0)
        makeRoom(certain_, size_, n);
    label_ = label;
    // Weight of samples that left was taken.
    Sides<Number> gone;
    Index old = 0;
    auto const oldId = Span<Sample const>(ids_);
    for (Index k = 0; k < size_; ++k)
    {
        for (; old < oldId.size() && oldId[old] < ids[k]; ++old)
            gone = gone + magnitude(previous_[old]);
        weight_[k] = old < oldId.size() && oldId[old] == ids[k] ? previous_[old++] : Sides<Number>();
    }
    for (; old < oldId.size(); ++old)
        gone = gone + magnitude(previous_[old]);
    for (Index side = 0; side < 2; ++side)
        lower(side, gone.of(side));
    ids_.assign(ids.begin(), ids.end());
    if (problem_.isLarge())
        previous_ = {};
}

template <class Classes>
void StumpPair<Classes>::order(Index feature, Span<Event const> ends)
{
    auto const all = orders_.view().part(feature * rows * size_, rows * size_);
    Index first = 0;
    Index last = (rows - 1) * size_;
    for (auto const end : ends)
    {
        auto const place = static_cast<Sample>(end.sample());
        if constexpr (Classes::isTwo)
        {
            auto const falls = end.isUpper() == (label_[place] == 1);
            all[falls ? last : first] = place;
            last += falls ? 1 : 0;
            first += falls ? 0 : 1;
        }
        else
        {
            auto const isUpper = end.isUpper();
            all[isUpper ? first : last] = place;
            all[size_ + std::min(first, size_ - 1)] = static_cast<Sample>(last - 2 * size_);
            first += isUpper ? 1 : 0;
            last += isUpper ? 0 : 1;
        }
    }
}

template <class Classes>
void StumpPair<Classes>::takeWeights(Span<Weight const> own)
{
    for (Index k = 0; k < size_; ++k)
        own_[k] = signedFor(label_[k], own[k]);
}

// --- Weights ---

template <class Classes>
void StumpPair<Classes>::weigh(Span<std::uint8_t const> reach, Span<Sample const> shared,
                               Span<Sides<Number> const> part)
{
    auto const weight = weight_.view();
    auto const own = own_.view();
    std::array<Sides<Number>, 4> const factor{Sides<Number>(0, 0), Sides<Number>(1, 0), Sides<Number>(0, 1),
                                              Sides<Number>(1, 1)};
    makeRoom(before_, shared.size(), problem_.nSamples);
    for (Index m = 0; m < shared.size(); ++m)
        before_[m] = weight[shared[m]];
    Sides<Number> lost;
    for (Index k = 0, n = size_; k < n; ++k)
    {
        auto const now = Sides<Number>(own[k]) * factor[reach[k]];
        lost = lost + taken(magnitude(weight[k]), magnitude(now));
        weight[k] = now;
    }
    for (Index m = 0; m < shared.size(); ++m)
    {
        auto &now = weight[shared[m]];
        auto const before = magnitude(before_[m]);
        lost = lost - taken(before, magnitude(now)) + taken(before, magnitude(part[m]));
        now = part[m];
    }
    sumUp();
    if (problem_.minLeaf > 0)
        lost = Sides<Number>(static_cast<Number>(everything));
    for (Index side = 0; side < 2; ++side)
        lower(side, lost.of(side));
}

// The weight of each class in both children.
template <class Classes>
void StumpPair<Classes>::sumUp()
{
    auto const weight = weight_.view();
    if constexpr (Classes::isTwo)
    {
        Sides<Number> all;
        Sides<Number> net;
        for (Index k = 0, n = size_; k < n; ++k)
        {
            all = all + magnitude(weight[k]);
            net = net + weight[k];
        }
        for (Index side = 0; side < 2; ++side)
        {
            child(side).total[0] = (all.of(side) + net.of(side)) / 2;
            child(side).total[1] = (all.of(side) - net.of(side)) / 2;
        }
    }
    else
    {
        auto const sums = classes_.view();
        std::fill(sums.begin(), sums.end(), Sides<Number>());
        for (Index k = 0, n = size_; k < n; ++k)
            sums[label_[k]] = sums[label_[k]] + weight[k];
        for (Index side = 0; side < 2; ++side)
            for (Index c = 0; c < sums.size(); ++c)
                child(side).total[c] = sums[c].of(side);
    }
}

template <class Classes>
void StumpPair<Classes>::countCertain()
{
    Sides<Number> sum;
    for (Index k = 0; k < size_; ++k)
        sum = sum + certain_[k];
    for (Index side = 0; side < 2; ++side)
        child(side).nCertain = sum.of(side);
}

template <class Classes>
void StumpPair<Classes>::change(Index place, Weight left, Weight right)
{
    std::array<Weight, 2> const now{left, right};
    for (std::size_t side = 0; side < 2; ++side)
    {
        auto const old = charged(static_cast<Index>(side), place);
        taken_[side] += std::max<Weight>(0, old - now[side]);
        children_[side].total[label_[place]] += now[side] - old;
    }
    weight_[place] = part(place, left, right);
}

template <class Classes>
void StumpPair<Classes>::follow()
{
    lower(0, taken_[0]);
    lower(1, taken_[1]);
    taken_ = {0, 0};
}

// Let the bounds per feature follow a change that took so much weight away; a plain leaf is always known exactly.
template <class Classes>
void StumpPair<Classes>::lower(Index side, Weight taken)
{
    auto &own = child(side);
    auto const leaf = problem_.nFeatures;
    counted_ = -1;
    for (Index j = 0; j < leaf; ++j)
    {
        own.bound[j] = std::max<Weight>(0, own.bound[j] - taken);
        own.known[j] = Known::bound;
    }
    Weight sum = 0;
    Weight heaviest = 0;
    for (auto const total : own.total)
    {
        sum += total;
        heaviest = std::max(heaviest, total);
    }
    own.bound[leaf] = own.nCertain < problem_.minLeaf ? problem_.forbidden : sum - heaviest + problem_.penalty;
    own.achieved[leaf] = own.bound[leaf];
    own.known[leaf] = Known::exact;
}

// As if no scan had been made before.
template <class Classes>
void StumpPair<Classes>::forgetBounds()
{
    for (auto &child : children_)
        std::fill(child.bound.begin(), child.bound.end() - 1, Weight{0});
}

// --- The two best stumps ---

template <class Classes>
Sides<typename Classes::Number> StumpPair<Classes>::scanBoth(Index feature)
{
    auto const weight = Span<Sides<Number> const>(weight_.view().part(0, size_));
    if constexpr (Classes::isTwo)
    {
        auto const total = [&](Index c) {
            return Sides<Number>(static_cast<Number>(children_[0].total[c]),
                                 static_cast<Number>(children_[1].total[c]));
        };
        auto const [best01, best10] = scanTwoClasses(row(feature, 0), row(feature, 1), weight, total(0), total(1));
        for (Index side = 0; side < 2; ++side)
            child(side).zeroIsLeft[feature] = best01.of(side) >= best10.of(side) ? 1 : 0;
        return larger(best01, best10);
    }
    else if (problem_.minLeaf > 0)
    {
        return scanManyClasses<true>(endsOf(feature), label_, weight, {certain_.view(), problem_.minLeaf},
                                     rightMost_.view(), classes_.view());
    }
    else
    {
        return scanManyClasses<false>(endsOf(feature), label_, weight, {}, rightMost_.view(), classes_.view());
    }
}

// What a split costs that gets so much right; negative: it is not allowed.
template <class Classes>
Weight StumpPair<Classes>::costOf(Index side, Weight right) const
{
    Weight sum = 0;
    for (auto const total : child(side).total)
        sum += total;
    return right < 0 ? problem_.forbidden : sum - right + 2 * problem_.penalty;
}

template <class Classes>
void StumpPair<Classes>::scan(Index feature)
{
    work_.scanned(size_);
    if (work_.isCoarse())
    {
        estimate(feature);
        return;
    }
    auto const best = scanBoth(feature);
    for (Index side = 0; side < 2; ++side)
    {
        auto &own = child(side);
        own.right[feature] = best.of(side);
        own.bound[feature] = own.achieved[feature] = costOf(side, best.of(side));
        own.known[feature] = Known::exact;
    }
}

template <class Classes>
WeighedEnds<typename Classes::Number> StumpPair<Classes>::endsAt(Index feature)
{
    return {ranks_.of(feature), label_.part(0, size_), weight_.view().part(0, size_)};
}

// Count the samples by blocks; what is known of the feature already, for the same weights, stays.
template <class Classes>
void StumpPair<Classes>::estimate(Index feature)
{
    auto const [achieved, most] = coarse_.estimate(feature, endsAt(feature));
    counted_ = feature;
    for (Index side = 0; side < 2; ++side)
    {
        auto &own = child(side);
        if (own.known[feature] == Known::exact)
            continue;
        own.right[feature] = achieved.of(side);
        own.achieved[feature] = costOf(side, achieved.of(side));
        own.bound[feature] = std::max(own.bound[feature], costOf(side, most.of(side)));
        own.known[feature] = Known::blocks;
        own.stump[static_cast<std::size_t>(feature)] = {};
    }
}

// Find the best stump of a side on a feature of which counts are known.
template <class Classes>
void StumpPair<Classes>::findBest(Index side, Index feature)
{
    work_.lookedAt(size_);
    if (counted_ != feature)
        estimate(feature);
    auto &own = child(side);
    auto const best = coarse_.best(feature, endsAt(feature), side, own.right[feature] - 1);
    own.right[feature] = std::max(own.right[feature], best.right);
    own.bound[feature] = own.achieved[feature] = costOf(side, own.right[feature]);
    own.known[feature] = Known::exact;
    own.stump[static_cast<std::size_t>(feature)] = best.stump;
}

template <class Classes>
void StumpPair<Classes>::beginChoice()
{
    for (auto &child : children_)
        child.byBound.begin(child.bound.view().part(0, problem_.nFeatures));
}

// Take note of what is known of a feature now.
template <class Classes>
void StumpPair<Classes>::noteScan(Index feature)
{
    for (auto &child : children_)
        child.byBound.change(feature, child.bound[feature]);
}

// The feature of the child's stump with the least bound; of equals a plain leaf, then the first.
template <class Classes>
Index StumpPair<Classes>::cheapest(Index side) const
{
    auto const &own = child(side);
    auto const leaf = problem_.nFeatures;
    auto const feature = own.byBound.least();
    return own.bound[feature] < own.bound[leaf] ? feature : leaf;
}

// The same among the stumps that are known to be there.
template <class Classes>
Index StumpPair<Classes>::cheapestScanned(Index side) const
{
    auto const &own = child(side);
    auto best = problem_.nFeatures;
    for (Index j = 0; j < problem_.nFeatures; ++j)
        if (own.known[j] != Known::bound && own.achieved[j] < own.achieved[best])
            best = j;
    return best;
}

template <class Classes>
typename StumpPair<Classes>::Choice StumpPair<Classes>::choose(Weight cutoff, Index &nScans, bool early)
{
    beginChoice();
    // The cheapest stumps that are known to be there.
    std::array<Index, 2> there{cheapestScanned(0), cheapestScanned(1)};
    while (true)
    {
        std::array<Index, 2> const best{cheapest(0), cheapest(1)};
        auto const left = children_[0].bound[best[0]];
        auto const right = children_[1].bound[best[1]];
        if (left + right >= cutoff)
            return {Verdict::pruned, left + right, best};
        auto const leftKnown = children_[0].known[best[0]];
        auto const rightKnown = children_[1].known[best[1]];
        if (leftKnown == Known::exact && rightKnown == Known::exact)
            return {Verdict::undecided, left + right, best};
        if (work_.shouldStop())
            return {Verdict::stopped, left + right, best};
        // What is known least first, then the cheaper one.
        auto const side = (leftKnown != rightKnown ? leftKnown < rightKnown : left <= right) ? Index{0} : Index{1};
        auto const feature = best[static_cast<std::size_t>(side)];
        if (child(side).known[feature] == Known::blocks)
        {
            findBest(side, feature);
        }
        else
        {
            ++nScans;
            scan(feature);
        }
        noteScan(feature);
        if (!early)
            continue;
        for (std::size_t c = 0; c < 2; ++c)
            if (children_[c].achieved[feature] < children_[c].achieved[there[c]])
                there[c] = feature;
        if (children_[0].achieved[there[0]] + children_[1].achieved[there[1]] < cutoff)
            return {Verdict::undecided, left + right, there, false};
    }
}

template <class Classes>
Stump StumpPair<Classes>::stump(Index side, Index feature)
{
    auto const &own = child(side);
    if (feature == problem_.nFeatures)
    {
        auto const heaviest = std::max_element(own.total.begin(), own.total.end());
        return {.left = static_cast<Label>(heaviest - own.total.begin())};
    }
    if (work_.isCoarse())
    {
        // What a plain leaf gets right would be as cheap without a split, so there is one.
        if (own.known[feature] != Known::exact)
            findBest(side, feature);
        return own.stump[static_cast<std::size_t>(feature)];
    }
    auto const upper = problem_.upper(feature);
    auto const ids = Span<Sample const>(ids_);
    auto const weight = Span<Sides<Number> const>(weight_.view().part(0, size_));
    if constexpr (Classes::isTwo)
    {
        // What a plain leaf gets right would be as cheap without a split, so there is an event.
        auto const zeroIsLeft = own.zeroIsLeft[feature] != 0;
        auto const order = row(feature, zeroIsLeft ? 0 : 1);
        auto const entry =
            placeOf(order, weight, side, zeroIsLeft ? 1 : -1, own.total[zeroIsLeft ? 1 : 0], own.right[feature]);
        return {feature, upper[ids[order[entry]]], zeroIsLeft ? 0 : 1, zeroIsLeft ? 1 : 0};
    }
    else
    {
        auto const locate = [&](auto withMinLeaf, CertainCounts<Number> const &certain)
        {
            return placeOfManyClasses<decltype(withMinLeaf)::value>(
                endsOf(feature), label_, weight, certain, side, own.right[feature], rightMost_.view(), classes_.view());
        };
        auto const place = problem_.minLeaf > 0 ? locate(std::true_type{}, {certain_.view(), problem_.minLeaf})
                                                : locate(std::false_type{}, {});
        return {feature, upper[ids[row(feature, 0)[place.entry]]], place.left, place.right};
    }
}

template class StumpPair<TwoClasses<double>>;
template class StumpPair<TwoClasses<Weight>>;
template class StumpPair<ManyClasses<double>>;
template class StumpPair<ManyClasses<Weight>>;
}  // namespace hardwood::search
