#include "search/merge.h"

#include <compare>
#include <cstdint>
#include <vector>

namespace hardwood::search
{
namespace
{
// A row with its first ranks in one number: most comparisons are settled by that.
struct Keyed
{
    std::uint64_t key;
    Index row;
};

// The only way out of a sort.
struct Stopped
{
};

std::uint64_t firstRanks(RankTable const &lower, Index row)
{
    // Adding 2^31 keeps the order and makes every rank positive.
    auto const part = [&](Index column)
    {
        auto const rank = column < lower.columns ? lower(row, column) : 0;
        return static_cast<std::uint64_t>(std::int64_t{rank} + (std::int64_t{1} << 31));
    };
    return (part(0) << 32) | part(1);
}

std::strong_ordering compareRows(RankTable const &rank, Index a, Index b)
{
    for (Index j = 0; j < rank.columns; ++j)
        if (auto const order = rank(a, j) <=> rank(b, j); order != 0)
            return order;
    return std::strong_ordering::equal;
}
}  // namespace

std::optional<MergedRows> mergeRows(RankTable const &lower, RankTable const &upper, Span<std::int64_t const> label,
                                    Control &control)
{
    auto const n = lower.rows;
    auto const compare = [&](Keyed const &a, Keyed const &b)
    {
        if (auto const order = a.key <=> b.key; order != 0)
            return order;
        if (auto const order = compareRows(lower, a.row, b.row); order != 0)
            return order;
        if (auto const order = compareRows(upper, a.row, b.row); order != 0)
            return order;
        return label[a.row] <=> label[b.row];
    };
    std::vector<Keyed> rows;
    rows.reserve(static_cast<std::size_t>(n));
    for (Index i = 0; i < n; ++i)
        rows.push_back({firstRanks(lower, i), i});
    Ticker hasToStop(control);
    try
    {
        std::sort(rows.begin(), rows.end(),
                  [&](Keyed const &a, Keyed const &b)
                  {
                      if (hasToStop())
                          throw Stopped();
                      auto const order = compare(a, b);
                      return order != 0 ? order < 0 : a.row < b.row;
                  });
    }
    catch (Stopped const &)
    {
        return {};
    }
    MergedRows merged{Array<std::int64_t>(n), {}};
    std::vector<std::int64_t> first;
    for (std::size_t k = 0; k < rows.size(); ++k)
    {
        if (k == 0 || compare(rows[k - 1], rows[k]) != 0)
            first.push_back(rows[k].row);
        merged.group[rows[k].row] = static_cast<std::int64_t>(first.size()) - 1;
    }
    merged.first = Array<std::int64_t>::copy(Span<std::int64_t const>(first));
    return merged;
}
}  // namespace hardwood::search
