// Sorting by rank.
#pragma once

#include <algorithm>
#include <array>

#include "span.h"

namespace hardwood
{
// Orders of int32 ranks, stable, with memory that is used again and again.
class RankSorter
{
    Array<std::uint64_t> keys_;
    Array<std::uint64_t> other_;

    // Ranks and places in one key: their order is that of the ranks, equal ranks in order of their places.
    static std::uint64_t key(std::int32_t rank, Index place)
    {
        auto const shifted = static_cast<std::uint32_t>(rank) ^ 0x80000000U;  // negative ranks come first
        return (std::uint64_t{shifted} << 32) | static_cast<std::uint64_t>(place);
    }

    // One round of radix sort, by eleven bits of the rank.
    static void sortByDigit(Span<std::uint64_t const> from, Span<std::uint64_t> to, int shift)
    {
        constexpr std::uint64_t digits = 1 << 11;
        std::array<Index, digits + 1> begin{};
        for (std::uint64_t const k : from)
            ++begin[((k >> shift) % digits) + 1];
        for (std::size_t d = 0; d != digits; ++d)
            begin[d + 1] += begin[d];
        for (std::uint64_t const k : from)
            to[begin[(k >> shift) % digits]++] = k;
    }

public:
    // For at most so many ranks at a time.
    explicit RankSorter(Index most)
        : keys_(Array<std::uint64_t>::unwritten(most)), other_(Array<std::uint64_t>::unwritten(most))
    {
    }

    // Write the places of the ranks in increasing order.
    void order(Span<std::int32_t const> ranks, Span<std::int32_t> places)
    {
        constexpr Index few = 512;  // below this the tables of the radix sort cost more than they save
        Index const n = ranks.size();
        auto from = keys_.view().part(0, n), to = other_.view().part(0, n);
        for (Index k = 0; k != n; ++k)
            from[k] = key(ranks[k], k);
        if (n < few)
            std::sort(from.begin(), from.end());
        else
            for (int const shift : {32, 43, 54})
            {
                sortByDigit(from, to, shift);
                std::swap(from, to);
            }
        for (Index k = 0; k != n; ++k)
            places[k] = static_cast<std::int32_t>(from[k] & 0xFFFFFFFFU);
    }
};
}  // namespace hardwood
