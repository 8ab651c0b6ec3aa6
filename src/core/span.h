// Views of arrays, and arrays that own their memory, with signed indices.
//
// Nothing in the core walks over memory by pointer arithmetic: it asks a Span (one dimension), a Grid (rows of equal
// length, one behind the other) or an Array (a Span that owns). In a build with HARDWOOD_CHECKED every access is
// checked and a wrong one throws std::out_of_range, which Python sees as IndexError; in any other build an access costs
// what a pointer costs. Indices are signed, so that "one before the first" is -1 and differences need no cast.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace hardwood
{
using Index = std::int64_t;

#ifdef HARDWOOD_CHECKED
inline constexpr bool checked = true;
#else
inline constexpr bool checked = false;
#endif

// Throw unless 0 <= index < size; nothing at all in a build that is not checked.
constexpr void requireInside(Index index, Index size)
{
    if constexpr (checked)
        if (index < 0 || index >= size)
            throw std::out_of_range("index " + std::to_string(index) + " into " + std::to_string(size) + " entries");
}

// Entries of somebody else's array.
template <class T>
class Span
{
    T *data_ = nullptr;
    Index size_ = 0;

public:
    constexpr Span() = default;
    constexpr Span(T *data, Index size) : data_(data), size_(size) {}

    // From anything that keeps its entries in one piece and outlives the view: std::vector, std::array.
    template <class Container>
    requires(!std::is_same_v<std::remove_cvref_t<Container>, Span> &&
             requires(Container & c) {
                 {
                     c.data()
                     } -> std::convertible_to<T *>;
                 c.size();
             }) constexpr Span(Container &container)
        : data_(container.data()), size_(static_cast<Index>(container.size()))
    {
    }

    // A view that may write is also one that reads.
    template <class U>
    requires(std::is_same_v<T, U const>) constexpr Span(Span<U> other) : data_(other.data()), size_(other.size()) {}

    [[nodiscard]] constexpr Index size() const { return size_; }
    [[nodiscard]] constexpr bool empty() const { return size_ == 0; }
    [[nodiscard]] constexpr T *data() const { return data_; }
    [[nodiscard]] constexpr T *begin() const { return data_; }
    [[nodiscard]] constexpr T *end() const { return data_ + size_; }

    constexpr T &operator[](Index index) const
    {
        requireInside(index, size_);
        return data_[index];
    }

    // The entries first, ..., first + count - 1.
    [[nodiscard]] constexpr Span part(Index first, Index count) const
    {
        if constexpr (checked)
            if (first < 0 || count < 0 || first > size_ - count)
                throw std::out_of_range("a part of a span reaches beyond it");
        return Span(data_ + first, count);
    }
};

// Rows of equal length in one piece, one behind the other (C order).
template <class T>
class Grid
{
    T *data_ = nullptr;
    Index rows_ = 0;
    Index columns_ = 0;

public:
    constexpr Grid() = default;
    constexpr Grid(T *data, Index rows, Index columns) : data_(data), rows_(rows), columns_(columns) {}

    template <class U>
    requires(std::is_same_v<T, U const>) constexpr Grid(Grid<U> other)
        : data_(other.data()), rows_(other.rows()), columns_(other.columns())
    {
    }

    [[nodiscard]] constexpr Index rows() const { return rows_; }
    [[nodiscard]] constexpr Index columns() const { return columns_; }
    [[nodiscard]] constexpr T *data() const { return data_; }
    [[nodiscard]] constexpr Span<T> all() const { return Span<T>(data_, rows_ * columns_); }

    constexpr T &operator()(Index row, Index column) const
    {
        requireInside(row, rows_);
        requireInside(column, columns_);
        return data_[row * columns_ + column];
    }

    [[nodiscard]] constexpr Span<T> row(Index row) const
    {
        requireInside(row, rows_);
        return Span<T>(data_ + row * columns_, columns_);
    }
};

// An array of fixed length that owns its entries; bool is a byte here. Moves, but is copied only by `copy`.
template <class T>
class Array
{
    std::unique_ptr<T[]> data_;
    Index size_ = 0;

public:
    Array() = default;

    // Entries of value zero, or of the value given.
    explicit Array(Index size) : data_(std::make_unique<T[]>(static_cast<std::size_t>(size))), size_(size) {}
    Array(Index size, T const &value) : Array(size) { std::fill(begin(), end(), value); }

    // Entries of any value, to be written before they are read.
    [[nodiscard]] static Array unwritten(Index size)
    {
        Array array;
        array.data_ = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(size));
        array.size_ = size;
        return array;
    }

    [[nodiscard]] static Array copy(Span<T const> entries)
    {
        Array array = unwritten(entries.size());
        std::copy(entries.begin(), entries.end(), array.begin());
        return array;
    }

    [[nodiscard]] Index size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] T *data() { return data_.get(); }
    [[nodiscard]] T const *data() const { return data_.get(); }
    [[nodiscard]] T *begin() { return data(); }
    [[nodiscard]] T *end() { return data() + size_; }
    [[nodiscard]] T const *begin() const { return data(); }
    [[nodiscard]] T const *end() const { return data() + size_; }

    T &operator[](Index index)
    {
        requireInside(index, size_);
        return data_[static_cast<std::size_t>(index)];
    }

    T const &operator[](Index index) const
    {
        requireInside(index, size_);
        return data_[static_cast<std::size_t>(index)];
    }

    [[nodiscard]] Span<T> view() { return Span<T>(data(), size_); }
    [[nodiscard]] Span<T const> view() const { return Span<T const>(data(), size_); }
};
}  // namespace hardwood
