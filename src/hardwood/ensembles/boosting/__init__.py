"""Robust boosting: trees that are added up so that the worst-case margin of every sample grows."""

from __future__ import annotations

from hardwood.ensembles.boosting.blend import BlendedLearner
from hardwood.ensembles.boosting.boosted import Boosted
from hardwood.ensembles.boosting.learner import BoostingLearner

__all__ = ["BlendedLearner", "Boosted", "BoostingLearner"]
