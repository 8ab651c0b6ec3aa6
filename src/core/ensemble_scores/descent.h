// Looking for a point where the library is wrong by moving one feature at a time to its best cell.
//
// Given all other features, what the leaves add on one feature is a step function over its cells; its least value is
// found in one pass over the factors that read it. Descent ends where no single feature improves the margin. It proves
// nothing, but most samples that can be fooled are fooled so, in microseconds. Every point below the threshold is
// judged by the library's own arithmetic.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ensemble_scores/box_problem.h"

namespace hardwood
{
class Descent
{
public:
    // `isWrong` says whether the library misclassifies a point, given by global cells.
    Descent(BoxProblem const &problem, std::vector<std::int32_t> const &start,
            std::function<bool(std::vector<std::int32_t> const &)> isWrong, std::function<bool()> shouldStop);

    // Each returns whether the library is fooled at a point that was found.
    [[nodiscard]] bool fromStart();
    [[nodiscard]] bool from(std::vector<std::int32_t> local);
    [[nodiscard]] bool withKicks();  // from the best point so far with some features changed at random
    [[nodiscard]] bool tryPoint(std::vector<std::int32_t> const &local, double margin);

    [[nodiscard]] double marginAt(std::vector<std::int32_t> const &local) const;

    // Global cells of the point that was found; those of features that do not matter are the start's.
    [[nodiscard]] std::vector<std::int32_t> const &point() const { return point_; }

private:
    BoxProblem const &problem_;
    std::vector<std::int32_t> const &start_;
    std::function<bool(std::vector<std::int32_t> const &)> isWrong_;
    std::function<bool()> shouldStop_;
    std::vector<std::int32_t> point_;
    std::vector<std::vector<std::int32_t>> factorsOf_;  // of each feature
    std::vector<double> gain_;
    std::vector<std::int32_t> best_;
    double bestMargin_;
    std::uint64_t random_ = 88172645463325252ULL;
};
}  // namespace hardwood
