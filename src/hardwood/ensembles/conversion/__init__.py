"""From the models of other libraries, and our own, to an `Ensemble`; one module for each library."""

from __future__ import annotations

from hardwood.ensembles.conversion.dispatch import as_ensemble

__all__ = ["as_ensemble"]
