#include "boosting/binned_scan.h"

#include <algorithm>
#include <vector>

#include "boosting/split_gain.h"

namespace hardwood
{
namespace
{
// What changes at a threshold, for samples of both signs.
struct Bin
{
    Sums enters[2];
    Sums leaves[2];
};

// How many samples these are: a split needs one on either side for certain.
struct Count
{
    std::int32_t enters = 0;
    std::int32_t leaves = 0;
};

// The best threshold of one node, from its bins.
ScannedSplit bestOfBins(Span<Bin const> bins, Span<Count const> counts, Index thresholds, double l2)
{
    ScannedSplit best;
    Sides at;
    std::int32_t onlyLeft = 0, onlyRight = 0;
    for (Bin const &one : bins)
        for (Sums const &sums : one.enters)
            at.onlyRight.add(sums);
    for (Count const &one : counts)
        onlyRight += one.enters;
    for (Index k = 0; k != thresholds; ++k)
    {
        Sums *const inBoth[2] = {&at.negativeInBoth, &at.positiveInBoth};
        for (std::size_t side = 0; side != 2; ++side)
        {
            at.onlyRight.take(bins[k].enters[side]);
            inBoth[side]->add(bins[k].enters[side]);
            inBoth[side]->take(bins[k].leaves[side]);
            at.onlyLeft.add(bins[k].leaves[side]);
        }
        onlyRight -= counts[k].enters;
        onlyLeft += counts[k].leaves;
        if (onlyLeft > 0 && onlyRight > 0)
            considerSplit(at, static_cast<std::int32_t>(k), l2, best);
    }
    return best;
}
}  // namespace

void scanBins(BinnedEnds const &ends, Span<PricedSample const> samples, double l2, Span<ScannedSplit> best,
              Control &control)
{
    std::fill(best.begin(), best.end(), ScannedSplit{});
    Index const width = ends.thresholds + 1;
    std::vector<Bin> bins(static_cast<std::size_t>(best.size() * width));
    std::vector<Count> counts(bins.size());
    Span<Bin> const bin(bins);
    Span<Count> const count(counts);
    for (Index i = 0; i != samples.size(); ++i)
    {
        PricedSample const &one = samples[i];
        if (one.node < 0)
            continue;
        Index const first = one.node * width;
        std::size_t const side = one.positive ? 1 : 0;
        bin[first + ends.enters[i]].enters[side].add(one.slope, one.curvature);
        bin[first + ends.leaves[i]].leaves[side].add(one.slope, one.curvature);
        ++count[first + ends.enters[i]].enters;
        ++count[first + ends.leaves[i]].leaves;
    }
    if (control.shouldStopOrPoll())
        return;
    for (Index node = 0; node != best.size(); ++node)
        best[node] = bestOfBins(Span<Bin const>(bin).part(node * width, width),
                                Span<Count const>(count).part(node * width, width), ends.thresholds, l2);
}
}  // namespace hardwood
