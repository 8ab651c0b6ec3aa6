from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from report.browser import start_browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    yield from start_browser()
