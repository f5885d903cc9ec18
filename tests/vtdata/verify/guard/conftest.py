"""Strange jobs by name, and a guard that each test finds and leaves without a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from vtdata.verify import guard
from vtdata.verify.guard import JOBS

NAMES = (
    "echo", "pid", "sleep", "spin", "c_code", "grow", "keep", "die", "fail", "deep", "loud",
    "unwritable", "surroundings",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _strange(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.setitem(JOBS, name, f"tests.vtdata.verify.guard.strange:{name}")


@pytest.fixture(scope="module", autouse=True)
def _tidy() -> Iterator[None]:
    yield
    guard.close()
