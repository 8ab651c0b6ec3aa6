"""The numbers that Vos & Verwer published (AAAI 2022), to stand beside ours."""

from __future__ import annotations

from typing import NamedTuple


class PublishedRow(NamedTuple):
    """A row of the paper's table of aggregate results over 24 instances, 30 minutes per fit."""

    accuracy: float
    accuracy_error: float
    rank: float
    rank_error: float
    wins: int


PUBLISHED: dict[str, PublishedRow] = {
    "TREANT": PublishedRow(0.692, 0.013, 5.167, 0.604, 7),
    "Binary-MILP": PublishedRow(0.714, 0.013, 3.958, 0.576, 10),
    "MILP": PublishedRow(0.720, 0.015, 2.917, 0.454, 12),
    "RC2-MaxSAT": PublishedRow(0.724, 0.014, 2.667, 0.393, 10),
    "GROOT": PublishedRow(0.726, 0.015, 2.375, 0.450, 16),
    "Binary-MILP-warm": PublishedRow(0.726, 0.015, 2.083, 0.399, 16),
    "LSU-MaxSAT": PublishedRow(0.729, 0.014, 2.125, 0.303, 13),
    "MILP-warm": PublishedRow(0.735, 0.015, 1.583, 0.225, 17),
}
"""By method; errors are standard errors."""
