"""Fixtures and settings that all tests share."""

from __future__ import annotations

import csv
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A shell that starts the tests in the background has them ignore Ctrl-C, and all their children; some tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: machines differ. A failure prints a blob that reproduces it.
settings.register_profile(
    "hardwood",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("hardwood")


@pytest.fixture(scope="session")
def paper_data() -> Path:
    """Folder with the paper's eight sets: HARDWOOD_DATA, or ../shared/data beside the checkout."""
    named = os.environ.get("HARDWOOD_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not (folder / "haberman.csv").is_file():
        pytest.skip("the paper's data sets are not here; set HARDWOOD_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def known_answers() -> list[dict[str, str]]:
    """Rows of the table of proven answers: facts about the paper's instances, each proven by several programs."""
    with (Path(__file__).parent / "data" / "known.csv").open() as stream:
        return list(csv.DictReader(stream))
