"""How the kernels of the exact search are compiled.

Only the entry points can be called from Python and are cached on disk; the code of the inner functions is linked into
them. Nothing is allocated inside, so reference counting is off: the caller holds the arrays.
"""

from __future__ import annotations

from numba import njit

entry = njit(cache=True, nogil=True, error_model="numpy", no_rewrites=True, _nrt=False)
inner = njit(
    nogil=True,
    error_model="numpy",
    no_rewrites=True,
    no_cpython_wrapper=True,
    no_cfunc_wrapper=True,
    _nrt=False,
)
