// Branching on samples: how what remains of a gap at one threshold is closed.
//
// Where the two sides disagree on a shared sample and no division of its weight helps, the trees are told apart by it:
// first those that get it right (it weighs more than any tree costs, on both sides), then those that lose it (its
// weight is paid, and it weighs nothing). Branches nest; the last one that is still in its first case goes over to its
// second, those that have finished their second case are gone.
#pragma once

#include <vector>

#include "search/problem.h"

namespace hardwood::search
{
// Marks on a sample while a gap is closed by branching.
enum class Mark : std::uint8_t
{
    none,
    mustBeCorrect,
    givenUp
};

class Branching
{
    Array<Mark> mark_;
    std::vector<Index> open_;
    Weight givenUp_ = 0;

public:
    // Have marks for so many samples; none may be set.
    void makeRoomFor(Index samples)
    {
        if (mark_.size() < samples)
            mark_ = Array<Mark>(samples, Mark::none);
    }

    [[nodiscard]] Mark operator[](Index sample) const { return mark_[sample]; }
    [[nodiscard]] Span<Mark const> marks() const { return mark_.view(); }
    [[nodiscard]] bool isEmpty() const { return open_.empty(); }
    // The weight of the samples that the present case has paid for.
    [[nodiscard]] Weight givenUp() const { return givenUp_; }

    // Begin with the trees that get the sample right.
    void on(Index sample)
    {
        if (sample < 0)
            throw std::logic_error("a gap remains, but the two sides agree on every sample");
        open_.push_back(sample);
        mark_[sample] = Mark::mustBeCorrect;
    }

    // The present case is done: go on to the next one; whether there is one. `weight` by sample.
    [[nodiscard]] bool next(Span<Weight const> weight)
    {
        while (!open_.empty() && mark_[open_.back()] == Mark::givenUp)
        {
            mark_[open_.back()] = Mark::none;
            givenUp_ -= weight[open_.back()];
            open_.pop_back();
        }
        if (open_.empty())
            return false;
        mark_[open_.back()] = Mark::givenUp;
        givenUp_ += weight[open_.back()];
        return true;
    }

    void clear()
    {
        for (auto const sample : open_)
            mark_[sample] = Mark::none;
        open_.clear();
        givenUp_ = 0;
    }
};
}  // namespace hardwood::search
