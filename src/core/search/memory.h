// Memory: what earlier questions to a node proved, threshold by threshold.
//
// Let cost(w) be the least cost of a tree with a certain root split when the samples weigh w. Then
//
//     cost(w') >= cost(w) - sum_i max(0, w_i - w'_i)
//
// for any two weightings: the best tree for w' loses, weighed with w, at most what was taken away more. A sample that
// is not at the node weighs 0, so this holds between different sets of samples too. Bounds are kept as they were proven
// and one number, the shift, says by how much all of them have fallen since.
#pragma once

#include <algorithm>
#include <vector>

#include "search/problem.h"
#include "search/state.h"

namespace hardwood::search
{
class Memory
{
    // Beyond this the shift is carried out, lest it overflow; bounds and weights are far below.
    static constexpr Weight largestShift = Weight{1} << 60;

    std::vector<Array<Weight>> bound_;  // by feature and threshold, raised by the shift of its day; empty: all 0
    Array<Weight> weight_;              // the weights for which the bounds less the shift hold
    Weight shift_ = 0;

    void settleShift()
    {
        for (auto &bounds : bound_)
            for (auto &bound : bounds)
                bound = std::max<Weight>(0, bound - shift_);
        shift_ = 0;
    }

public:
    explicit Memory(Problem const &problem)
        : bound_(static_cast<std::size_t>(problem.nFeatures)), weight_(problem.nSamples)
    {
    }

    // Let the bounds follow the weights of the next question.
    void follow(Span<Weight const> weight)
    {
        Weight taken = 0;
        for (Index i = 0; i < weight.size(); ++i)
        {
            taken += std::max<Weight>(0, weight_[i] - weight[i]);
            weight_[i] = weight[i];
        }
        shift_ += taken;
        if (shift_ > largestShift)
            settleShift();
    }

    void forget()
    {
        shift_ = 0;
        for (auto &bounds : bound_)
            std::fill(bounds.begin(), bounds.end(), Weight{0});
    }

    // Note that no tree that splits the root on the feature at one of the thresholds first..end-1 costs less.
    void raise(Problem const &problem, Index feature, Rank first, Rank end, Weight bound)
    {
        auto &bounds = bound_[static_cast<std::size_t>(feature)];
        if (bounds.empty())
            bounds = Array<Weight>(problem.nRanks[feature]);
        for (Index t = first; t < end; ++t)
            bounds[t] = std::max(bounds[t], bound + shift_);
    }

    // Take over what another memory knows of the same weights.
    void learnFrom(Memory const &other)
    {
        for (std::size_t j = 0; j < bound_.size(); ++j)
        {
            auto const &theirs = other.bound_[j];
            if (bound_[j].empty() && !theirs.empty())
                bound_[j] = Array<Weight>(theirs.size());
            for (Index t = 0; t < theirs.size(); ++t)
                bound_[j][t] = std::max(bound_[j][t], theirs[t] - other.shift_ + shift_);
        }
    }

    void save(StateWriter &state) const
    {
        state.putRuns<Weight>(weight_.view());
        for (auto const &bounds : bound_)
        {
            state.put(static_cast<std::uint8_t>(bounds.empty() ? 0 : 1));
            auto fallen = Array<Weight>::unwritten(bounds.size());
            for (Index t = 0; t < bounds.size(); ++t)
                fallen[t] = std::max<Weight>(0, bounds[t] - shift_);
            state.putRuns<Weight>(fallen.view());
        }
    }

    void load(Problem const &problem, StateReader &state)
    {
        shift_ = 0;
        state.getRuns(weight_.view());
        for (std::size_t j = 0; j < bound_.size(); ++j)
        {
            bound_[j] = Array<Weight>(state.get<std::uint8_t>() == 0 ? 0 : problem.nRanks[static_cast<Index>(j)]);
            state.getRuns(bound_[j].view());
            for (auto const bound : bound_[j])
                StateReader::require(0 <= bound && bound < everything);
        }
    }

    // Whether a tree below the cutoff may exist at the threshold.
    [[nodiscard]] bool leavesOpen(Index feature, Rank threshold, Weight cutoff) const
    {
        auto const &bounds = bound_[static_cast<std::size_t>(feature)];
        return (bounds.empty() ? 0 : bounds[threshold]) < cutoff + shift_;
    }
};
}  // namespace hardwood::search
