"""Files of cases over several processes: order, when they start, and how they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.runs import PROGRAM
from vtdata import api
from vtdata.errors import ConfigError, RunError
from vtdata.verify import farm
from vtdata.verify.farm import Farm

PLAIN = [{"id": n, "gold": str(n % 7), "pred": str(n % 5), "equal": n % 3 == 0} for n in range(600)]
SLOW = {"gold": r"\sum_{k=1}^{100000} \frac{1}{k^k}", "pred": "1.29128599"}
"""What the symbolic stage takes all its time for."""


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.fixture
def always_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(farm, "ALONE_S", 0.0)
    monkeypatch.setattr(farm, "PER_WORKER_S", 1e-9)
    monkeypatch.setattr(farm, "MAX_CHUNK", 7)


@pytest.mark.usefixtures("always_pays")
def test_results_come_in_order_whatever_the_workers(tmp_path: Path) -> None:
    rows = [row | {"id": one} for one, row in zip([None, True, "a", 1.5], PLAIN, strict=False)]
    rows += PLAIN[4:]
    path = write(tmp_path / "cases.jsonl", rows)
    steps: list[tuple[int, int]] = []
    out = tmp_path / "out.jsonl"
    found = api.verify_cases(
        "math", path, out=out, workers=2, progress=lambda done, total: steps.append((done, total))
    )
    alone = api.verify_cases("math", path, workers=1)
    written = [json.loads(line) | {"ms": 0} for line in out.read_text().splitlines()]
    assert written == [row | {"ms": 0} for row in alone.results]
    assert [row["id"] for row in written] == [row["id"] for row in rows]
    assert steps == sorted(set(steps))
    assert steps[-1] == (len(rows), len(rows))
    assert (found.results, found.tally.workers, alone.tally.workers) == ([], 2, 1)
    same = {"seconds": 0, "pairs_per_s": 0, "workers": 0}
    assert found.tally.data() | same == alone.tally.data() | same
    assert sorted(tmp_path.iterdir()) == [path, out]


def test_fast_work_starts_no_process(tmp_path: Path) -> None:
    verdicts = Farm("math", write(tmp_path / "cases.jsonl", PLAIN), workers=8)
    assert sum(done.tally.pairs for done in verdicts) == len(PLAIN)
    assert verdicts.workers == 1


@pytest.mark.parametrize(
    ("seconds", "slowest_s", "workers"),
    [
        (0.9, 0.0, 1),  # a second alone first
        (1.0, 0.0, 5),  # ninety left, a ninth of a second each
        (1.0, 0.9, 1),  # one slow case says nothing of the others
        (2.0, 1.0, 5),
    ],
)
def test_more_processes_are_used_where_they_pay(
    seconds: float, slowest_s: float, workers: int
) -> None:
    pace = farm._Pace(total=90 + 10, done=10, seconds=seconds, slowest_s=slowest_s)
    assert pace.worth() == workers


@pytest.mark.parametrize(
    ("done", "seconds", "chunk"),
    [(0, 0.0, 1), (1, 0.0, 1), (2, 0.0, farm.MAX_CHUNK), (11, 0.04, 5), (11, 30.0, 1)],
)
def test_a_chunk_is_so_long_in_seconds(done: int, seconds: float, chunk: int) -> None:
    assert farm._Pace(total=99, done=done, seconds=seconds).chunk() == chunk


@pytest.mark.usefixtures("always_pays")
def test_a_worker_that_is_killed_is_a_sentence(tmp_path: Path) -> None:
    with closing(iter(Farm("math", write(tmp_path / "c.jsonl", PLAIN), workers=2))) as verdicts:
        for _ in range(4):
            next(verdicts)
        for pid in children(os.getpid()):
            if "worker.py" in command(pid):
                os.kill(pid, signal.SIGKILL)
        with pytest.raises(RunError, match="a worker of verify math ended before its verdicts: it"):
            list(verdicts)
    assert not [pid for pid in children(os.getpid()) if "worker.py" in command(pid)]


@pytest.mark.usefixtures("always_pays")
def test_what_a_worker_raises_is_raised(tmp_path: Path) -> None:
    path = write(tmp_path / "cases.jsonl", PLAIN)
    verdicts = iter(Farm("math", path, workers=2))
    next(verdicts)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:1], "broken\n" * 599]))
    with pytest.raises(ConfigError, match=r"cases\.jsonl:\d+: no JSON"):
        list(verdicts)


def children(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def descendants(pid: int) -> list[int]:
    return [one for child in children(pid) for one in (child, *descendants(child))]


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """``vtdata verify`` over two processes, with minutes of work."""
    if sys.platform != "linux":
        pytest.skip("processes are looked up in /proc")
    path = write(tmp_path / "cases.jsonl", [{"id": n} | SLOW for n in range(90)])
    out = tmp_path / "out.jsonl"
    process = subprocess.Popen(
        [PROGRAM, "verify", "math", path, "--out", out, "--workers", "2", "--limit-s", "0.5"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        yield process
        process.kill()


def wait_until(what: Callable[[], object], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


ENDS = {
    signal.SIGINT: (130, "vtdata: interrupted; run again to go on\n"),
    signal.SIGTERM: (3, "vtdata: SIGTERM ended it; run it again\n"),
    signal.SIGKILL: (-signal.SIGKILL, ""),
}


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        ("alone", signal.SIGINT),
        ("alone", signal.SIGTERM),
        ("starting", signal.SIGINT),
        ("working", signal.SIGINT),
        ("working", signal.SIGTERM),
        ("working", signal.SIGKILL),
    ],
)
def test_it_ends_at_once_and_leaves_nobody_behind(
    tmp_path: Path, slow: subprocess.Popen[str], moment: str, number: signal.Signals
) -> None:
    def workers() -> list[int]:
        return [pid for pid in children(slow.pid) if "worker.py" in command(pid)]

    if moment == "alone":
        wait_until(lambda: list(tmp_path.glob("out.jsonl.*.tmp")))
    else:
        wait_until(lambda: len(workers()) == 2)
    if moment == "working":
        wait_until(lambda: all(descendants(pid) for pid in workers()))
    family = descendants(slow.pid)
    os.killpg(slow.pid, number) if number == signal.SIGINT else slow.send_signal(number)
    began = time.monotonic()
    code, error = ENDS[number]
    assert slow.wait(20) == code
    assert time.monotonic() - began < 5.0  # 0.1 s measured, on a machine that did nothing else
    assert slow.stderr is not None
    assert slow.stderr.read() == error
    wait_until(lambda: not any(command(pid) for pid in family))
    left = [] if number != signal.SIGKILL else list(tmp_path.glob("out.jsonl.*.tmp"))
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "cases.jsonl", *left])
