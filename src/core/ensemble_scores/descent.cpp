#include "ensemble_scores/descent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace hardwood
{
namespace
{
constexpr int kicks = 60;

std::size_t at(Index index)
{
    return static_cast<std::size_t>(index);
}
}  // namespace

Descent::Descent(BoxProblem const &problem, std::vector<std::int32_t> const &start,
                 std::function<bool(std::vector<std::int32_t> const &)> isWrong, std::function<bool()> shouldStop)
    : problem_(problem),
      start_(start),
      isWrong_(std::move(isWrong)),
      shouldStop_(std::move(shouldStop)),
      point_(start),
      factorsOf_(problem.features().size()),
      bestMargin_(std::numeric_limits<double>::infinity())
{
    for (std::size_t f = 0; f < problem.factors().size(); ++f)
        for (auto const j : problem.factors()[f].feature)
            factorsOf_[at(j)].push_back(static_cast<std::int32_t>(f));
}

bool Descent::fromStart()
{
    std::vector<std::int32_t> local;
    for (auto const &feature : problem_.features())
    {
        auto const cell = start_[at(feature.global)];
        auto const found = std::lower_bound(feature.lastCell.begin(), feature.lastCell.end(), cell);
        local.push_back(
            static_cast<std::int32_t>(std::min(found, feature.lastCell.end() - 1) - feature.lastCell.begin()));
    }
    return from(std::move(local));
}

double Descent::marginAt(std::vector<std::int32_t> const &local) const
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

bool Descent::tryPoint(std::vector<std::int32_t> const &local, double margin)
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

bool Descent::from(std::vector<std::int32_t> local)
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

bool Descent::withKicks()
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
        if (from(std::move(local)))
            return true;
        if (shouldStop_())
            return false;
    }
    return false;
}
}  // namespace hardwood
