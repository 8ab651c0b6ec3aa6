"""How the kernels of the exact search are compiled: without the GIL, kept on disk, no checks for division by zero.

Numba compiles a function again for every literal that it is called with, and all it calls with it. A kernel that calls
another one therefore passes variables or ``np.int64(0)``, never ``0``.
"""

from __future__ import annotations

from typing import Any

import numba

njit: Any = numba.njit  # its types do not know all of its options

# Python can call entry points only; for the others no code is made that unpacks Python objects.
entry = njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)
kernel = njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True, no_cpython_wrapper=True)
