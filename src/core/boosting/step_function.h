// Extremes of a step function over intervals.
//
// Stumps on one feature add up to a step function f: value[k] on the cell between cut[k - 1] and cut[k], a cell holding
// its upper cut (left means x <= threshold). An interval [lower, upper] meets the cells from the first whose cut is not
// below `lower` to the first whose cut is not below `upper`; the least and the largest value among them are range
// minima, answered from a table of minima over stretches of 1, 2, 4, ... cells: O(c log c) once, then two reads each.
#pragma once

#include <vector>

#include "span.h"

namespace hardwood
{
class StepFunction
{
    Span<double const> cut_;
    Index cells_;
    std::vector<std::vector<double>> least_;  // least_[p][k]: of cells k, ..., k + 2^p - 1
    std::vector<std::vector<double>> largest_;

public:
    struct Extremes
    {
        double least;
        double largest;
    };

    // Cuts rise strictly; there is one value more than cuts.
    StepFunction(Span<double const> cut, Span<double const> value);

    [[nodiscard]] Extremes over(double lower, double upper) const;
};
}  // namespace hardwood
