"""Array types for kernel signatures.

Kernels are compiled for one signature each, at import or from numba's on-disk cache, so that no call ever waits for a
second specialisation. Inputs are declared read-only, which accepts writable arrays as well; outputs are writable.
"""

from __future__ import annotations

from numba import types


def read_only(dtype: types.Type, ndim: int) -> types.Array:
    """C-contiguous array that the kernel does not write to."""
    return types.Array(dtype, ndim, "C", readonly=True)


IN_F1 = read_only(types.float64, 1)
IN_F2 = read_only(types.float64, 2)
IN_I1 = read_only(types.int64, 1)
OUT_F1 = types.Array(types.float64, 1, "C")
OUT_F2 = types.Array(types.float64, 2, "C")
OUT_I1 = types.Array(types.int64, 1, "C")
OUT_B1 = types.Array(types.boolean, 1, "C")
OUT_B2 = types.Array(types.boolean, 2, "C")
