// Boxes and the samples that they are around, at the boundary.
#pragma once

#include <cmath>

#include "bindings/attacked.h"
#include "ranks/ranks.h"

namespace hardwood
{
struct BoxArrays
{
    AttackArrays attack;
    BoxesAround boxes;
};

inline BoxArrays boxesAround(In<double, 2> const &low, In<double, 2> const &high, In<double, 2> const &down,
                             In<double, 2> const &up, In<Index, 1> const &group, In<double, 2> const &rounding,
                             In<double, 2> const &value)
{
    auto attack = attackedOf(low, high, down, up, group, rounding);
    BoxesAround const boxes{attack.attacked, gridOf(value)};
    requireSameShape(boxes.ends.low, boxes.value, "low, high and values");
    require(boxes.samples() < (Index{1} << 28), "more samples than an event can number");
    return {std::move(attack), boxes};
}

// ValueError unless every end and value is a number, infinite ones included.
inline void requireNumbers(BoxesAround const &boxes)
{
    auto const requireAll = [](Grid<double const> grid, auto isGood)
    {
        for (double const number : grid.all())
            if (!isGood(number))
                require(false, "an end of a box must be a number, not NaN");
    };
    constexpr double infinity = std::numeric_limits<double>::infinity();
    requireAll(boxes.value, [](double x) { return !std::isnan(x); });
    requireAll(boxes.ends.down, [](double x) { return x >= 0.0; });
    requireAll(boxes.ends.up, [](double x) { return x >= 0.0; });
    // Where a radius is infinite, so must be the end, on its own side.
    bool const isBounded = [&]
    {
        for (auto const &radii : {boxes.ends.down, boxes.ends.up})
            for (double const radius : radii.all())
                if (radius == infinity)
                    return false;
        return true;
    }();
    requireAll(boxes.ends.low, [=](double x) { return isBounded ? !std::isnan(x) : x < infinity; });
    requireAll(boxes.ends.high, [=](double x) { return isBounded ? !std::isnan(x) : x > -infinity; });
}

// Rank the ends without Python's lock, under a control that was given or one that only signals stop; nothing where it
// was stopped.
inline std::optional<RankedEnds> rankUnlocked(BoxesAround const &boxes, bool byFeature, Control *given)
{
    requireNumbers(boxes);
    std::optional<RankedEnds> ranked;
    {
        nb::gil_scoped_release unlocked;
        Interruptible own;
        ranked = rankEnds(boxes, byFeature, given != nullptr ? *given : own);
    }
    raisePending();
    return ranked;
}
}  // namespace hardwood
