from __future__ import annotations

import io

import pytest
from rich.console import Console

from vtdata import counted
from vtdata.counted import Counted


def test_long_work_says_lines_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 10.0, 20.0, 30.0, 40.0])
    monkeypatch.setattr(counted.time, "monotonic", lambda: next(clock))
    out = io.StringIO()
    with Counted(Console(file=out, width=200), "verify math") as progress:
        for done in (10, 20, 30, 40):
            progress.said(done, 40)
    assert out.getvalue().splitlines() == [
        "verify math: 20 of 40, 1/s, about 20 s to go",
        "verify math: 40 of 40, 1/s",
    ]


def test_short_work_says_nothing() -> None:
    out = io.StringIO()
    with Counted(Console(file=out), "verify math") as progress:
        progress.said(1, 2)
    assert out.getvalue() == ""
