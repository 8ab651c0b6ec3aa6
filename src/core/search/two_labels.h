// Two leaves with different labels: what they get right together.
#pragma once

#include <algorithm>
#include <array>

#include "search/problem.h"

namespace hardwood::search
{
// The largest sum of a class's weight on the left and another one's on the right, in one pass over the classes: the two
// largest of each side are enough.
template <class Number, class Left, class Right>
Number mostOfTwoLabels(Index nClasses, Left leftOf, Right rightOf)
{
    std::array<Number, 2> left{0, 0};
    std::array<Number, 2> right{0, 0};
    Index leftLabel = -1;  // whose the largest is
    Index rightLabel = -1;
    for (Index c = 0; c < nClasses; ++c)
    {
        auto const toLeft = static_cast<Number>(leftOf(c));
        auto const toRight = static_cast<Number>(rightOf(c));
        leftLabel = toLeft > left[0] ? c : leftLabel;
        left[1] = std::max(left[1], std::min(left[0], toLeft));
        left[0] = std::max(left[0], toLeft);
        rightLabel = toRight > right[0] ? c : rightLabel;
        right[1] = std::max(right[1], std::min(right[0], toRight));
        right[0] = std::max(right[0], toRight);
    }
    if (leftLabel != rightLabel)
        return left[0] + right[0];
    return std::max<Number>(left[0] + right[1], left[1] + right[0]);
}
}  // namespace hardwood::search
