"""Errors that a user can act on: each names the offending value and what would be right."""

from __future__ import annotations


class HardwoodError(Exception):
    """Base of the errors that hardwood raises on its own account."""


class InvalidInputError(HardwoodError, ValueError):
    """Data, an attack, a parameter or a file that cannot be used as it is."""


class MissingEngineError(HardwoodError, ImportError):
    """A solver library that is not installed."""


class StoppedError(HardwoodError):
    """A computation was stopped, by a time limit say, before it had anything to return."""


class SolverError(HardwoodError, RuntimeError):
    """A solver that failed before any tree was known, or that claimed what is not so."""


class WholeNumbersWarning(UserWarning):
    """Columns that look like counts are attacked as if they could be any number; see `AttackModel.with_integers`."""


class OneHotWarning(UserWarning):
    """Columns that look like a one-hot group are attacked one by one; see `AttackModel.with_group`."""
