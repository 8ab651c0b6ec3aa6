// To what the numbers of each feature were rounded, for Python.
#pragma once

#include <limits>

#include "bindings/arrays.h"
#include "ends.h"

namespace hardwood
{
// Relative and least spacing of each feature, from rows of shape (2, features) or (2, 1).
inline Array<Rounding> roundingOf(In<double, 2> const &rounding, Index features)
{
    auto const spacings = gridOf(rounding);
    require(spacings.rows() == 2 && (spacings.columns() == features || spacings.columns() == 1),
            "rounding must have the shape (2, features) or (2, 1)");
    auto each = Array<Rounding>::unwritten(features);
    for (Index j = 0; j != features; ++j)
    {
        auto const column = spacings.columns() == 1 ? 0 : j;
        each[j] = {spacings(0, column) / std::numeric_limits<double>::epsilon(), spacings(1, column)};
    }
    return each;
}
}  // namespace hardwood
