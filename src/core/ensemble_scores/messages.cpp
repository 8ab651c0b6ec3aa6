#include "ensemble_scores/messages.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace hardwood
{
namespace
{
constexpr double infinite = std::numeric_limits<double>::infinity();
}

Messages::Messages(BoxProblem const &problem, std::function<bool()> shouldStop)
    : problem_(problem), shouldStop_(std::move(shouldStop))
{
    std::int32_t widest = 0;
    for (auto const &feature : problem.features())
    {
        low_.push_back(0);
        high_.push_back(feature.cells() - 1);
        widest = std::max(widest, feature.cells());
    }
    slotsOf_.resize(low_.size());
    cheapest_.assign(low_.size(), 0);
    total_.resize(static_cast<std::size_t>(widest));
    std::size_t prices = 0, leaves = 0, entries = 0;
    for (std::size_t f = 0; f < problem.factors().size(); ++f)
    {
        auto const &factor = problem.factors()[f];
        slotBegin_.push_back(slotFactor_.size());
        leafBegin_.push_back(leaves);
        entryBegin_.push_back(entries);
        for (auto const j : factor.feature)
        {
            slotsOf_[at(j)].push_back(slotFactor_.size());
            slotFactor_.push_back(f);
            slotFeature_.push_back(j);
            slotPrice_.push_back(prices);
            prices += at(problem.features()[at(j)].cells());
        }
        leaves += factor.value.size();
        entries += factor.low.size();
    }
    slotBegin_.push_back(slotFactor_.size());
    leafBegin_.push_back(leaves);
    entryBegin_.push_back(entries);
    price_.assign(prices, 0.0);
    marginal_.assign(prices, 0.0);
    alive_.assign(problem.factors().size(), 0);
    entryLow_.resize(entries);
    entryHigh_.resize(entries);
    entryPrice_.resize(entries);
    value_.resize(leaves);
    cost_.resize(leaves);
    refresh();
}

void Messages::setRange(Index feature, std::int32_t low, std::int32_t high)
{
    low_[at(feature)] = low;
    high_[at(feature)] = high;
}

void Messages::refresh()
{
    for (std::size_t f = 0; f < alive_.size() && !shouldStop_(); ++f)
    {
        auto const &factor = problem_.factors()[f];
        std::size_t const width = factor.feature.size();
        std::size_t leaf = leafBegin_[f], entry = entryBegin_[f];
        for (std::size_t l = 0; l < factor.value.size(); ++l)
        {
            double cost = factor.value[l];
            std::size_t i = 0;
            for (; i < width; ++i)
            {
                auto const j = at(factor.feature[i]);
                std::int32_t const low = std::max(factor.low[l * width + i], low_[j]);
                std::int32_t const high = std::min(factor.high[l * width + i], high_[j]);
                if (low > high)
                    break;
                double const *prices = &price_[slotPrice_[slotBegin_[f] + i]];
                double const least = *std::min_element(prices + low, prices + high + 1);
                entryLow_[entry + i] = low;
                entryHigh_[entry + i] = high;
                entryPrice_[entry + i] = least;
                cost += least;
            }
            if (i < width)
                continue;
            value_[leaf] = factor.value[l];
            cost_[leaf] = cost;
            ++leaf;
            entry += width;
        }
        alive_[f] = leaf - leafBegin_[f];
    }
}

double Messages::leastOf(std::size_t factor) const
{
    if (alive_[factor] == 0)
        return -infinite;  // not looked at since a stop
    auto const begin = cost_.begin() + static_cast<std::ptrdiff_t>(leafBegin_[factor]);
    return *std::min_element(begin, begin + static_cast<std::ptrdiff_t>(alive_[factor]));
}

double Messages::bound() const
{
    double sum = problem_.constant();
    for (std::size_t f = 0; f < alive_.size(); ++f)
        sum += leastOf(f);
    return sum;
}

double Messages::provenBound()
{
    refresh();
    double sum = problem_.constant();
    double size = std::abs(sum);
    for (std::size_t f = 0; f < alive_.size(); ++f)
    {
        sum += leastOf(f);
        double largest = 0.0;
        for (double const value : problem_.factors()[f].value)
            largest = std::max(largest, std::abs(value));
        size += largest;
    }
    std::size_t terms = alive_.size() + 8;
    for (std::size_t j = 0; j < low_.size(); ++j)
    {
        // Prices that do not quite sum to 0 were taken from nobody: give the largest remainder back.
        double most = 0.0, largest = 0.0;
        for (std::int32_t c = low_[j]; c <= high_[j]; ++c)
        {
            double rest = 0.0, absolute = 0.0;
            for (auto const slot : slotsOf_[j])
            {
                double const price = price_[slotPrice_[slot] + at(c)];
                rest += price;
                absolute += std::abs(price);
            }
            most = std::max(most, rest);
            largest = std::max(largest, absolute);
        }
        sum -= most;
        size += largest;
        terms += 2;
    }
    return sum - 4 * std::numeric_limits<double>::epsilon() * static_cast<double>(terms) * size;
}

// Min-marginals of a factor on one of its features: the least cost of a leaf that holds each cell, its own price
// included.
void Messages::gather(std::size_t slot)
{
    std::size_t const f = slotFactor_[slot], i = slot - slotBegin_[f];
    std::size_t const width = slotBegin_[f + 1] - slotBegin_[f];
    auto const j = at(slotFeature_[slot]);
    double *marginal = &marginal_[slotPrice_[slot]];
    double const *price = &price_[slotPrice_[slot]];
    std::fill(marginal + low_[j], marginal + high_[j] + 1, infinite);
    std::size_t entry = entryBegin_[f] + i;
    for (std::size_t leaf = leafBegin_[f]; leaf < leafBegin_[f] + alive_[f]; ++leaf, entry += width)
    {
        double const others = cost_[leaf] - entryPrice_[entry];
        for (std::int32_t c = entryLow_[entry]; c <= entryHigh_[entry]; ++c)
            marginal[c] = std::min(marginal[c], others);
    }
    for (std::int32_t c = low_[j]; c <= high_[j]; ++c)
        marginal[c] += price[c];
}

// Costs of a factor's leaves after the prices of one of its features have changed.
void Messages::settle(std::size_t slot)
{
    std::size_t const f = slotFactor_[slot], i = slot - slotBegin_[f];
    std::size_t const width = slotBegin_[f + 1] - slotBegin_[f];
    double const *price = &price_[slotPrice_[slot]];
    std::size_t entry = entryBegin_[f] + i;
    for (std::size_t leaf = leafBegin_[f]; leaf < leafBegin_[f] + alive_[f]; ++leaf, entry += width)
    {
        double least = price[entryLow_[entry]];
        for (std::int32_t c = entryLow_[entry] + 1; c <= entryHigh_[entry]; ++c)
            least = std::min(least, price[c]);
        cost_[leaf] += least - entryPrice_[entry];
        entryPrice_[entry] = least;
    }
}

void Messages::passOver(std::size_t feature)
{
    auto const &slots = slotsOf_[feature];
    std::int32_t const low = low_[feature], high = high_[feature];
    if (low == high)
    {
        cheapest_[feature] = low;
        return;
    }
    std::fill(total_.begin() + low, total_.begin() + high + 1, 0.0);
    for (auto const slot : slots)
    {
        gather(slot);
        double const *marginal = &marginal_[slotPrice_[slot]];
        for (std::int32_t c = low; c <= high; ++c)
            total_[at(c)] += marginal[c];
    }
    cheapest_[feature] =
        static_cast<std::int32_t>(std::min_element(total_.begin() + low, total_.begin() + high + 1) - total_.begin());
    if (slots.size() < 2)
        return;
    double const share = 1.0 / static_cast<double>(slots.size());
    for (auto const slot : slots)
    {
        double const *marginal = &marginal_[slotPrice_[slot]];
        double *price = &price_[slotPrice_[slot]];
        for (std::int32_t c = low; c <= high; ++c)
            price[c] += share * total_[at(c)] - marginal[c];
        settle(slot);
    }
}

void Messages::sweep(bool backward)
{
    std::size_t const n = low_.size();
    for (std::size_t k = 0; k < n && !shouldStop_(); ++k)
        passOver(backward ? n - 1 - k : k);
}

Messages::Division Messages::division() const
{
    // For every feature, the first and last cells of the cheapest leaves that ask for it, each as urgent as the factor
    // would lose by taking another leaf.
    struct End
    {
        std::int32_t cell;
        double weight;
    };
    std::vector<std::vector<End>> firsts(low_.size()), lasts(low_.size());
    Division fallback;
    for (std::size_t f = 0; f < alive_.size(); ++f)
    {
        if (alive_[f] < 2)
            continue;
        std::size_t const begin = leafBegin_[f], width = slotBegin_[f + 1] - slotBegin_[f];
        std::size_t best = begin;
        double second = infinite;
        for (std::size_t leaf = begin + 1; leaf < begin + alive_[f]; ++leaf)
        {
            if (cost_[leaf] < cost_[best])
            {
                second = cost_[best];
                best = leaf;
            }
            else
                second = std::min(second, cost_[leaf]);
        }
        double mean = 0.0;
        for (std::size_t leaf = begin; leaf < begin + alive_[f]; ++leaf)
            mean += cost_[leaf];
        double const weight =
            second - cost_[best] + 0.1 * (mean / static_cast<double>(alive_[f]) - cost_[best]) + 1e-12;
        for (std::size_t i = 0; i < width; ++i)
        {
            std::size_t const entry = entryBegin_[f] + (best - begin) * width + i;
            auto const j = at(slotFeature_[slotBegin_[f] + i]);
            if (entryLow_[entry] > low_[j])
            {
                firsts[j].push_back({entryLow_[entry], weight});
                fallback = {static_cast<Index>(j), entryLow_[entry] - 1, false, false};
            }
            if (entryHigh_[entry] < high_[j])
            {
                lasts[j].push_back({entryHigh_[entry], weight});
                fallback = {static_cast<Index>(j), entryHigh_[entry], false, true};
            }
        }
    }
    Division best;
    double most = 0.0;
    for (std::size_t j = 0; j < low_.size(); ++j)
    {
        if (firsts[j].empty() || lasts[j].empty())
            continue;
        auto byCell = [](End const &a, End const &b) { return a.cell < b.cell; };
        std::sort(firsts[j].begin(), firsts[j].end(), byCell);
        std::sort(lasts[j].begin(), lasts[j].end(), byCell);
        double below = 0.0, above = 0.0;  // weight of leaves that end at or before the cut, and that begin after it
        for (auto const &end : firsts[j])
            above += end.weight;
        std::size_t next = 0;
        for (auto const &end : lasts[j])
        {
            below += end.weight;
            while (next < firsts[j].size() && firsts[j][next].cell <= end.cell)
                above -= firsts[j][next++].weight;
            double const dispute = std::min(below, above);
            if (next < firsts[j].size() && dispute > most)
            {
                most = dispute;
                best = {static_cast<Index>(j), end.cell, true, below >= above};
            }
        }
    }
    return most > 0.0 ? best : fallback;
}

std::vector<std::int32_t> Messages::agreed() const
{
    std::vector<std::int32_t> first = low_, last = high_;
    for (std::size_t f = 0; f < alive_.size(); ++f)
    {
        std::size_t const begin = leafBegin_[f], width = slotBegin_[f + 1] - slotBegin_[f];
        std::size_t best = begin;
        for (std::size_t leaf = begin; leaf < begin + alive_[f]; ++leaf)
            if (cost_[leaf] < cost_[best])
                best = leaf;
        for (std::size_t i = 0; i < width; ++i)
        {
            std::size_t const entry = entryBegin_[f] + (best - begin) * width + i;
            auto const j = at(slotFeature_[slotBegin_[f] + i]);
            first[j] = std::max(first[j], entryLow_[entry]);
            last[j] = std::min(last[j], entryHigh_[entry]);
        }
    }
    std::vector<std::int32_t> point(first.size());
    for (std::size_t j = 0; j < first.size(); ++j)
        point[j] = std::clamp(cheapest_[j], first[j], std::max(first[j], last[j]));
    return point;
}
}  // namespace hardwood
