// Arrays at the boundary: checked once here, plain spans behind it.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>

namespace hardwood
{
namespace nb = nanobind;

// Read-only C-contiguous NumPy arrays; nanobind refuses any other type, order or number of dimensions.
template <class T, std::size_t dimensions>
using In = nb::ndarray<T const, nb::numpy, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;

// C-contiguous NumPy arrays that the core writes into.
template <class T, std::size_t dimensions>
using Out = nb::ndarray<T, nb::numpy, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
}  // namespace hardwood
