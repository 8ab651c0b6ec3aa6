// The ends of a box around a sample: x - Δ and x + Δ, each a little farther out, by as much as that arithmetic can be
// wrong.
//
// The rule, and why proofs hold with it, stands in hardwood/problem/boxes.py, which says the same in NumPy; a test
// holds the two together, bit by bit. With the radius Δ of that side of that sample
//
//     lower = x - Δ - ν      upper = x + Δ + ν      ν = max(1e-9 Δ, 4 ulp(|x| + Δ)), 0 where nothing was rounded
//
// Here an end is computed only when somebody asks for it: boxes take twice the memory of the samples.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "reach.h"

namespace hardwood
{
// To what the numbers of a feature were rounded: relative spacing as a multiple of that of a double, and least spacing.
struct Rounding
{
    double relative;
    double least;

    // The least spacing, or somewhat more: for limits that may be generous. That of doubles is no normal number, and
    // processors take a hundred times as long to multiply by those.
    [[nodiscard]] double generousLeast() const { return std::max(least, std::numeric_limits<double>::min()); }
};

// The distance from a number >= 0 to the next larger one; the largest number stands for all beyond it.
[[nodiscard]] inline double spacing(double size)
{
    constexpr double largest = std::numeric_limits<double>::max();
    auto const below = std::bit_cast<double>(std::bit_cast<std::uint64_t>(largest) - 1);
    auto const from = std::min(size, below);
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(from) + 1) - from;
}

// Whether x and the radius are multiples of a step so much coarser than the floats around that nobody rounded them.
[[nodiscard]] inline bool nothingWasRounded(double x, double radius, double ulp, Rounding rounding)
{
    constexpr double finest = 1.0 / (1 << 20);
    if (!std::isfinite(x) || !std::isfinite(radius))
        return true;  // an end that is infinite anyway
    // The step is a power of two, and |x| and the radius are below 2^54 ulp: both quotients are exact and below 2^44.
    auto const step = std::max(finest, ulp * (rounding.relative > 1 ? 1 << 10 : 1 << 20));
    auto const isWhole = [](double number) { return static_cast<double>(static_cast<std::int64_t>(number)) == number; };
    return isWhole(x / step) && isWhole(radius / step);
}

[[nodiscard]] inline double ulpAround(double x, double radius, Rounding rounding)
{
    return std::max(spacing(std::abs(x) + radius) * rounding.relative, rounding.least);
}

// By how much an end may be wrong if anything was rounded.
[[nodiscard]] inline double roundingNoise(double x, double radius, Rounding rounding)
{
    return radius > 0 ? std::max(1e-9 * radius, 4 * ulpAround(x, radius, rounding)) : 0.0;
}

// Whether a radius is a multiple of the finest step that counts, or large. Most are not, and then something was rounded
// whatever the value is: the steps of other values are multiples of that one.
[[nodiscard]] inline bool mayBeUnrounded(double radius)
{
    constexpr double large = 1LL << 40, finestSteps = 1 << 20;
    return !(radius < large) ||
           static_cast<double>(static_cast<std::int64_t>(radius * finestSteps)) == radius * finestSteps;
}

[[nodiscard]] inline double noise(double x, double radius, Rounding rounding)
{
    if (!(radius > 0))
        return 0.0;
    if (mayBeUnrounded(radius) && nothingWasRounded(x, radius, ulpAround(x, radius, rounding), rounding))
        return 0.0;
    return roundingNoise(x, radius, rounding);
}

[[nodiscard]] inline double lowerEnd(double x, double radius, Rounding rounding)
{
    return (x - radius) - noise(x, radius, rounding);
}

[[nodiscard]] inline double upperEnd(double x, double radius, Rounding rounding)
{
    return (x + radius) + noise(x, radius, rounding);
}

// Samples, or where they can be already without a radius, with the attacker's radii by group of samples.
struct Attacked
{
    Grid<double const> low;
    Grid<double const> high;
    Grid<double const> down;  // a row per group
    Grid<double const> up;
    Span<Index const> group;        // of each sample
    Span<Rounding const> rounding;  // of each feature

    [[nodiscard]] double lower(Index sample, Index feature) const
    {
        return lowerEnd(low(sample, feature), down(group[sample], feature), rounding[feature]);
    }

    [[nodiscard]] double upper(Index sample, Index feature) const
    {
        return upperEnd(high(sample, feature), up(group[sample], feature), rounding[feature]);
    }
};

// The box of one of them, an end at a time. Most splits are far away, where noise does not matter.
struct LazyBox
{
    Attacked const &all;
    Index sample;

    // Whether an end at a distance > 0 beyond a threshold may still reach it. Generous: the noise is half of this.
    [[nodiscard]] static bool isNear(double distance, double x, double radius, Rounding rounding)
    {
        constexpr double unit = std::numeric_limits<double>::epsilon();
        return distance <=
               (2e-9 + 8 * unit * rounding.relative) * (std::abs(x) + radius) + 8 * rounding.generousLeast();
    }

    [[nodiscard]] bool left(FloatNode const &node, Index) const
    {
        auto const x = all.low(sample, node.feature);
        auto const radius = all.down(all.group[sample], node.feature);
        auto const end = x - radius;
        if (reachesLeft(end, node.threshold))
            return true;
        auto const rounding = all.rounding[node.feature];
        return isNear(end - node.threshold, x, radius, rounding) &&
               reachesLeft(lowerEnd(x, radius, rounding), node.threshold);
    }

    [[nodiscard]] bool right(FloatNode const &node, Index) const
    {
        auto const x = all.high(sample, node.feature);
        auto const radius = all.up(all.group[sample], node.feature);
        auto const end = x + radius;
        if (reachesRight(end, node.threshold))
            return true;
        auto const rounding = all.rounding[node.feature];
        return isNear(node.threshold - end, x, radius, rounding) &&
               reachesRight(upperEnd(x, radius, rounding), node.threshold);
    }
};
}  // namespace hardwood
