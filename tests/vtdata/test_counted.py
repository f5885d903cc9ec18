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


def test_nothing_is_guessed_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted, "LINE_EVERY_S", 0.5)
    clock = iter([0.0, 1.0, 4.5, 5.0])
    monkeypatch.setattr(counted.time, "monotonic", lambda: next(clock))
    out = io.StringIO()
    with Counted(Console(file=out, width=200), "verify math") as progress:
        for done in (1, 90, 100):
            progress.said(done, 400)
    assert out.getvalue().splitlines() == [
        "verify math: 1 of 400, 1/s",
        "verify math: 90 of 400, 20/s",
        "verify math: 100 of 400, 20/s, about 15 s to go",
    ]
