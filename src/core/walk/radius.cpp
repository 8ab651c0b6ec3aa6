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

// One row of regions, samples and reach: what is compared feature by feature.
struct Approach
{
    Span<double const> x;
    Span<double const> down;
    Span<double const> up;
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
            if (!reachesLeft(x - a.down[j], a.high[j]))
                return infinity;
            distance = std::max(distance, x - a.high[j]);
        }
        else if (x <= a.low[j])
        {
            if (!reachesRight(x + a.up[j], a.low[j]))
                return infinity;
            distance = std::max(distance, nextAbove(a.low[j]) - x);
        }
    }
    return distance;
}

// The largest factor f with which x - f * reach stays above `high`: the quotient, less what its rounding would cross.
double factorAbove(double x, double high, double reach)
{
    double f = (x - nextAbove(high)) / reach;
    while (f > 0.0 && x - f * reach <= high)
        f = std::nextafter(f, 0.0);
    return f;
}

// The largest factor f with which x + f * reach stays at or below `low`.
double factorBelow(double x, double low, double reach)
{
    double f = (low - x) / reach;
    while (f > 0.0 && x + f * reach > low)
        f = std::nextafter(f, 0.0);
    return f;
}

// The largest multiple of the attack that keeps the sample out of a region: one feature that stays out is enough, so it
// is the largest factor of all features; minus infinity inside the region.
double factorThatStaysOut(Approach const &a)
{
    double stays = -infinity;
    for (Index j = 0; j != a.x.size(); ++j)
    {
        double const x = a.x[j];
        bool const above = x > a.high[j];
        if (!above && x > a.low[j])
            continue;
        double const reach = above ? a.down[j] : a.up[j];
        if (reach == 0.0)
            return infinity;
        if (reach == infinity)
            stays = std::max(stays, 0.0);
        else
            stays = std::max(stays, above ? factorAbove(x, a.high[j], reach) : factorBelow(x, a.low[j], reach));
    }
    return stays;
}

Approach approach(Regions const &regions, Index region, PointsUnderAttack const &samples, Index i)
{
    auto const group = samples.reach.group[i];
    return {samples.X.row(i), samples.reach.down.row(group), samples.reach.up.row(group), regions.low.row(region),
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
            if (regions.label[r] != samples.label[i])
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

bool robustFactors(Regions const &regions, PointsUnderAttack const &samples, Span<double> factor, Control &control)
{
    Ticker stop(control);
    for (Index i = 0; i != samples.X.rows(); ++i)
    {
        double best = infinity;
        for (Index r = 0; r != regions.label.size() && best > -infinity; ++r)
            if (regions.label[r] != samples.label[i])
                best = std::min(best, factorThatStaysOut(approach(regions, r, samples, i)));
        factor[i] = best;
        if (stop(regions.label.size()))
            return false;
    }
    return true;
}
}  // namespace hardwood
