"""The command line: ``hardwood --help``."""

from __future__ import annotations

from hardwood.cli.app import main

__all__ = ["main"]
