// Arrays at the boundary: checked once here, plain spans behind it.
//
// Every array argument is declared by `array("name")`: then nanobind refuses another type, order or number of
// dimensions with a TypeError instead of copying. What only the function can know (lengths that must agree, ranges of
// indices) it asks of `require`, which raises ValueError. Results are arrays of the core that NumPy takes over.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "span.h"

namespace hardwood
{
namespace nb = nanobind;

// Read-only C-contiguous NumPy arrays.
template <class T, std::size_t dimensions>
using In = nb::ndarray<T const, nb::numpy, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;

// C-contiguous NumPy arrays that the core writes into; only where a caller keeps state between calls.
template <class T, std::size_t dimensions>
using Out = nb::ndarray<T, nb::numpy, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;

template <class T>
Span<T const> spanOf(In<T, 1> const &array)
{
    return Span<T const>(array.data(), static_cast<Index>(array.shape(0)));
}

template <class T>
Span<T> spanOf(Out<T, 1> const &array)
{
    return Span<T>(array.data(), static_cast<Index>(array.shape(0)));
}

template <class T>
Grid<T const> gridOf(In<T, 2> const &array)
{
    return Grid<T const>(array.data(), static_cast<Index>(array.shape(0)), static_cast<Index>(array.shape(1)));
}

// The declaration of an array argument that is taken as it is or not at all.
inline auto array(char const *name)
{
    return nb::arg(name).noconvert();
}

// Hand an array of the core over to NumPy, without a copy.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> handOver(Array<T> &&array)
{
    auto owned = std::make_unique<Array<T>>(std::move(array));
    T *data = owned->data();
    auto const size = static_cast<std::size_t>(owned->size());
    nb::capsule owner(owned.get(), [](void *p) noexcept { delete static_cast<Array<T> *>(p); });
    static_cast<void>(owned.release());  // the capsule owns it now
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, owner);
}

// The same as a matrix of so many columns.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<2>> handOver(Array<T> &&array, Index rows, Index columns)
{
    auto owned = std::make_unique<Array<T>>(std::move(array));
    T *data = owned->data();
    nb::capsule owner(owned.get(), [](void *p) noexcept { delete static_cast<Array<T> *>(p); });
    static_cast<void>(owned.release());  // the capsule owns it now
    return nb::ndarray<nb::numpy, T, nb::ndim<2>>(
        data, {static_cast<std::size_t>(rows), static_cast<std::size_t>(columns)}, owner);
}

// Raise ValueError unless the condition holds.
// A message that is there already costs nothing where all is well, also inside of loops.
inline void require(bool condition, char const *message)
{
    if (!condition)
        throw nb::value_error(message);
}

inline void require(bool condition, std::string const &message)
{
    if (!condition)
        throw nb::value_error(message.c_str());
}

// Raise ValueError unless all entries lie in low..high.
template <class T>
void requireRange(Span<T const> entries, Index low, Index high, std::string const &what)
{
    for (T const entry : entries)
        if (entry < static_cast<T>(low) || entry > static_cast<T>(high))
            require(false, what + " holds " + std::to_string(entry) + "; it must be between " + std::to_string(low) +
                               " and " + std::to_string(high));
}
}  // namespace hardwood
