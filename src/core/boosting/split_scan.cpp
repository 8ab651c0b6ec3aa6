#include "boosting/split_scan.h"

#include <vector>

#include "boosting/split_gain.h"

namespace hardwood
{
namespace
{
// One node on one feature, while the threshold moves up.
struct Sweep : Sides
{
    std::int32_t lastUpper = -1;
    bool upperWasLast = false;
};
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
                considerSplit(sweep, sweep.lastUpper, l2, best[one.node]);
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
