#include "boosting/step_function.h"

#include <algorithm>
#include <bit>

namespace hardwood
{
StepFunction::StepFunction(Span<double const> cut, Span<double const> value) : cut_(cut), cells_(value.size())
{
    least_.emplace_back(value.begin(), value.end());
    largest_ = least_;
    for (Index length = 2; length <= cells_; length *= 2)
    {
        auto const &small = least_.back(), &large = largest_.back();
        auto const count = static_cast<std::size_t>(cells_ - length + 1), half = static_cast<std::size_t>(length / 2);
        std::vector<double> least(count), largest(count);
        for (std::size_t k = 0; k != count; ++k)
        {
            least[k] = std::min(small[k], small[k + half]);
            largest[k] = std::max(large[k], large[k + half]);
        }
        least_.push_back(std::move(least));
        largest_.push_back(std::move(largest));
    }
}

StepFunction::Extremes StepFunction::over(double lower, double upper) const
{
    auto const cellOf = [&](double x)
    { return static_cast<std::size_t>(std::lower_bound(cut_.begin(), cut_.end(), x) - cut_.begin()); };
    std::size_t const first = cellOf(lower), last = std::max(first, cellOf(upper));
    auto const level = static_cast<std::size_t>(std::bit_width(last - first + 1) - 1);
    std::size_t const second = last + 1 - (std::size_t{1} << level);
    return {std::min(least_[level][first], least_[level][second]),
            std::max(largest_[level][first], largest_[level][second])};
}
}  // namespace hardwood
