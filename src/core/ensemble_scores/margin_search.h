// Whether the margin of the true class over a rival can fall to the threshold inside a box.
//
// Depth first: bound the margin by messages between trees (messages.h); where that does not settle a part of the box,
// look for a point below the threshold (descent.h), and divide the part between leaves that want
// different cells. A part is settled when its proven bound exceeds the threshold, or when one leaf is left of every
// tree. Every point found is judged by the library's own arithmetic, so rounding and ties are decided as there.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "control.h"
#include "ensemble_scores/box_problem.h"
#include "ensemble_scores/descent.h"
#include "ensemble_scores/messages.h"

namespace hardwood
{
enum class Outcome
{
    robust,
    fooled,
    open,
};

class MarginSearch
{
public:
    // `isWrong` says whether the library misclassifies a point, given by global cells. `shouldStop` is asked often.
    MarginSearch(BoxProblem const &problem, std::vector<std::int32_t> const &start,
                 std::function<bool(std::vector<std::int32_t> const &)> isWrong, std::function<bool()> shouldStop);

    [[nodiscard]] Outcome run();

    // Global cells of the point that was found; those of features that do not matter are the start's.
    [[nodiscard]] std::vector<std::int32_t> const &point() const { return descent_.point(); }
    [[nodiscard]] Index parts() const { return parts_; }
    [[nodiscard]] bool foundByDescent() const { return byDescent_; }

private:
    struct Cut
    {
        Index feature;
        std::int32_t oldLow, oldHigh;    // before the cut
        std::int32_t restLow, restHigh;  // the side still to do
        bool hasRest;
    };

    // Bound one part; settles it, finds a point, or says where to divide.
    enum class Part
    {
        settled,
        divided,
        found,
        stopped,
    };
    [[nodiscard]] Part treat(bool isRoot, Messages::Division &division);
    [[nodiscard]] bool backtrack();
    void push(Messages::Division const &division);

    BoxProblem const &problem_;
    std::function<bool()> shouldStop_;
    Messages messages_;
    Descent descent_;
    std::vector<Cut> path_;
    Index parts_ = 0;
    bool byDescent_ = true;
};
}  // namespace hardwood
