"""How the kernels of the exact search are compiled: without the GIL, kept on disk, no checks for division by zero."""

from __future__ import annotations

from numba import njit

kernel = njit(cache=True, nogil=True, error_model="numpy")
