// Sorting by rank and by number, with memory that is used again and again.
//
// Both are radix sorts by digits of eleven bits, which are stable and take a fixed number of rounds. A rank has three
// digits. A number has six; but numbers that were measured differ in their leading bits, so only the first three digits
// in which any two of them differ are sorted by, and runs that these leave equal are then sorted by comparison.
#pragma once

#include <algorithm>
#include <array>
#include <bit>

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

// A number as a key: keys stand in the order of the numbers, and both zeros have the same.
[[nodiscard]] inline std::uint64_t keyOf(double number)
{
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    auto const bits = std::bit_cast<std::uint64_t>(number + 0.0);  // -0.0 + 0.0 is 0.0
    return (bits & sign) != 0 ? ~bits : bits | sign;
}

[[nodiscard]] inline double numberOf(std::uint64_t key)
{
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    return std::bit_cast<double>((key & sign) != 0 ? key & ~sign : ~key);
}

// Larger than the key of any number, infinity included; only what is not a number has such a one.
constexpr std::uint64_t beyondAllKeys = ~std::uint64_t{0};

// A number and where it comes from: in twelve bytes, of which a sort of a large table takes many.
#pragma pack(push, 4)
struct Keyed
{
    std::uint64_t key;
    std::int32_t place;

    [[nodiscard]] bool operator<(Keyed other) const { return key != other.key ? key < other.key : place < other.place; }
};
#pragma pack(pop)

// Sorts numbers, stable.
class NumberSorter
{
    static constexpr int digitBits = 11;
    static constexpr std::uint64_t digits = 1 << digitBits;
    static constexpr int rounds = 3;
    static constexpr Index few = 128;  // below this the tables of the radix sort cost more than they save

    Array<Keyed> other_;

    using Counts = std::array<Index, digits + 1>;

    // How many keys have each digit, one row per round.
    static void count(Span<Keyed const> entries, int lowest, std::array<Counts, rounds> &counts)
    {
        for (Keyed const keyed : entries)
            for (int round = 0; round != rounds; ++round)
                ++counts[static_cast<std::size_t>(round)][((keyed.key >> (lowest + round * digitBits)) % digits) + 1];
    }

    static void sortByDigit(Span<Keyed const> from, Span<Keyed> to, int shift, Counts &begin)
    {
        for (std::size_t d = 0; d != digits; ++d)
            begin[d + 1] += begin[d];
        for (Keyed const keyed : from)
            to[begin[(keyed.key >> shift) % digits]++] = keyed;
    }

    // Sort what stands together because the digits that were looked at are equal.
    static void sortRuns(Span<Keyed> entries, int shift)
    {
        Index const n = entries.size();
        for (Index begin = 0, end = 0; begin != n; begin = end)
        {
            bool differ = false;
            for (end = begin + 1; end != n && entries[end].key >> shift == entries[begin].key >> shift; ++end)
                differ = differ || entries[end].key != entries[begin].key;
            if (differ)
                std::sort(entries.begin() + begin, entries.begin() + end);
        }
    }

public:
    // Sort by key; equal keys stay in order, which must be that of their places.
    void sort(Span<Keyed> entries)
    {
        if (std::is_sorted(entries.begin(), entries.end()))
            return;
        if (entries.size() < few)
            return std::sort(entries.begin(), entries.end());
        std::uint64_t differing = 0;
        for (Keyed const keyed : entries)
            differing |= keyed.key ^ entries[0].key;
        int const bits = 64 - std::countl_zero(differing);
        int const lowest = std::max(0, bits - rounds * digitBits);
        if (other_.size() < entries.size())
            other_ = Array<Keyed>::unwritten(entries.size());
        auto from = entries, to = other_.view().part(0, entries.size());
        std::array<Counts, rounds> counts{};
        count(entries, lowest, counts);
        for (std::size_t round = 0; lowest + static_cast<int>(round) * digitBits < bits; ++round)
        {
            sortByDigit(from, to, lowest + static_cast<int>(round) * digitBits, counts[round]);
            std::swap(from, to);
        }
        if (from.data() != entries.data())
            std::copy(from.begin(), from.end(), entries.begin());
        if (lowest > 0)
            sortRuns(entries, lowest);
    }
};
}  // namespace hardwood
