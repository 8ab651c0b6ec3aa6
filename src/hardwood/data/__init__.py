"""From a table to numbers: frames, CSV files, categories, labels, and the data sets of the paper."""

from __future__ import annotations

from hardwood.data.categories import CategoryEncoding

__all__ = ["CategoryEncoding"]
