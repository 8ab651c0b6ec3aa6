// What a split gains to second order, from the sums of the samples that reach one side for certain or both sides.
// split_scan.h says why.
#pragma once

#include "boosting/split_scan.h"

namespace hardwood
{
// Signed gradients and curvatures of some samples.
struct Sums
{
    double slope = 0.0;
    double curvature = 0.0;

    void add(double g, double h)
    {
        slope += g;
        curvature += h;
    }
    void add(Sums const &other) { add(other.slope, other.curvature); }
    void take(Sums const &other) { add(-other.slope, -other.curvature); }

    [[nodiscard]] Sums with(Sums const &other) const { return {slope + other.slope, curvature + other.curvature}; }
};

// All samples of a node by what they reach of a split.
struct Sides
{
    Sums onlyLeft;
    Sums onlyRight;
    Sums positiveInBoth;
    Sums negativeInBoth;
};

// Consider both orders of the two values at a threshold. With a = S_l, c = S_r and the curvatures u, v of both sides,
// the values are a/u and c/v and the gain is (a^2 v + c^2 u) / (2 u v): no division unless it is the best so far.
inline void considerSplit(Sides const &at, std::int32_t index, double l2, ScannedSplit &best)
{
    // Gains that differ by less are the same but for the order of summation; the first of them is taken.
    constexpr double rounding = 1e-9;
    auto const consider = [&](Sums const &left, Sums const &right, bool rising)
    {
        double const u = left.curvature + l2, v = right.curvature + l2;
        if (!(u > 0.0 && v > 0.0))
            return;
        double const a = left.slope * v, c = right.slope * u;
        double const twice = left.slope * a + right.slope * c, product = u * v;
        if ((rising ? a < c : a > c) && twice > 2.0 * best.gain * (1.0 + rounding) * product)
            best = {twice / (2.0 * product), index, rising};
    };
    consider(at.onlyLeft.with(at.positiveInBoth), at.onlyRight.with(at.negativeInBoth), true);
    consider(at.onlyLeft.with(at.negativeInBoth), at.onlyRight.with(at.positiveInBoth), false);
}
}  // namespace hardwood
