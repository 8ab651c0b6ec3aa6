// Depth 1: the best tree with at most one split, over all thresholds (not only undominated ones).
//
// With a the label of the left leaf, c of the right one and t the threshold, the weight that is right is
// sum_{y = a} w [upper <= t] + sum_{y = c} w [lower > t]: two running sums per class along the thresholds.
#pragma once

#include "search/tree.h"

namespace hardwood::search
{
struct PricedStump
{
    Weight cost = 0;
    Stump stump;
};

// Of equally cheap ones a plain leaf, then the first feature, the first labels, the first threshold.
[[nodiscard]] PricedStump bestStump(Problem const &problem);
}  // namespace hardwood::search
