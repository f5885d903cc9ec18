"""The local sandbox, at each of its levels, as root and as a normal user."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandboxes.contract import *  # noqa: F403
from tests.sandboxes.contract import Box, opened, opened_up
from tests.sandboxes.hostile import REACHING
from tests.sandboxes.lasting import LASTING
from tests.sandboxes.programs import HONEST
from tests.sandboxes.soak import soak
from vtdata import sandbox
from vtdata.errors import ConfigError
from vtdata.sandbox import Limits, Sandbox

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
USER = 61234
pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux"),
]


def local(**settings: object) -> Sandbox:
    return type(sandbox.load("local", HERE))(**settings)


def reachable() -> str | None:
    """An interpreter that any user can read, of a version that vtdata runs on."""
    for python in (os.path.realpath(sys.executable), "/usr/bin/python3"):
        asks = ["/bin/sh", "-c", f"{python} -c 'import sys; print(sys.version_info >= (3, 11))'"]
        if shutil.which(python) and said(*as_user(*asks)) == "True\n":
            return python
    return None


def as_user(*command: str) -> list[str]:
    if os.geteuid() != 0:
        return list(command)
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", *command]


def said(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    return done.stdout


@pytest.fixture(scope="module", params=["namespaces", "landlock"])
def box(request: pytest.FixtureRequest) -> Iterator[Box]:
    level = request.param
    python = reachable() if level == "landlock" else None
    lacks = frozenset({"disk"}) if level == "landlock" else frozenset()
    if level == "landlock" and python is None:
        pytest.skip("no interpreter is open to all users, which Landlock alone needs")
    backend = local(levels=[level], python=python)
    link = sys.modules["vtdata_sandbox_local.link"]
    has_numpy = bool(link.numpy_folders(python or link.interpreter()))
    with opened(backend, lacks=lacks, has_numpy=has_numpy) as box:
        yield box


@pytest.mark.parametrize("level", ["namespaces", "landlock"])
def test_a_normal_user_is_as_safe(level: str) -> None:
    python = reachable()
    if python is None or os.geteuid() != 0:
        pytest.skip("needs root and an interpreter that all users can read")
    lines = subprocess.run(
        as_user(python, "-B", "-m", "tests.sandboxes.as_user", level),
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    wanted = len(HONEST) + len(LASTING) + len(REACHING) - (level == "landlock")
    assert lines.stdout == f"{wanted} good\n", lines.stdout + lines.stderr


WORKER = """
import asyncio, sys
from pathlib import Path
from vtdata import sandbox
async def main():
    backend = type(sandbox.load("local", Path(sys.argv[1])))
    async with backend(levels=[sys.argv[2]], parallel=4, python=sys.argv[3]) as box:
        limits = sandbox.Limits(cpu_s=600, wall_s=600)
        busy = "open('x', 'w').write('x')\\nwhile True: pass"
        runs = [asyncio.create_task(box.run(busy, [b"", b""], limits)) for _ in range(3)]
        await box.run("print(1)", [b""], limits)
        await asyncio.sleep(0.5)
        print("busy", flush=True)
        await asyncio.gather(*runs)
asyncio.run(main())
"""


@pytest.mark.parametrize("level", ["namespaces", "landlock"])
def test_nothing_outlives_a_killed_worker(level: str, tmp_path: Path) -> None:
    python = os.path.realpath(sys.executable) if level == "namespaces" else reachable()
    if python is None:
        pytest.skip("no interpreter is open to all users, which Landlock alone needs")
    opened_up(tmp_path)
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(HERE), level, python],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path)},
    )
    with worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"busy\n"
        tree = descendants(worker.pid)
        assert len(tree) >= 2 + 3 + 3  # the launcher's two, cells, programs
        worker.send_signal(signal.SIGKILL)
    for _ in range(100):
        if not any(Path(f"/proc/{pid}").exists() for pid in tree) and not any(tmp_path.iterdir()):
            break
        time.sleep(0.1)
    assert [pid for pid in tree if Path(f"/proc/{pid}").exists()] == []
    assert list(tmp_path.iterdir()) == []


def descendants(pid: int) -> list[int]:
    children = [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [*children, *(deeper for child in children for deeper in descendants(child))]


def test_programs_recurse_as_deep_as_under_plain_python(box: Box, tmp_path: Path) -> None:
    source = (
        "depth = 0\ndef f():\n    global depth\n    depth += 1\n    f()\n"
        "try:\n    f()\nexcept RecursionError:\n    print(depth)\n"
    )
    (tmp_path / "main.py").write_text(source)
    python = os.path.realpath(sys.executable)
    plain = subprocess.run([python, "-I", "-S", tmp_path / "main.py"], capture_output=True)
    (outcome,) = box.run(source, [b""])
    assert outcome.stdout == plain.stdout


def test_a_cell_that_died_is_not_the_fault_of_the_next_program(box: Box) -> None:
    box.run("print(1)", [b""])
    for pid in [pid for pid in descendants(os.getpid()) if not descendants(pid)]:
        os.kill(pid, signal.SIGKILL)  # idle cells have no children
    time.sleep(0.2)
    (outcome,) = box.run("print(2)", [b""])
    assert (outcome.state, outcome.stdout) == ("ok", b"2\n")


def test_a_dead_launcher_is_started_again(box: Box) -> None:
    for pid in descendants(os.getpid()):
        os.kill(pid, signal.SIGKILL)
    time.sleep(0.2)
    (outcome,) = box.run("print(2)", [b""])
    assert (outcome.state, outcome.stdout) == ("ok", b"2\n")


def test_a_refusal_names_errno_cause_and_ways_out() -> None:
    python = reachable()
    if python is None or shutil.which("unshare") is None:
        pytest.skip("needs unshare and an interpreter that all users can read")
    lines = subprocess.run(
        ["unshare", "-Ur", "/bin/sh", "-c",
         f"echo 0 > /proc/sys/user/max_user_namespaces; "
         f"exec {python} -B -m tests.sandboxes.as_user namespaces"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = lines.stderr.splitlines()[-1]
    assert "namespaces: ENOSPC (unshare(0x7c020000): No space left on device)" in said, said
    assert "user namespaces are switched off (sysctl user.max_user_namespaces)" in said
    for way in ("docker run --security-opt", "sandbox: e2b or container", "sandbox: unsafe"):
        assert way in said


def test_nothing_else_than_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(ConfigError, match="darwin has no namespaces and no Landlock"):
        asyncio.run(local().__aenter__())


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"parallel": 0}, "parallel must be at least 1, got 0"),
        ({"levels": ["bwrap"]}, "levels must be some of namespaces, landlock, got ['bwrap']"),
        ({"levels": []}, "levels must be some of namespaces, landlock, got []"),
    ],
)
def test_settings_are_checked(settings: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        local(**settings)
    assert str(caught.value) == says


def test_it_must_be_entered() -> None:
    with pytest.raises(ConfigError, match="async with"):
        asyncio.run(local().run("print(1)", [b""], Limits()))


@pytest.mark.slow
def test_two_thousand_programs_with_hostile_ones_among_them() -> None:
    found = asyncio.run(soak(2_000, random.Random(17)))
    assert found.hostile > 80
    assert (found.descriptors, found.processes, found.mounts) == (0, 0, 0)
    assert found.rss_growth_mib < 16  # 9 KiB a program; 5,000 programs grow by no more than 2,000
