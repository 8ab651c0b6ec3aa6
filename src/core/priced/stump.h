// Plain leaves and single splits against attackers who pay; exact.
#pragma once

#include "priced/search.h"

namespace hardwood
{
// The best single leaf and its cost.
[[nodiscard]] Answer bestLeaf(PricedProblem const &problem, Stand const &stand, std::vector<Cost> const &weight);

// Replace `best` by the best tree with one split if that costs less.
void improveByStump(PricedProblem const &problem, Stand const &stand, std::vector<Cost> const &weight, Answer &best);
}  // namespace hardwood
