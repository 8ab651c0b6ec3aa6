// Equal boxes: samples of one class whose boxes have the same ranks are one sample.
//
// No tree separates them, and they are lost together or not at all, so one sample with the summed weight stands for
// them. Boxes of different classes are not merged, even if they are equal: a box that reaches leaves of both labels
// loses both.
#pragma once

#include <optional>

#include "control.h"
#include "search/problem.h"

namespace hardwood::search
{
// Ranks of samples on features, in either order.
struct RankTable
{
    Span<Rank const> all;
    Index rows;
    Index columns;
    bool byFeature;

    [[nodiscard]] Rank operator()(Index row, Index column) const
    {
        return all[byFeature ? column * rows + row : row * columns + column];
    }
};

struct MergedRows
{
    Array<std::int64_t> group;  // which merged sample each row belongs to
    Array<std::int64_t> first;  // a row of each merged sample
};

// Rows are compared by lower ranks, then upper ranks, then class, and merged samples stand in that order. Nothing where
// the Control stopped it.
[[nodiscard]] std::optional<MergedRows> mergeRows(RankTable const &lower, RankTable const &upper,
                                                  Span<std::int64_t const> label, Control &control);
}  // namespace hardwood::search
