// What a search has learned, as bytes: another process goes on from there.
//
// A search that is killed leaves the records of what it proved. Whoever reads them knows, of every node, what is proven
// of its thresholds and for which weights (Memory), and in which shares weight was last divided. A search that goes on
// behind these records may start from just that, and would otherwise have to prove most of it again. So this is what a
// state holds, with the pooled trees, which only guide it. It is taken between two thresholds of whichever node is at
// work; the claims that are open there are given up by whoever goes on.
//
// Reading trusts nothing: a state that does not fit the search throws std::invalid_argument.
#pragma once

#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "span.h"

namespace hardwood::search
{
class StateWriter
{
    std::vector<std::uint8_t> bytes_;

public:
    template <class T>
    void put(T const &value)
    {
        static_assert(std::is_trivially_copyable_v<T>);
        put(Span<T const>(&value, 1));
    }
    // Entries without their number.
    template <class T>
    void put(Span<T const> entries)
    {
        auto const size = bytes_.size();
        auto const added = static_cast<std::size_t>(entries.size()) * sizeof(T);
        bytes_.resize(size + added);
        if (added > 0)
            std::memcpy(bytes_.data() + size, entries.data(), added);
    }
    // Entries of which many are equal to the one before: value and number of each run.
    template <class T>
    void putRuns(Span<T const> entries)
    {
        for (Index k = 0; k < entries.size();)
        {
            Index end = k + 1;
            while (end < entries.size() && entries[end] == entries[k])
                ++end;
            put(entries[k]);
            put(end - k);
            k = end;
        }
    }
    // Runs where that is shorter, else one by one: most samples' entries are all alike, and some nodes' all differ.
    template <class T>
    void putShort(Span<T const> entries)
    {
        Index nRuns = 0;
        for (Index k = 0; k < entries.size(); ++k)
            nRuns += k == 0 || entries[k] != entries[k - 1] ? 1 : 0;
        auto const areRuns =
            nRuns * static_cast<Index>(sizeof(T) + sizeof(Index)) < entries.size() * static_cast<Index>(sizeof(T));
        put(static_cast<std::uint8_t>(areRuns ? 1 : 0));
        if (areRuns)
            putRuns(entries);
        else
            put(entries);
    }
    [[nodiscard]] std::vector<std::uint8_t> take() { return std::exchange(bytes_, {}); }
};

class StateReader
{
    Span<std::uint8_t const> rest_;

public:
    explicit StateReader(Span<std::uint8_t const> bytes) : rest_(bytes) {}

    static void require(bool isRight)
    {
        if (!isRight)
            throw std::invalid_argument("the state is of another search, or damaged");
    }
    template <class T>
    void get(Span<T> entries)
    {
        auto const size = entries.size() * static_cast<Index>(sizeof(T));
        require(size <= rest_.size());
        if (size > 0)
            std::memcpy(entries.data(), rest_.data(), static_cast<std::size_t>(size));
        rest_ = rest_.part(size, rest_.size() - size);
    }
    template <class T>
    [[nodiscard]] T get()
    {
        T value{};
        get(Span<T>(&value, 1));
        return value;
    }
    // A number between two others, both included.
    [[nodiscard]] Index getIndex(Index least, Index most)
    {
        auto const value = get<Index>();
        require(least <= value && value <= most);
        return value;
    }
    template <class T>
    void getRuns(Span<T> entries)
    {
        for (Index k = 0; k < entries.size();)
        {
            auto const value = get<T>();
            auto const run = entries.part(k, getIndex(1, entries.size() - k));
            std::fill(run.begin(), run.end(), value);
            k += run.size();
        }
    }
    template <class T>
    void getShort(Span<T> entries)
    {
        if (get<std::uint8_t>() != 0)
            getRuns(entries);
        else
            get(entries);
    }
    void expectEnd() const { require(rest_.empty()); }
};
}  // namespace hardwood::search
