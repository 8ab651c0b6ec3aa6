#include "ensemble_scores/margin_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace hardwood
{
namespace
{
constexpr int sweepsAtRoot = 200;
constexpr int sweepsInside = 12;
constexpr int kicks = 60;

std::size_t at(Index index)
{
    return static_cast<std::size_t>(index);
}
}  // namespace

MarginSearch::MarginSearch(BoxProblem const &problem, std::vector<std::int32_t> const &start,
                           std::function<bool(std::vector<std::int32_t> const &)> isWrong,
                           std::function<bool()> shouldStop)
    : problem_(problem),
      start_(start),
      isWrong_(std::move(isWrong)),
      shouldStop_(std::move(shouldStop)),
      messages_(problem, shouldStop_),
      point_(start),
      factorsOf_(problem.features().size()),
      bestMargin_(std::numeric_limits<double>::infinity())
{
    for (std::size_t f = 0; f < problem.factors().size(); ++f)
        for (auto const j : problem.factors()[f].feature)
            factorsOf_[at(j)].push_back(static_cast<std::int32_t>(f));
}

double MarginSearch::marginAt(std::vector<std::int32_t> const &local) const
{
    double margin = problem_.constant();
    for (auto const &factor : problem_.factors())
    {
        std::size_t const width = factor.feature.size();
        for (std::size_t leaf = 0; leaf < factor.value.size(); ++leaf)
        {
            std::size_t i = 0;
            while (i < width && factor.low[leaf * width + i] <= local[at(factor.feature[i])] &&
                   local[at(factor.feature[i])] <= factor.high[leaf * width + i])
                ++i;
            if (i == width)
            {
                margin += factor.value[leaf];
                break;
            }
        }
    }
    return margin;
}

bool MarginSearch::tryPoint(std::vector<std::int32_t> const &local, double margin)
{
    if (margin < bestMargin_)
    {
        bestMargin_ = margin;
        best_ = local;
    }
    // A little more than the threshold, for rounding of the margin itself; the library has the last word.
    if (margin > problem_.threshold() + 1e-9 * (1.0 + std::abs(problem_.constant())))
        return false;
    point_ = start_;
    for (std::size_t j = 0; j < local.size(); ++j)
    {
        auto const &feature = problem_.features()[j];
        auto const first = feature.firstCell[at(local[j])], last = feature.lastCell[at(local[j])];
        // Of the cells that count as one, the nearest to where the sample is.
        point_[at(feature.global)] = std::clamp(start_[at(feature.global)], first, last);
        if (first < 0 && last >= 0)
            point_[at(feature.global)] = std::max(point_[at(feature.global)], 0);
    }
    return isWrong_(point_);
}

bool MarginSearch::descend(std::vector<std::int32_t> local)
{
    double margin = marginAt(local);
    if (tryPoint(local, margin))
        return true;
    std::size_t const n = local.size();
    std::size_t unchanged = 0;
    for (std::size_t step = 0; unchanged < n && step < 20 * n && !shouldStop_(); ++step)
    {
        std::size_t const j = step % n;
        auto const cells = at(problem_.features()[j].cells());
        gain_.assign(cells, 0.0);
        for (auto const f : factorsOf_[j])
        {
            auto const &factor = problem_.factors()[at(f)];
            std::size_t const width = factor.feature.size();
            for (std::size_t leaf = 0; leaf < factor.value.size(); ++leaf)
            {
                std::size_t mine = 0, i = 0;
                for (; i < width; ++i)
                {
                    auto const k = at(factor.feature[i]);
                    if (k == j)
                        mine = i;
                    else if (local[k] < factor.low[leaf * width + i] || local[k] > factor.high[leaf * width + i])
                        break;
                }
                if (i < width)
                    continue;
                for (auto c = factor.low[leaf * width + mine]; c <= factor.high[leaf * width + mine]; ++c)
                    gain_[at(c)] += factor.value[leaf];
            }
        }
        auto const best = std::min_element(gain_.begin(), gain_.end());
        double const change = *best - gain_[at(local[j])];
        if (change < -1e-12)
        {
            local[j] = static_cast<std::int32_t>(best - gain_.begin());
            margin += change;
            unchanged = 0;
            if (tryPoint(local, margin))
                return true;
        }
        else
            ++unchanged;
    }
    return false;
}

bool MarginSearch::descendWithKicks()
{
    for (int kick = 0; kick < kicks && !best_.empty(); ++kick)
    {
        auto local = best_;
        for (int k = 0; k < 3; ++k)
        {
            auto next = [&]
            {
                random_ ^= random_ << 13;
                random_ ^= random_ >> 7;
                random_ ^= random_ << 17;
                return random_;
            };
            auto const j = next() % local.size();
            local[j] = static_cast<std::int32_t>(next() % static_cast<std::uint64_t>(problem_.features()[j].cells()));
        }
        if (descend(std::move(local)))
            return true;
        if (shouldStop_())
            return false;
    }
    return false;
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
        if (isRoot && (sweep == 0 || sweep == 9 || sweep == 49) && descend(messages_.cheapest()))
            return Part::found;
        // Not worth going on where what is missing would take more sweeps than dividing costs.
        if (sweep >= 2 && (bound - last) * (isRoot ? 100 : 15) < threshold - bound)
            break;
        last = bound;
    }
    if (descend(messages_.cheapest()))
        return Part::found;
    if (isRoot && descendWithKicks())
        return Part::found;
    if (shouldStop_())
        return Part::stopped;
    division = messages_.division();
    if (!division.disputed)
    {
        auto const agreed = messages_.agreed();
        if (tryPoint(agreed, marginAt(agreed)))
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
    std::vector<std::int32_t> local;
    for (auto const &feature : problem_.features())
    {
        auto const cell = start_[at(feature.global)];
        auto const found = std::lower_bound(feature.lastCell.begin(), feature.lastCell.end(), cell);
        local.push_back(
            static_cast<std::int32_t>(std::min(found, feature.lastCell.end() - 1) - feature.lastCell.begin()));
    }
    if (descend(local))
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
