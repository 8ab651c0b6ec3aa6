#include "boosting/leaf_values.h"

#include <cmath>
#include <limits>
#include <vector>

namespace hardwood
{
namespace
{
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double steepest = 700.0;  // exp of more is no number
constexpr int mostSteps = 40;
constexpr double closeEnough = 1e-7;  // steps in units of leaf values
constexpr double noProgress = 1e-9;   // of the loss, in a round

// The derivatives of a loss; its value, which takes a logarithm, is left out.
inline LossAt derivativesAt(BoostingLoss loss, double margin)
{
    double const e = std::exp(std::min(-margin, steepest));
    if (loss == BoostingLoss::exponential)
        return {e, -e, e};
    if (margin < -30.0)  // where exp(-m) may be beyond all numbers
        return {0.0, -1.0, 1.0 / (1.0 + e)};
    double const share = e / (1.0 + e);
    return {0.0, -share, share / (1.0 + e)};
}

// A sample that a group moves: its margin is rest + min(inside + y step, outside).
struct Moved
{
    double inside;
    double outside;
    double weight;
    double sign;
};

// The derivatives of J along a direction, from the left and from the right, and the curvature on the right.
struct Derivatives
{
    double left;
    double right;
    double curvature;
};

class Direction
{
    LeafProblem const &problem_;
    std::vector<Moved> moved_;
    double sumOfValues_ = 0.0;
    double leaves_ = 0.0;

public:
    explicit Direction(LeafProblem const &problem) : problem_(problem) {}

    // Take up a group at the present values; `inGroup` is a scratch flag per leaf.
    void take(Index group, Span<double const> value, Span<std::uint8_t> inGroup)
    {
        auto const members = problem_.groupLeaf.part(problem_.groupStart[group],
                                                     problem_.groupStart[group + 1] - problem_.groupStart[group]);
        moved_.clear();
        sumOfValues_ = 0.0;
        leaves_ = static_cast<double>(members.size());
        for (std::int32_t const l : members)
        {
            inGroup[l] = 1;
            sumOfValues_ += value[l];
        }
        for (Index i = 0; i != problem_.sign.size(); ++i)
        {
            double inside = infinity, outside = infinity;
            for (Index k = problem_.start[i]; k != problem_.start[i + 1]; ++k)
            {
                std::int32_t const l = problem_.leaf[k];
                double const here = problem_.offset[k] + problem_.sign[i] * value[l];
                double &side = inGroup[l] != 0 ? inside : outside;
                side = std::min(side, here);
            }
            if (inside < infinity && problem_.weight[i] > 0.0)
                moved_.push_back({problem_.rest[i] + inside, problem_.rest[i] + outside, problem_.weight[i],
                                  static_cast<double>(problem_.sign[i])});
        }
        for (std::int32_t const l : members)
            inGroup[l] = 0;
    }

    [[nodiscard]] Derivatives at(double step) const
    {
        double const ridge = problem_.l2 * (sumOfValues_ + leaves_ * step);
        Derivatives found{ridge, ridge, problem_.l2 * leaves_};
        for (Moved const &one : moved_)
        {
            double const margin = one.inside + one.sign * step;
            if (margin > one.outside)
                continue;
            LossAt const loss = derivativesAt(problem_.loss, margin);
            double const slope = one.weight * one.sign * loss.slope;
            // At a tie the group's leaf counts only towards the side on which it becomes the worse one.
            bool const tied = margin == one.outside;
            if (!tied || one.sign > 0.0)
                found.left += slope;
            if (!tied || one.sign < 0.0)
            {
                found.right += slope;
                found.curvature += one.weight * loss.curvature;
            }
        }
        return found;
    }

    // The part of J that the direction changes.
    [[nodiscard]] double value(double step, Span<double const> values, Span<std::int32_t const> members) const
    {
        double total = 0.0;
        for (Moved const &one : moved_)
            total += one.weight * lossAt(problem_.loss, std::min(one.inside + one.sign * step, one.outside)).value;
        for (std::int32_t const l : members)
            total += 0.5 * problem_.l2 * (values[l] + step) * (values[l] + step);
        return total;
    }
};

// The step between `lowest` and `highest` at which the direction's derivative changes its sign.
double bestStep(Direction const &direction, double lowest, double highest, Control &control)
{
    double low = lowest, high = highest, step = 0.0;
    for (int k = 0; k != mostSteps && !control.shouldStop(); ++k)
    {
        Derivatives const here = direction.at(step);
        if (here.left <= 0.0 && here.right >= 0.0)
            return step;
        bool const goUp = here.right < 0.0;
        (goUp ? low : high) = step;
        double const slope = goUp ? here.right : here.left;
        double next = here.curvature > 0.0 ? step - slope / here.curvature : (low + high) / 2;
        if (!(next > low && next < high))
            next = (low + high) / 2;
        if (std::abs(next - step) < closeEnough || high - low < closeEnough)
            return next;
        // Newton's steps can creep at kinks; every third one halves the bracket.
        step = k % 3 == 2 ? (low + high) / 2 : next;
    }
    return step;
}
}  // namespace

LossAt lossAt(BoostingLoss loss, double margin)
{
    LossAt found = derivativesAt(loss, margin);
    if (loss == BoostingLoss::logistic)
        found.value = margin < -30.0 ? -margin : std::log1p(std::exp(-margin));
    return found;
}

double lossOfLeaves(LeafProblem const &problem, Span<double const> value)
{
    double total = 0.0;
    for (double const v : value)
        total += 0.5 * problem.l2 * v * v;
    for (Index i = 0; i != problem.sign.size(); ++i)
    {
        double least = infinity;
        for (Index k = problem.start[i]; k != problem.start[i + 1]; ++k)
            least = std::min(least, problem.offset[k] + problem.sign[i] * value[problem.leaf[k]]);
        total += problem.weight[i] * lossAt(problem.loss, problem.rest[i] + least).value;
    }
    return total;
}

double fitLeaves(LeafProblem const &problem, Span<double> value, Index rounds, Control &control)
{
    Array<std::uint8_t> inGroup(value.size());
    Direction direction(problem);
    double before = lossOfLeaves(problem, value);
    for (Index round = 0; round != rounds && !control.stopRequested(); ++round)
    {
        for (Index group = 0; group + 1 < problem.groupStart.size(); ++group)
        {
            if (control.shouldStopOrPoll())
                break;
            auto const members = problem.groupLeaf.part(problem.groupStart[group],
                                                        problem.groupStart[group + 1] - problem.groupStart[group]);
            double lowest = -2 * problem.largest, highest = 2 * problem.largest;
            for (std::int32_t const l : members)
            {
                lowest = std::max(lowest, -problem.largest - value[l]);
                highest = std::min(highest, problem.largest - value[l]);
            }
            if (!(lowest < highest))
                continue;
            direction.take(group, value, inGroup.view());
            double const step = std::clamp(bestStep(direction, lowest, highest, control), lowest, highest);
            if (step != 0.0 && direction.value(step, value, members) < direction.value(0.0, value, members))
                for (std::int32_t const l : members)
                    value[l] += step;
        }
        double const after = lossOfLeaves(problem, value);
        if (!(after < before - noProgress * std::abs(before)))
            return after;
        before = after;
    }
    return lossOfLeaves(problem, value);
}
}  // namespace hardwood
