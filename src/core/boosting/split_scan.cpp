#include "boosting/split_scan.h"

#include <vector>

namespace hardwood
{
namespace
{
// Gains that differ by less are the same but for the order of summation; the first of them is taken.
constexpr double rounding = 1e-9;

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

    [[nodiscard]] Sums with(Sums const &other) const { return {slope + other.slope, curvature + other.curvature}; }
};

// One node on one feature, while the threshold moves up.
struct Sweep
{
    Sums onlyLeft;
    Sums onlyRight;
    Sums positiveInBoth;
    Sums negativeInBoth;
    std::int32_t lastUpper = -1;
    bool upperWasLast = false;
};

// Consider both orders of the two values at a threshold. With a = S_l, c = S_r and the curvatures u, v of both sides,
// the values are a/u and c/v and the gain is (a^2 v + c^2 u) / (2 u v): no division unless it is the best so far.
void look(Sweep const &at, double l2, ScannedSplit &best)
{
    auto const consider = [&](Sums const &left, Sums const &right, bool rising)
    {
        double const u = left.curvature + l2, v = right.curvature + l2;
        if (!(u > 0.0 && v > 0.0))
            return;
        double const a = left.slope * v, c = right.slope * u;
        double const twice = left.slope * a + right.slope * c, product = u * v;
        if ((rising ? a < c : a > c) && twice > 2.0 * best.gain * (1.0 + rounding) * product)
            best = {twice / (2.0 * product), at.lastUpper, rising};
    };
    consider(at.onlyLeft.with(at.positiveInBoth), at.onlyRight.with(at.negativeInBoth), true);
    consider(at.onlyLeft.with(at.negativeInBoth), at.onlyRight.with(at.positiveInBoth), false);
}
}  // namespace

void scanSplits(EndsInOrder const &ends, Span<PricedSample const> samples, double l2, Span<ScannedSplit> best,
                Control &control)
{
    std::fill(best.begin(), best.end(), ScannedSplit{});
    std::vector<Sweep> sweeps(static_cast<std::size_t>(best.size()));
    Span<Sweep> const at(sweeps);
    Index const n = samples.size();
    for (PricedSample const &one : samples)
        if (one.node >= 0)
            at[one.node].onlyRight.add(one.slope, one.curvature);
    Ticker stop(control);
    Index passed = 0;
    for (Index k = 0; k != n; ++k)
    {
        std::int32_t const t = ends.upperRank[k];
        // A lower end at the threshold reaches left; an upper end at the threshold does not reach right.
        for (; passed != n && ends.lowerRank[passed] <= t; ++passed)
        {
            PricedSample const &one = samples[ends.lowerSample[passed]];
            if (one.node < 0)
                continue;
            Sweep &sweep = at[one.node];
            if (sweep.upperWasLast)
                look(sweep, l2, best[one.node]);
            sweep.upperWasLast = false;
            sweep.onlyRight.add(-one.slope, -one.curvature);
            (one.positive ? sweep.positiveInBoth : sweep.negativeInBoth).add(one.slope, one.curvature);
        }
        PricedSample const &one = samples[ends.upperSample[k]];
        if (one.node < 0)
            continue;
        Sweep &sweep = at[one.node];
        (one.positive ? sweep.positiveInBoth : sweep.negativeInBoth).add(-one.slope, -one.curvature);
        sweep.onlyLeft.add(one.slope, one.curvature);
        sweep.lastUpper = t;
        sweep.upperWasLast = true;
        if (stop())
        {
            std::fill(best.begin(), best.end(), ScannedSplit{});
            return;
        }
    }
    // Lower ends beyond the last upper end cannot be: every box has both.
}
}  // namespace hardwood
