"""A lease keeps the living out and lets the dead go."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from vtdata import lease as lease_module
from vtdata.errors import RunError
from vtdata.lease import Lease, in_use

HOLD = """
import sys, time
from pathlib import Path
from vtdata.lease import Lease
with Lease(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def hold(path: Path) -> subprocess.Popen[str]:
    """A process that holds the lease."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def write(path: Path, age_s: float = 0.0, **changes: Any) -> None:
    """A lease file that somebody left behind."""
    mine = lease_module._myself()
    path.write_text(json.dumps(mine | changes))
    os.utime(path, (time.time() - age_s,) * 2)


def test_a_live_holder_keeps_others_out_and_is_named(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    child = hold(path)
    words = (
        rf"run folder {re.escape(str(tmp_path))} is in use by process {child.pid} on "
        rf"{re.escape(socket.gethostname())} since 20\d\d-.*Z: wait until it ends, or end it "
        rf"there \(kill {child.pid}\) and try again"
    )
    with pytest.raises(RunError, match=words), Lease(path):
        pass
    assert (in_use(path) or {})["pid"] == child.pid
    child.kill()
    child.communicate()


def test_a_killed_holder_is_followed_at_once_with_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    child = hold(path)
    child.send_signal(signal.SIGKILL)
    with Lease(path, "store range 03 of") as lease:  # not even reaped yet
        assert lease.taken_over is not None
        assert f"took over the lease of process {child.pid}" in lease.taken_over
        assert lease.taken_over.endswith("that process is gone")
    child.communicate()
    with Lease(path) as lease:
        assert lease.taken_over is None  # a clean end leaves nothing to take over
    assert in_use(path) is None


@pytest.mark.parametrize(
    ("changes", "age_s", "why"),
    [
        ({"pid": 2**22 - 3}, 0, "that process is gone"),
        ({"started": "1"}, 0, "another process has that number now"),
        ({"boot": "an earlier one"}, 0, "the machine was started again since"),
        ({"host": "elsewhere"}, 61, r"its last sign of life is 6\d s old"),
        ({"host": "elsewhere"}, 55, None),
        ({}, 3600, None),  # this very process lives, whatever the age
    ],
)
def test_who_is_dead(
    tmp_path: Path, changes: dict[str, Any], age_s: float, why: str | None
) -> None:
    path = tmp_path / "lease"
    write(path, age_s, **changes)
    if why is None:
        with pytest.raises(RunError, match="is in use by process"), Lease(path):
            pass
        return
    with Lease(path) as lease:
        assert re.search(why + "$", lease.taken_over or "")


def test_half_a_lease_is_nobodys(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    path.write_text('{"host": "els')
    with Lease(path) as lease:
        assert lease.taken_over is None


def test_the_heart_beats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lease"
    with Lease(path) as lease:
        os.utime(path, (0, 0))
        lease.beat()
        assert time.time() - path.stat().st_mtime < 60


def test_a_forked_child_does_not_keep_the_lease(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    code = f"""
import os, time
from pathlib import Path
from vtdata.lease import Lease
lease = Lease(Path({str(path)!r}))
lease.__enter__()
if os.fork() == 0:
    os.setsid()
    time.sleep(3)
    os._exit(0)
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", code], check=False)
    start = time.monotonic()
    with Lease(path) as lease:
        assert "that process is gone" in (lease.taken_over or "")
    assert time.monotonic() - start < 2.5
