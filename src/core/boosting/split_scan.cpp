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

    [[nodiscard]] double value(double l2) const
    {
        double const divisor = curvature + l2;
        return divisor > 0.0 ? slope / divisor : 0.0;
    }

    [[nodiscard]] double gain(double l2) const { return 0.5 * slope * value(l2); }
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

void look(Sweep const &at, double l2, ScannedSplit &best)
{
    auto const consider = [&](Sums const &left, Sums const &right, bool rising)
    {
        double const onLeft = left.value(l2), onRight = right.value(l2);
        double const gain = left.gain(l2) + right.gain(l2);
        if ((rising ? onLeft < onRight : onLeft > onRight) && gain > best.gain * (1.0 + rounding))
            best = {gain, at.lastUpper, rising};
    };
    consider(at.onlyLeft.with(at.positiveInBoth), at.onlyRight.with(at.negativeInBoth), true);
    consider(at.onlyLeft.with(at.negativeInBoth), at.onlyRight.with(at.positiveInBoth), false);
}
}  // namespace

void scanSplits(EndsInOrder const &ends, PricedSamples const &samples, double l2, Span<ScannedSplit> best,
                Control &control)
{
    std::fill(best.begin(), best.end(), ScannedSplit{});
    std::vector<Sweep> sweeps(static_cast<std::size_t>(best.size()));
    Span<Sweep> const at(sweeps);
    Index const n = samples.sign.size();
    for (Index i = 0; i != n; ++i)
        if (samples.node[i] >= 0)
            at[samples.node[i]].onlyRight.add(samples.sign[i] * samples.gradient[i], samples.curvature[i]);
    Ticker stop(control);
    Index passed = 0;
    for (Index k = 0; k != n; ++k)
    {
        std::int32_t const t = ends.upperRank[k];
        // A lower end at the threshold reaches left; an upper end at the threshold does not reach right.
        for (; passed != n && ends.lowerRank[passed] <= t; ++passed)
        {
            Index const i = ends.lowerSample[passed];
            if (samples.node[i] < 0)
                continue;
            Sweep &sweep = at[samples.node[i]];
            if (sweep.upperWasLast)
                look(sweep, l2, best[samples.node[i]]);
            sweep.upperWasLast = false;
            double const slope = samples.sign[i] * samples.gradient[i];
            sweep.onlyRight.add(-slope, -samples.curvature[i]);
            (samples.sign[i] > 0 ? sweep.positiveInBoth : sweep.negativeInBoth).add(slope, samples.curvature[i]);
        }
        Index const i = ends.upperSample[k];
        if (samples.node[i] < 0)
            continue;
        Sweep &sweep = at[samples.node[i]];
        double const slope = samples.sign[i] * samples.gradient[i];
        (samples.sign[i] > 0 ? sweep.positiveInBoth : sweep.negativeInBoth).add(-slope, -samples.curvature[i]);
        sweep.onlyLeft.add(slope, samples.curvature[i]);
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
