#include "priced/prices.h"

#include <limits>

namespace hardwood
{
namespace
{
constexpr Units outOfReach = std::numeric_limits<Units>::max() / 4;

std::size_t at(Index index)
{
    return static_cast<std::size_t>(index);
}
}  // namespace

Region Region::all(Prices const &prices)
{
    Region region;
    for (Index j = 0; j != prices.features(); ++j)
    {
        region.above.push_back(-1);
        region.below.push_back(prices.thresholds(j));
    }
    for (Index g = 0; g != prices.groups(); ++g)
        region.open.emplace_back(at(prices.groupBegin[g + 1] - prices.groupBegin[g]), char{1});
    return region;
}

Region divided(Prices const &prices, Region const &region, Side side)
{
    Region part = region;
    auto const j = at(side.feature);
    if (side.isLeft)
        part.below[j] = std::min(part.below[j], side.threshold);
    else
        part.above[j] = std::max(part.above[j], side.threshold);
    auto const group = prices.group[side.feature];
    if (group >= 0)
    {
        auto &open = part.open[at(group)];
        auto const own = at(prices.category[side.feature]);
        bool const isYes = side.isLeft == prices.yesIsLeft[side.feature];
        for (std::size_t k = 0; k != open.size(); ++k)
            if ((k == own) != isYes)
                open[k] = 0;
    }
    return part;
}

Units blockPrice(Prices const &prices, Region const &region, Index feature, Index sample)
{
    auto const group = prices.group[feature];
    if (group < 0)
    {
        auto const above = region.above[at(feature)], below = region.below[at(feature)];
        Units const toRight = above >= 0 ? prices.rightOf(feature, sample)[above] : 0;
        Units const toLeft = below < prices.thresholds(feature) ? prices.leftOf(feature, sample)[below] : 0;
        return std::max(toLeft, toRight);
    }
    auto const cost = prices.categoriesOf(group, sample);
    auto const &open = region.open[at(group)];
    Units best = outOfReach;
    for (Index k = 0; k != cost.size(); ++k)
        if (open[at(k)] != 0)
            best = std::min(best, cost[k]);
    return best;
}
}  // namespace hardwood
