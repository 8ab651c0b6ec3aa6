// Samples under attack at the boundary: the samples, the attacker's radii by group, the rounding of each feature.
#pragma once

#include "bindings/arrays.h"
#include "bindings/rounding.h"
#include "ends.h"

namespace hardwood
{
inline void requireSameShape(auto const &a, auto const &b, char const *what)
{
    // The text is made where it is needed only: gcc 12 sees an overrun in it that is none.
    if (a.rows() != b.rows() || a.columns() != b.columns())
        throw nb::value_error((std::string(what) + " must be of one shape").c_str());
}

// The samples and radii of an attack, and the rounding of each feature.
struct AttackArrays
{
    Array<Rounding> rounding;
    Attacked attacked;
};

inline AttackArrays attackedOf(In<double, 2> const &low, In<double, 2> const &high, In<double, 2> const &down,
                               In<double, 2> const &up, In<Index, 1> const &group, In<double, 2> const &rounding)
{
    Attacked attacked{gridOf(low), gridOf(high), gridOf(down), gridOf(up), spanOf(group), {}};
    auto const p = attacked.low.columns();
    requireSameShape(attacked.low, attacked.high, "low and high");
    requireSameShape(attacked.down, attacked.up, "down and up");
    require(attacked.down.columns() == p, "down and up must have the features of the samples");
    require(attacked.group.size() == attacked.low.rows(), "group must have an entry per sample");
    requireRange(attacked.group, 0, attacked.down.rows() - 1, "group");
    auto each = roundingOf(rounding, p);
    attacked.rounding = each.view();
    return {std::move(each), attacked};
}
}  // namespace hardwood
