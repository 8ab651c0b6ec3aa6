// The same as split_scan.h for many samples, on a limited number of thresholds for each feature.
//
// Walking all ends in order means reading samples from all over memory, twice for each feature. Instead, a feature has
// at most a few hundred thresholds (all that matter, or quantiles of them), numbered 0, 1, ... from below. A sample
// reaches right of thresholds below `leaves` and left of those from `enters` on; these two numbers are computed once. A
// round then adds each sample to the two bins of a histogram, reading samples one behind the other, and the sums at
// every threshold follow from the bins. With all thresholds that matter the splits found are those of split_scan.h.
#pragma once

#include "boosting/split_scan.h"

namespace hardwood
{
// One feature: for each sample the first threshold that it reaches left of, and how many it reaches right of.
struct BinnedEnds
{
    Span<std::uint16_t const> enters;
    Span<std::uint16_t const> leaves;
    Index thresholds = 0;
};

// Write the best threshold of every node on one feature; empty splits where the Control stops it.
void scanBins(BinnedEnds const &ends, Span<PricedSample const> samples, double l2, Span<ScannedSplit> best,
              Control &control);
}  // namespace hardwood
