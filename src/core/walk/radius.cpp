#include "walk/radius.h"

#include <cmath>
#include <limits>

namespace hardwood
{
namespace
{
constexpr double infinity = std::numeric_limits<double>::infinity();

double nextAbove(double x)
{
    return std::nextafter(x, infinity);
}

// A sample, its box and a region: what is compared feature by feature.
struct Approach
{
    Span<double const> x;
    Box<double> box;
    Span<double const> low;
    Span<double const> high;
};

// The distance to the nearest point of a region inside the sample's box, infinite where there is none.
double distanceTo(Approach const &a)
{
    double distance = 0.0;
    for (Index j = 0; j != a.x.size(); ++j)
    {
        double const x = a.x[j];
        if (x > a.high[j])
        {
            if (!reachesLeft(a.box.lower[j], a.high[j]))
                return infinity;
            distance = std::max(distance, x - a.high[j]);
        }
        else if (x <= a.low[j])
        {
            if (!reachesRight(a.box.upper[j], a.low[j]))
                return infinity;
            distance = std::max(distance, nextAbove(a.low[j]) - x);
        }
    }
    // Differences of huge numbers overflow, and infinity would mean that there is no such point.
    return std::min(distance, std::numeric_limits<double>::max());
}

Approach approach(Regions const &regions, Index region, PointsUnderAttack const &samples, Index i)
{
    return {samples.X.row(i),
            {samples.boxes.lower.row(i), samples.boxes.upper.row(i)},
            regions.low.row(region),
            regions.high.row(region)};
}

// Write the point of a region that is nearest to x.
void moveInto(Span<double const> x, Span<double const> low, Span<double const> high, Span<double> point)
{
    for (Index j = 0; j != x.size(); ++j)
    {
        double const moved = std::min(x[j], high[j]);
        point[j] = moved <= low[j] ? nextAbove(low[j]) : moved;
    }
}

// The largest multiple of the radius that keeps out, given the way to go; `keepsOut` judges a radius.
template <class KeepsOut>
double largestFactor(double way, double x, double radius, Rounding rounding, KeepsOut const &keepsOut)
{
    constexpr double largest = std::numeric_limits<double>::max();
    if (!keepsOut(0.0))
        return -infinity;
    if (radius == 0.0)
        return infinity;
    double factor = 0.0;
    if (radius < infinity)
    {
        // Where nothing is rounded all of the way keeps out.
        auto const all = std::clamp(way / radius, 0.0, largest);
        auto const safe = std::clamp((way - roundingNoise(x, way, rounding)) / radius, 0.0, largest);
        factor = keepsOut(all * radius) ? all : safe;
        for (double step = std::numeric_limits<double>::epsilon(); factor > 0.0 && !keepsOut(factor * radius);
             step *= 2)
            factor = step >= 0.5 ? 0.0 : factor * (1.0 - step);
    }
    // The attack itself may be spared by rounding where its multiples are not: what it leaves bears at least 1.
    return keepsOut(radius) ? std::max(factor, 1.0) : factor;
}

double factorAbove(double x, double radius, double bound, Rounding rounding)
{
    return largestFactor(std::max(x - bound, 0.0), x, radius, rounding,
                         [&](double reach) { return !reachesLeft(lowerEnd(x, reach, rounding), bound); });
}

double factorBelow(double x, double radius, double bound, Rounding rounding)
{
    return largestFactor(std::max(bound - x, 0.0), x, radius, rounding,
                         [&](double reach) { return !reachesRight(upperEnd(x, reach, rounding), bound); });
}

// The largest multiple under which sample i keeps out of a region.
double factorOutside(Regions const &regions, Index region, Attacked const &samples, Index i)
{
    auto const down = samples.down.row(samples.group[i]), up = samples.up.row(samples.group[i]);
    double stays = -infinity;
    for (Index j = 0; j != down.size() && stays < infinity; ++j)
    {
        if (auto const high = regions.high(region, j); high < infinity)
            stays = std::max(stays, factorAbove(samples.low(i, j), down[j], high, samples.rounding[j]));
        if (auto const low = regions.low(region, j); low > -infinity)
            stays = std::max(stays, factorBelow(samples.high(i, j), up[j], low, samples.rounding[j]));
    }
    return stays;
}
}  // namespace

bool nearestWrongPoints(Regions const &regions, PointsUnderAttack const &samples, Grid<double> point,
                        Span<double> distance, Control &control)
{
    Ticker stop(control);
    for (Index i = 0; i != samples.X.rows(); ++i)
    {
        double best = infinity;
        Index nearest = -1;
        for (Index r = 0; r != regions.label.size() && best > 0.0; ++r)
            if (regions.label[r] != samples.boxes.label[i])
            {
                double const d = distanceTo(approach(regions, r, samples, i));
                if (d < best)
                {
                    best = d;
                    nearest = r;
                }
            }
        distance[i] = best;
        auto const out = point.row(i);
        if (nearest < 0)
            std::fill(out.begin(), out.end(), std::numeric_limits<double>::quiet_NaN());
        else
            moveInto(samples.X.row(i), regions.low.row(nearest), regions.high.row(nearest), out);
        if (stop(regions.label.size()))
            return false;
    }
    return true;
}

bool largestFactors(Regions const &regions, Attacked const &samples, Span<Index const> label, Span<double> factor,
                    Control &control)
{
    Ticker stop(control);
    for (Index i = 0; i != samples.low.rows(); ++i)
    {
        factor[i] = infinity;
        for (Index r = 0; r != regions.label.size() && factor[i] > -infinity; ++r)
            if (regions.label[r] != label[i])
                factor[i] = std::min(factor[i], factorOutside(regions, r, samples, i));
        if (stop(regions.label.size()))
            return false;
    }
    return true;
}
}  // namespace hardwood
