#include "search/coarse_scan.h"

#include <algorithm>

#include "search/two_labels.h"

namespace hardwood::search
{
template <class Number>
typename CoarseScan<Number>::Estimate CoarseScan<Number>::estimate(Index feature, WeighedEnds<Number> const &samples)
{
    // Ranks go from -1 (minus infinity) to nRanks (infinity). Sixteen samples per block make the passes over blocks
    // short beside those over samples.
    auto const nRanks = problem_.nRanks[feature] + 2;
    auto const wanted = std::clamp<Index>(samples.weight.size() / 16, 16, mostBlocks);
    for (shift_ = 0; (nRanks - 1) >> shift_ >= wanted;)
        ++shift_;
    nBlocks_ = ((nRanks - 1) >> shift_) + 1;
    auto const width = (nBlocks_ + 1) * problem_.nClasses;
    auto const most = (mostBlocks + 1) * problem_.nClasses;
    makeRoom(left_, width, most);
    makeRoom(right_, width, most);
    makeRoom(mostLeft_, nBlocks_ + 1, mostBlocks + 1);
    makeRoom(mostRight_, nBlocks_ + 1, mostBlocks + 1);
    count(samples);
    addUp();
    Estimate estimate;
    for (Index block = 0; block <= nBlocks_; ++block)
        estimate.achieved = larger(estimate.achieved, mostLeft_[block] + mostRight_[block]);
    estimate.most = estimate.achieved;
    for (Index block = 0; block < nBlocks_; ++block)
    {
        // With equal labels on both sides this counts samples twice: a rough bound, but often enough.
        auto const rough = mostLeft_[block + 1] + mostRight_[block];
        auto const inside = [&](Index side, Number known)
        { return std::max(known, static_cast<Number>(mostInside(side, block))); };
        if (rough.left() > estimate.most.left())
            estimate.most = {inside(0, estimate.most.left()), estimate.most.right()};
        if (rough.right() > estimate.most.right())
            estimate.most = {estimate.most.left(), inside(1, estimate.most.right())};
    }
    return estimate;
}

template <class Number>
void CoarseScan<Number>::count(WeighedEnds<Number> const &samples)
{
    auto const nClasses = problem_.nClasses;
    auto const width = (nBlocks_ + 1) * nClasses;
    std::fill(left_.begin(), left_.begin() + width, Sides<Number>());
    std::fill(right_.begin(), right_.begin() + width, Sides<Number>());
    auto const [lower, upper] = samples.rank;
    auto const label = samples.label;
    auto const weight = samples.weight;
    auto const left = left_.view().part(nClasses, width - nClasses);
    auto const right = right_.view();
    auto const shift = shift_;
    for (Index k = 0, n = weight.size(); k < n; ++k)
    {
        auto const own = weight[k];
        auto &toLeft = left[((Index{upper[k]} + 1) >> shift) * nClasses + label[k]];
        auto &toRight = right[((Index{lower[k]} + 1) >> shift) * nClasses + label[k]];
        toLeft = toLeft + own;
        toRight = toRight + own;
    }
}

// From weights in blocks to weights before and behind their boundaries.
template <class Number>
void CoarseScan<Number>::addUp()
{
    auto const nClasses = problem_.nClasses;
    auto const rowOf = [nClasses](Array<Sides<Number>> &all, Index block)
    { return all.view().part(block * nClasses, nClasses); };
    Sides<Number> const zero;
    if (nClasses == 2)
        for (Index block = 0; block <= nBlocks_; ++block)
        {
            left_[2 * block + 1] = zero - left_[2 * block + 1];
            right_[2 * block + 1] = zero - right_[2 * block + 1];
        }
    for (Index block = 0; block <= nBlocks_; ++block)
    {
        auto const row = rowOf(left_, block);
        Sides<Number> most;
        for (Index c = 0; c < nClasses; ++c)
        {
            if (block > 0)
                row[c] = row[c] + rowOf(left_, block - 1)[c];
            most = larger(most, row[c]);
        }
        mostLeft_[block] = most;
    }
    for (Index block = nBlocks_; block >= 0; --block)
    {
        auto const row = rowOf(right_, block);
        Sides<Number> most;
        for (Index c = 0; c < nClasses; ++c)
        {
            if (block < nBlocks_)
                row[c] = row[c] + rowOf(right_, block + 1)[c];
            most = larger(most, row[c]);
        }
        mostRight_[block] = most;
    }
}

// What a split inside the block gets right at most. Splits with equal labels get no more right than a plain leaf.
template <class Number>
Weight CoarseScan<Number>::mostInside(Index side, Index block) const
{
    auto const nClasses = problem_.nClasses;
    return mostOfTwoLabels<Weight>(
        nClasses, [&](Index c) { return left_[(block + 1) * nClasses + c].of(side); },
        [&](Index c) { return right_[block * nClasses + c].of(side); });
}

// The ends of a side's samples in all blocks where a split may get more than that right, in order: by rank, lower ends
// before upper ones.
template <class Number>
void CoarseScan<Number>::collect(WeighedEnds<Number> const &samples, Index side, Weight above)
{
    isWanted_.assign(static_cast<std::size_t>(nBlocks_), 0);
    for (Index block = 0; block < nBlocks_; ++block)
        if (auto const rough = mostLeft_[block + 1] + mostRight_[block]; rough.of(side) > above)
            isWanted_[static_cast<std::size_t>(block)] = mostInside(side, block) > above ? 1 : 0;
    ends_.clear();
    auto const isWanted = Span<std::uint8_t const>(isWanted_);
    auto const [lower, upper] = samples.rank;
    auto const note = [&](Index place, Rank rank, bool isUpper)
    {
        if (samples.weight[place].of(side) == 0)
            return;
        auto const key = (static_cast<std::uint64_t>(Index{rank} + 1) << 1) | (isUpper ? 1U : 0U);
        ends_.push_back((key << 32) | static_cast<std::uint64_t>(place));
    };
    for (Index k = 0, n = samples.weight.size(); k < n; ++k)
    {
        if ((isWanted[blockOf(lower[k])] | isWanted[blockOf(upper[k])]) == 0)
            continue;
        if (isWanted[blockOf(lower[k])] != 0)
            note(k, lower[k], false);
        if (isWanted[blockOf(upper[k])] != 0)
            note(k, upper[k], true);
    }
    std::sort(ends_.begin(), ends_.end());
}

template <class Number>
typename CoarseScan<Number>::Place CoarseScan<Number>::best(Index feature, WeighedEnds<Number> const &samples,
                                                            Index side, Weight above)
{
    collect(samples, side, above);
    auto const nClasses = problem_.nClasses;
    sums_.assign(static_cast<std::size_t>(2 * nClasses), 0);
    auto const left = Span<Weight>(sums_).part(0, nClasses);
    auto const right = Span<Weight>(sums_).part(nClasses, nClasses);
    auto const heaviest = [](Span<Weight> sums)
    { return static_cast<Label>(std::max_element(sums.begin(), sums.end()) - sums.begin()); };
    Place best{above, {}};
    Index block = -1;
    Weight mostLeft = 0;
    Weight mostRight = 0;
    for (auto const end : ends_)
    {
        auto const place = static_cast<Index>(end & ((std::uint64_t{1} << 32) - 1));
        auto const isUpper = ((end >> 32) & 1U) != 0;
        auto const rank = static_cast<Rank>(static_cast<Index>(end >> 33) - 1);
        if (auto const own = blockOf(rank); own != block)
        {
            block = own;
            for (Index c = 0; c < nClasses; ++c)
            {
                left[c] = left_[block * nClasses + c].of(side);
                right[c] = right_[block * nClasses + c].of(side);
            }
            mostLeft = mostLeft_[block].of(side);
            mostRight = mostRight_[block].of(side);
        }
        auto const c = samples.label[place];
        auto const weight = std::abs(samples.weight[place].of(side));
        (isUpper ? left : right)[c] += isUpper ? weight : -weight;
        mostLeft = std::max(mostLeft, left[c]);
        // The right side only loses inside a block: what it had is a bound on what it has.
        if (!isUpper || mostLeft + mostRight <= best.right)
            continue;
        mostRight = *std::max_element(right.begin(), right.end());
        if (mostLeft + mostRight > best.right)
            best = {mostLeft + mostRight, {feature, rank, heaviest(left), heaviest(right)}};
    }
    return best;
}

template class CoarseScan<double>;
template class CoarseScan<Weight>;
}  // namespace hardwood::search
