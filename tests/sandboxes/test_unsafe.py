"""The sandbox that isolates nothing keeps the part of the contract that mistakes need."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandboxes.contract import *  # noqa: F403
from tests.sandboxes.contract import STOPS, Box, opened
from vtdata import sandbox


@pytest.fixture(scope="module")
def box() -> Iterator[Box]:
    lacks = frozenset(STOPS) - {"memory"}
    with opened(sandbox.load("unsafe", Path(__file__).parent), lacks=lacks, has_numpy=False) as box:
        yield box
