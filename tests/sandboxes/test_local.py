from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandboxes.contract import *  # noqa: F403
from tests.sandboxes.contract import Box, opened
from vtdata import sandbox

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def box() -> Iterator[Box]:
    with opened(sandbox.load("local", HERE), has_numpy=False) as box:
        yield box
