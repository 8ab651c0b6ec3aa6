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
    return distance;
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
}  // namespace hardwood
