"""Two local sandboxes on one machine: neither harms the other, and what fails says why."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.sandboxes.contract import opened_up
from tests.sandboxes.hostile import FORK_BOMB, QUICK, SIGNALS, SURVIVORS
from tests.sandboxes.test_local import descendants, local, reachable
from vtdata.sandbox import Limits, Outcome, Sandbox

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux"),
]
HOLDS_THREADS = """
import threading, time
threading.stack_size(65536)
try:
    for _ in range(2000):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
except RuntimeError:
    pass
time.sleep(60)
"""
WANTS_THREADS = """
import threading
threading.stack_size(65536)
threads = [threading.Thread(target=print, args=('one',)) for _ in range(200)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
ALL_HELD = 400


def at_level(level: str, parallel: int = 1) -> Sandbox:
    python = reachable() if level == "landlock" else None
    if level == "landlock" and python is None:
        pytest.skip("no interpreter is open to all users, which Landlock alone needs")
    return local(levels=[level], python=python, parallel=parallel)


@pytest.mark.parametrize("level", ["namespaces", "landlock"])
def test_threads_of_one_do_not_count_against_the_other(level: str) -> None:
    async def both() -> Outcome:
        async with at_level(level) as theirs, at_level(level) as ours:
            holds = asyncio.create_task(theirs.run(HOLDS_THREADS, [b""], Limits(wall_s=60)))
            async with asyncio.timeout(20):
                before = 0
                while before < ALL_HELD or most_threads() != before:
                    before = most_threads()
                    await asyncio.sleep(0.3)
            (outcome,) = await ours.run(WANTS_THREADS, [b""], Limits())
            assert most_threads() >= ALL_HELD  # they were there all the time
            holds.cancel()
            await asyncio.gather(holds, return_exceptions=True)
        return outcome

    outcome = asyncio.run(both())
    assert (outcome.state, outcome.stdout) == ("ok", b"one\n" * 200), outcome


def most_threads() -> int:
    """Threads of the program that has most."""
    found = 0
    for pid in descendants(os.getpid()):
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        found = max(found, int(status.partition("Threads:")[2].split()[0]))
    return found


@pytest.mark.parametrize("level", ["namespaces", "landlock"])
def test_one_starts_and_runs_while_another_is_full_of_hostile_programs(level: str) -> None:
    hostile = [SIGNALS.source, FORK_BOMB.source, SURVIVORS.source, HOLDS_THREADS]

    async def fill(box: Sandbox) -> None:
        while True:
            await asyncio.gather(*(box.run(source, [b""], QUICK) for source in hostile))

    async def both() -> None:
        async with at_level(level, parallel=4) as theirs:
            full = asyncio.create_task(fill(theirs))
            ends = time.monotonic() + 4
            while time.monotonic() < ends:
                async with at_level(level) as ours:
                    (outcome,) = await ours.run(WANTS_THREADS, [b""], Limits())
                    assert outcome.state == "ok", outcome
            assert not full.done()
            full.cancel()
            await asyncio.gather(full, return_exceptions=True)

    asyncio.run(both())


def test_no_two_sandboxes_of_root_are_one_user() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")

    async def users(level: str) -> set[bytes]:
        async with at_level(level) as one, at_level(level) as two:
            asks = "import os\nprint(os.getuid())"
            return {(await box.run(asks, [b""], Limits()))[0].stdout for box in (one, two)}

    found = asyncio.run(users("namespaces")) | asyncio.run(users("landlock"))
    assert len(found) == 4
    assert b"0\n" not in found


def test_a_temporary_folder_that_is_closed_to_others_is_none_for_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    (closed / "open").mkdir()
    (closed / "open").chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(closed / "open"))

    async def once() -> Outcome:
        async with at_level("landlock") as box:
            return (await box.run("open('x', 'w')", [b""], Limits()))[0]

    assert asyncio.run(once()).state == "ok"
    assert list((closed / "open").iterdir()) == []


def test_a_cell_that_can_not_be_made_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened_up(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def without_folder() -> tuple[Path, Outcome]:
        async with at_level("landlock") as box:
            (folder,) = tmp_path.iterdir()
            await box.run("while True: pass", [b""], QUICK)  # its cell is thrown away
            while any(folder.iterdir()):
                await asyncio.sleep(0.01)
            folder.rmdir()
            return folder, (await box.run("print(1)", [b""], Limits()))[0]

    folder, outcome = asyncio.run(without_folder())
    assert outcome.state == "sandbox_error"
    said = f"the program's cell is gone: [Errno 2] No such file or directory '{folder}/"
    assert outcome.detail.startswith(said)
