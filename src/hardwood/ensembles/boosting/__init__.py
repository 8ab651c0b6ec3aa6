"""Robust boosting: trees that are added up so that the worst-case margin of every sample grows."""

from __future__ import annotations

from hardwood.ensembles.boosting.learner import Boosted, BoostingLearner

__all__ = ["Boosted", "BoostingLearner"]
