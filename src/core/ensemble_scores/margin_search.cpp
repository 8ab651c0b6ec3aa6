#include "ensemble_scores/margin_search.h"

#include <utility>

namespace hardwood
{
namespace
{
constexpr int sweepsAtRoot = 200;
constexpr int sweepsInside = 12;

std::size_t at(Index index)
{
    return static_cast<std::size_t>(index);
}
}  // namespace

MarginSearch::MarginSearch(BoxProblem const &problem, std::vector<std::int32_t> const &start,
                           std::function<bool(std::vector<std::int32_t> const &)> isWrong,
                           std::function<bool()> shouldStop)
    : problem_(problem),
      shouldStop_(std::move(shouldStop)),
      messages_(problem, shouldStop_),
      descent_(problem, start, std::move(isWrong), shouldStop_)
{
}

MarginSearch::Part MarginSearch::treat(bool isRoot, Messages::Division &division)
{
    ++parts_;
    messages_.refresh();
    double const threshold = problem_.threshold();
    // A bound that a stop left unfinished proves nothing.
    auto settled = [&](double bound)
    { return bound > threshold && messages_.provenBound() > threshold && !shouldStop_(); };
    double last = messages_.bound();
    if (settled(last))
        return Part::settled;
    int const most = isRoot ? sweepsAtRoot : sweepsInside;
    for (int sweep = 0; sweep < most; ++sweep)
    {
        if (shouldStop_())
            return Part::stopped;
        messages_.sweep(sweep % 2 != 0);
        double const bound = messages_.bound();
        if (settled(bound))
            return Part::settled;
        if (isRoot && (sweep == 0 || sweep == 9 || sweep == 49) && descent_.from(messages_.cheapest()))
            return Part::found;
        // Not worth going on where what is missing would take more sweeps than dividing costs.
        if (sweep >= 2 && (bound - last) * (isRoot ? 100 : 15) < threshold - bound)
            break;
        last = bound;
    }
    if (descent_.from(messages_.cheapest()))
        return Part::found;
    if (isRoot && descent_.withKicks())
        return Part::found;
    if (shouldStop_())
        return Part::stopped;
    division = messages_.division();
    if (!division.disputed)
    {
        auto const agreed = messages_.agreed();
        if (descent_.tryPoint(agreed, descent_.marginAt(agreed)))
            return Part::found;
        if (division.feature < 0)
            // One leaf is left of every tree, and the library is right there.
            return Part::settled;
    }
    return Part::divided;
}

void MarginSearch::push(Messages::Division const &division)
{
    std::int32_t const low = messages_.low(division.feature), high = messages_.high(division.feature);
    std::int32_t const cell = messages_.cheapest()[at(division.feature)];
    bool const lowerFirst = division.disputed ? cell <= division.last : division.lowerFirst;
    if (lowerFirst)
    {
        path_.push_back({division.feature, low, high, division.last + 1, high, true});
        messages_.setRange(division.feature, low, division.last);
    }
    else
    {
        path_.push_back({division.feature, low, high, low, division.last, true});
        messages_.setRange(division.feature, division.last + 1, high);
    }
}

bool MarginSearch::backtrack()
{
    while (!path_.empty())
    {
        Cut &cut = path_.back();
        if (cut.hasRest)
        {
            cut.hasRest = false;
            messages_.setRange(cut.feature, cut.restLow, cut.restHigh);
            return true;
        }
        messages_.setRange(cut.feature, cut.oldLow, cut.oldHigh);
        path_.pop_back();
    }
    return false;
}

Outcome MarginSearch::run()
{
    if (descent_.fromStart())
        return Outcome::fooled;
    if (shouldStop_())
        return Outcome::open;
    bool isRoot = true;
    while (true)
    {
        Messages::Division division;
        switch (treat(isRoot, division))
        {
            case Part::found:
                byDescent_ = isRoot;
                return Outcome::fooled;
            case Part::stopped:
                return Outcome::open;
            case Part::divided:
                push(division);
                break;
            case Part::settled:
                if (!backtrack())
                    return Outcome::robust;
                break;
        }
        isRoot = false;
    }
}
}  // namespace hardwood
