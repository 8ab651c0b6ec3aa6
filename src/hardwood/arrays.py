"""Array types, once. What an array holds is said by the name of whatever has it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]
BoolArray = NDArray[np.bool_]

EventArray = NDArray[np.uint32]
"""Events of the greedy learners (`hardwood.solvers.greedy`)."""

RankArray = Int32Array
"""Ranks of ends or threshold indices (`hardwood.problem.endpoints`)."""

PlaceArray = NDArray[np.uint16 | np.int32]
"""Places of ends between thresholds (`hardwood.solvers.search.lean`), in little memory."""
