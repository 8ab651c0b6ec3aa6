// Memory: what earlier questions to a node proved, threshold by threshold.
//
// Let cost(w) be the least cost of a tree with a certain root split when the samples weigh w. Then
//
//     cost(w') >= cost(w) - sum_i max(0, w_i - w'_i)
//
// for any two weightings: the best tree for w' loses, weighed with w, at most what was taken away more. A sample that
// is not at the node weighs 0, so this holds between different sets of samples too. Bounds are kept as they were proven
// and one number, the shift, says by how much all of them have fallen since.
//
// Most bounds are proven for many neighbouring thresholds at once. So thresholds are taken in blocks: one number for
// all of a block as long as they have the same bound, and numbers of their own from when they differ. A table of a
// million ends then takes the memory of the few blocks that are difficult.
#pragma once

#include <algorithm>
#include <vector>

#include "search/problem.h"
#include "search/state.h"

namespace hardwood::search
{
// A bound for each threshold of a feature; none until the first is raised.
class ThresholdBounds
{
    static constexpr Index few = Index{1} << 12;  // so many are one block

    Index size_ = 0;
    Index blockBits_ = 0;
    Array<Weight> level_;             // by block: the bound of all of it,
    std::vector<Array<Weight>> own_;  // unless each threshold has its own

    [[nodiscard]] Array<Weight> &own(Index block) { return own_[static_cast<std::size_t>(block)]; }
    [[nodiscard]] Array<Weight> const &own(Index block) const { return own_[static_cast<std::size_t>(block)]; }
    [[nodiscard]] Index blockSize() const { return Index{1} << blockBits_; }
    [[nodiscard]] Index sizeOf(Index block) const { return std::min(blockSize(), size_ - block * blockSize()); }

    void raiseInside(Index block, Index first, Index end, Weight bound)
    {
        auto &bounds = own(block);
        if (bounds.empty())
        {
            if (bound <= level_[block])
                return;
            if (first == 0 && end == sizeOf(block))
            {
                level_[block] = bound;
                return;
            }
            bounds = Array<Weight>(sizeOf(block), level_[block]);
        }
        for (Index t = first; t < end; ++t)
            bounds[t] = std::max(bounds[t], bound);
    }

public:
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] Index size() const { return size_; }
    [[nodiscard]] Weight operator[](Index threshold) const
    {
        auto const block = threshold >> blockBits_;
        auto const &bounds = own(block);
        return bounds.empty() ? level_[block] : bounds[threshold & (blockSize() - 1)];
    }

    // Begin with a bound of 0 for so many thresholds.
    void begin(Index size)
    {
        size_ = size;
        blockBits_ = size <= few ? 12 : 8;
        auto const blocks = (size + blockSize() - 1) >> blockBits_;
        level_ = Array<Weight>(blocks);
        own_.clear();
        own_.resize(static_cast<std::size_t>(blocks));
    }

    // The thresholds first..end-1 have at least this bound.
    void raise(Index first, Index end, Weight bound)
    {
        for (Index at = first; at < end;)
        {
            auto const block = at >> blockBits_;
            auto const begin = block * blockSize();
            auto const stop = std::min(end, begin + sizeOf(block));
            raiseInside(block, at - begin, stop - begin, bound);
            at = stop;
        }
    }

    // All bounds become `change(bound)`.
    template <class Change>
    void changeAll(Change change)
    {
        std::transform(level_.begin(), level_.end(), level_.begin(), change);
        for (auto &bounds : own_)
            std::transform(bounds.begin(), bounds.end(), bounds.begin(), change);
    }

    // Raise all bounds to what others are, with so much added.
    void learnFrom(ThresholdBounds const &other, Weight added)
    {
        if (other.empty())
            return;
        if (empty())
            begin(other.size_);
        for (Index block = 0; block < level_.size(); ++block)
        {
            auto const &theirs = other.own(block);
            if (theirs.empty())
                raiseInside(block, 0, sizeOf(block), other.level_[block] + added);
            for (Index t = 0; t < theirs.size(); ++t)
                raiseInside(block, t, t + 1, theirs[t] + added);
        }
    }
};

class Memory
{
    // Beyond this the shift is carried out, lest it overflow; bounds and weights are far below.
    static constexpr Weight largestShift = Weight{1} << 60;

    std::vector<ThresholdBounds> bound_;  // by feature and threshold, raised by the shift of its day; empty: all 0
    Weight shift_ = 0;

    void settleShift()
    {
        for (auto &bounds : bound_)
            bounds.changeAll([this](Weight bound) { return std::max<Weight>(0, bound - shift_); });
        shift_ = 0;
    }

public:
    explicit Memory(Problem const &problem) : bound_(static_cast<std::size_t>(problem.nFeatures)) {}

    // Let the bounds, which hold for the weights of the last question less the shift, follow those of the next one.
    void follow(Span<Weight const> last, Span<Weight const> next)
    {
        Weight taken = 0;
        for (Index i = 0; i < next.size(); ++i)
            taken += std::max<Weight>(0, last[i] - next[i]);
        shift_ += taken;
        if (shift_ > largestShift)
            settleShift();
    }

    void forget()
    {
        shift_ = 0;
        for (auto &bounds : bound_)
            bounds.changeAll([](Weight) { return Weight{0}; });
    }

    // Note that no tree that splits the root on the feature at one of the thresholds first..end-1 costs less.
    void raise(Problem const &problem, Index feature, Rank first, Rank end, Weight bound)
    {
        auto &bounds = bound_[static_cast<std::size_t>(feature)];
        if (bounds.empty())
            bounds.begin(problem.nRanks[feature]);
        bounds.raise(first, end, bound + shift_);
    }

    // Take over what another memory knows of the same weights.
    void learnFrom(Memory const &other)
    {
        for (std::size_t j = 0; j < bound_.size(); ++j)
            bound_[j].learnFrom(other.bound_[j], shift_ - other.shift_);
    }

    // With the weights of the last question.
    void save(StateWriter &state, Span<Weight const> weight) const
    {
        state.putShort<Weight>(weight);
        for (auto const &bounds : bound_)
        {
            state.put(static_cast<std::uint8_t>(bounds.empty() ? 0 : 1));
            auto fallen = Array<Weight>::unwritten(bounds.size());
            for (Index t = 0; t < bounds.size(); ++t)
                fallen[t] = std::max<Weight>(0, bounds[t] - shift_);
            state.putShort<Weight>(fallen.view());
        }
    }

    void load(Problem const &problem, StateReader &state, Span<Weight> weight)
    {
        shift_ = 0;
        state.getShort(weight);
        for (std::size_t j = 0; j < bound_.size(); ++j)
        {
            auto const size = state.get<std::uint8_t>() == 0 ? 0 : problem.nRanks[static_cast<Index>(j)];
            Array<Weight> fallen(size);
            state.getShort(fallen.view());
            bound_[j].begin(size);
            for (Index first = 0, end = 0; first < size; first = end)
            {
                StateReader::require(0 <= fallen[first] && fallen[first] < everything);
                for (end = first + 1; end < size && fallen[end] == fallen[first];)
                    ++end;
                bound_[j].raise(first, end, fallen[first]);
            }
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
