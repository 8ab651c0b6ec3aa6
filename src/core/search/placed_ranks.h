// The ranks of a node's samples, by place: copied once, read often. A node of all samples has them in order already.
#pragma once

#include <algorithm>
#include <vector>

#include "search/problem.h"

namespace hardwood::search
{
// Which features were asked for last: what is computed for a feature is kept for all of them or, of a large table, for
// some.
class LastAsked
{
    // The feature that is split on and the one that is scanned: the others come round too seldom.
    static constexpr std::size_t most = 2;

    bool keepsAll_;
    std::vector<Index> features_;  // the one that was asked for last at the end

public:
    explicit LastAsked(Problem const &problem) : keepsAll_(!problem.isLarge()) {}
    // Note that a feature is asked for; which one is to be kept no longer, -1: none.
    Index ask(Index feature)
    {
        if (keepsAll_ || (!features_.empty() && features_.back() == feature))
            return -1;
        features_.erase(std::remove(features_.begin(), features_.end(), feature), features_.end());
        features_.push_back(feature);
        if (features_.size() <= most)
            return -1;
        auto const oldest = features_.front();
        features_.erase(features_.begin());
        return oldest;
    }
};

// Make room for so many entries, with some to spare but never more than `most`; what was there is lost.
template <class T>
void makeRoom(Array<T> &array, Index needed, Index most)
{
    if (array.size() < needed)
        array = Array<T>::unwritten(std::min(most, needed + needed / 2));
}

// Both ends of each sample on one feature, by place.
struct PlacedEnds
{
    Span<Rank const> lower;
    Span<Rank const> upper;
};

class PlacedRanks
{
    Problem const &problem_;
    Span<Sample const> ids_;
    std::vector<Array<Rank>> ranks_;  // by feature: lower ends of all places, then upper ends
    Array<std::uint8_t> isCopied_;
    LastAsked asked_;

public:
    explicit PlacedRanks(Problem const &problem)
        : problem_(problem),
          ranks_(static_cast<std::size_t>(problem.nFeatures)),
          isCopied_(problem.nFeatures),
          asked_(problem)
    {
    }

    // Take the samples of a node, which must stay where they are.
    void open(Span<Sample const> ids)
    {
        ids_ = ids;
        std::fill(isCopied_.begin(), isCopied_.end(), std::uint8_t{0});
    }

    [[nodiscard]] PlacedEnds of(Index feature)
    {
        auto const lower = problem_.lower(feature);
        auto const upper = problem_.upper(feature);
        auto const n = ids_.size();
        if (n == problem_.nSamples)
            return {lower, upper};
        auto &kept = ranks_[static_cast<std::size_t>(feature)];
        if (auto const oldest = asked_.ask(feature); oldest >= 0)
        {
            kept = std::move(ranks_[static_cast<std::size_t>(oldest)]);
            isCopied_[oldest] = 0;
        }
        makeRoom(kept, 2 * n, 2 * problem_.nSamples);
        auto const row = kept.view().part(0, 2 * n);
        if (isCopied_[feature] == 0)
        {
            for (Index k = 0; k < n; ++k)
            {
                row[k] = lower[ids_[k]];
                row[n + k] = upper[ids_[k]];
            }
            isCopied_[feature] = 1;
        }
        return {row.part(0, n), row.part(n, n)};
    }
};
}  // namespace hardwood::search
