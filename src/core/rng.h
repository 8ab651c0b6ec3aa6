// The random numbers of the core.
#pragma once

#include <random>

#include "span.h"

namespace hardwood
{
// Numbers in [0, 1) with 53 bits from a Mersenne Twister: the sequence of NumPy's RandomState(seed).random(), so that
// it is the same on every machine (the standard's own distributions are not).
class Random
{
    std::mt19937 engine_;

public:
    explicit Random(std::uint32_t seed) : engine_(seed) {}

    double uniform()
    {
        auto const high = static_cast<double>(engine_() >> 5), low = static_cast<double>(engine_() >> 6);
        return (high * 67108864.0 + low) / 9007199254740992.0;
    }

    // Put one of the entries from a place on, drawn at random, to that place: called for 0, 1, ... it draws without
    // replacement.
    void drawTo(Index place, Span<Index> entries)
    {
        auto const left = static_cast<double>(entries.size() - place);
        std::swap(entries[place], entries[place + static_cast<Index>(uniform() * left)]);
    }
};
}  // namespace hardwood
