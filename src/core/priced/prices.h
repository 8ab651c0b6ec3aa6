// Attackers who pay: what it costs to bring a sample into a region, for trees over a fixed set of thresholds.
//
// A region is an interval of threshold indices on every feature and, for a group of columns that stand for the
// categories of one feature, a set of categories. Features are paid for one by one:
//
//     price(region) = sum over features of max(toLeft(below), toRight(above)) + sum over groups of the cheapest
//     category
//
// where `below` is the smallest threshold that the region lies to the left of and `above` the largest that it lies to
// the right of; of the two prices of a feature one is 0. A sample **reaches** a region iff that sum is at most its
// budget. A smaller region costs at least as much, so reach shrinks from a node to its children: what the sample has
// spent so far leaves a residual, and within it its reach on the next feature is again an interval of thresholds.
//
// Prices are whole units of the sample's budget (hardwood/problem/prices.py, which computes them), so sums are exact.
#pragma once

#include <cstdint>
#include <vector>

#include "span.h"

namespace hardwood
{
using Units = std::int64_t;

// The prices of all samples at all thresholds.
struct Prices
{
    Index samples = 0;
    Units affordable = 0;            // what every sample can spend
    Span<Index const> begin;         // thresholds begin[j], ..., begin[j + 1] - 1 belong to feature j
    Span<Units const> left;          // per feature, sample by sample: the price of getting to at most each threshold
    Span<Units const> right;         // and above it
    Span<Index const> group;         // of each feature; -1 for a number
    Span<Index const> category;      // of each feature in its group
    Span<bool const> yesIsLeft;      // whether "it is this category" is the left side
    Span<Index const> groupBegin;    // categories of each group, "none" being the last
    Span<Units const> categoryCost;  // per group, sample by sample: the price of becoming each category

    [[nodiscard]] Index features() const { return begin.size() - 1; }
    [[nodiscard]] Index groups() const { return groupBegin.size() - 1; }
    [[nodiscard]] Index thresholds(Index feature) const { return begin[feature + 1] - begin[feature]; }

    [[nodiscard]] Span<Units const> leftOf(Index feature, Index sample) const
    {
        return left.part(begin[feature] * samples + sample * thresholds(feature), thresholds(feature));
    }

    [[nodiscard]] Span<Units const> rightOf(Index feature, Index sample) const
    {
        return right.part(begin[feature] * samples + sample * thresholds(feature), thresholds(feature));
    }

    [[nodiscard]] Span<Units const> categoriesOf(Index one, Index sample) const
    {
        auto const size = groupBegin[one + 1] - groupBegin[one];
        return categoryCost.part(groupBegin[one] * samples + sample * size, size);
    }
};

// What the splits above a node leave of every feature and group.
struct Region
{
    std::vector<Index> above;             // of each feature: the largest threshold passed on the right; -1 for none
    std::vector<Index> below;             // the smallest threshold passed on the left; as many as there are for none
    std::vector<std::vector<char>> open;  // of each group: whether each category is still possible

    [[nodiscard]] static Region all(Prices const &prices);

    // The thresholds that still divide the region on a feature: first and one past the last.
    [[nodiscard]] Index first(Index feature) const { return above[static_cast<std::size_t>(feature)] + 1; }
    [[nodiscard]] Index last(Index feature) const { return below[static_cast<std::size_t>(feature)]; }
};

// One side of a split.
struct Side
{
    Index feature;
    Index threshold;
    bool isLeft;
};

// The region on one side of a split.
[[nodiscard]] Region divided(Prices const &prices, Region const &region, Side side);

// What the block (feature or group) that a feature belongs to costs a sample in a region.
[[nodiscard]] Units blockPrice(Prices const &prices, Region const &region, Index feature, Index sample);
}  // namespace hardwood
