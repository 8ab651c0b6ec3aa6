"""From a table to numbers: frames, CSV files, categories, labels, and the data sets of the paper."""

from __future__ import annotations

from hardwood.data.categories import CategoryEncoding
from hardwood.data.datasets import Dataset
from hardwood.data.datasets import load as load_dataset

__all__ = ["CategoryEncoding", "Dataset", "load_dataset"]
