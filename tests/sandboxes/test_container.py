"""The container backend against ``fake_docker.py``: real driver, real pipes, no real container."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandboxes.contract import *  # noqa: F403
from tests.sandboxes.contract import Box, opened
from tests.sandboxes.fake_docker import PID_ONE
from tests.sandboxes.hostile import MEMORY_OF_OTHERS, SIGNALS
from vtdata import sandbox
from vtdata.errors import ConfigError
from vtdata.sandbox import Limits, Outcome

ROOT = Path(__file__).parents[2]
IMAGE = "python@sha256:" + "0" * 64
QUICK = Limits(cpu_s=2, wall_s=6)


def pid_one_works() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*PID_ONE, "true"], capture_output=True, check=False).returncode == 0


pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(
        not pid_one_works(), reason="the fake docker needs user and pid namespaces (unshare)"
    ),
]


def install(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a ``docker`` on PATH that is ours, and no other engine; its state is in ``place``."""
    program = place / "bin" / "docker"
    program.parent.mkdir()
    fake = Path(__file__).with_name("fake_docker.py")
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{fake}" "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("FAKE_DOCKER_STATE", str(place))
    monkeypatch.setenv("VTDATA_CONTAINER_IMAGE", IMAGE)
    monkeypatch.setenv("VTDATA_CONTAINER_ENGINE", "docker")
    monkeypatch.setenv("VTDATA_CONTAINER_SIZE", "2")


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    install(tmp_path, monkeypatch)
    return tmp_path


def breaks(docker: Path, kind: str, times: int) -> None:
    (docker / "fault.json").write_text(json.dumps({"kind": kind, "times": times}))


def calls(docker: Path, verb: str) -> list[list[str]]:
    lines = [json.loads(line) for line in (docker / "calls.jsonl").read_text().splitlines()]
    return [line[1:] for line in lines if line[0] == verb]


def left(docker: Path) -> list[str]:
    return [path.name for place in ("containers", "rooms") for path in (docker / place).iterdir()]


def run(source: str, *inputs: bytes, limits: Limits = QUICK) -> list[Outcome]:
    async def go() -> list[Outcome]:
        async with sandbox.load("container", ROOT) as box:
            return await box.run(source, inputs, limits)

    return asyncio.run(go())


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        install(tmp_path_factory.mktemp("docker"), monkeypatch)
        # What a container's flags stop can't be shown without a container.
        lacks = {"network", "files", "fork", "kernel", "disk", "folder"}
        if os.geteuid() == 0:  # the fake's unprivileged user is this machine's root
            lacks.add("processes")
        with opened(sandbox.load("container", ROOT), lacks=frozenset(lacks), has_numpy=False) as it:
            yield it


def test_all_inputs_of_a_program_go_into_one_fresh_container(docker: Path) -> None:
    outcomes = run("import os\nprint(input(), os.listdir('.'))\nopen('x', 'w')", b"a", b"b", b"c")
    assert [o.stdout for o in outcomes] == [f"{c} []\n".encode() for c in "abc"]
    ran = calls(docker, "run")
    assert len(ran) == 2  # the probe and the program
    names = [word for call in ran for word in call if word.startswith("--name=")]
    assert len(set(names)) == 2


def test_a_container_has_every_wall(docker: Path) -> None:
    run("print(1)", b"x" * (3 << 20), limits=Limits(memory_mib=256, output_mib=8, disk_mib=32))
    command = calls(docker, "run")[-1]
    words = set(command[: command.index(IMAGE)])
    # 64 for the driver, 3 x 4 for the input, 2 x 8 for the output, 32 for files, 256 for itself
    assert words >= {
        "--rm",
        "--pull=never",
        "--network=none",
        "--ipc=none",
        "--read-only",
        "--tmpfs=/box:rw,nosuid,nodev,size=4m,mode=1777",
        "--tmpfs=/tmp:rw,nosuid,nodev,size=32m,mode=1777",
        "--cap-drop=ALL",
        "--security-opt=no-new-privileges",
        "--pids-limit=128",
        "--memory=380m",
        "--memory-swap=380m",
        "--cpus=1",
        "--user=65534:65534",
        "--log-driver=none",
    }
    assert not any(word.startswith(("-v", "--volume", "--mount", "--privileged")) for word in words)


OPEN_HERE = ("fds ",)


def test_a_program_reaches_neither_the_driver_nor_the_other_inputs(docker: Path) -> None:
    [outcome] = run(MEMORY_OF_OTHERS.source, b"")
    lines = outcome.stdout.decode().splitlines()
    # Descriptors are open only here, where the container's root is this machine's.
    assert [line for line in lines if "REACHED" in line and not line.startswith(OPEN_HERE)] == []
    assert len(lines) == 8
    assert run(SIGNALS.source, b"")[0].stdout == SIGNALS.stdout


@pytest.mark.skipif(
    os.uname().machine not in ("x86_64", "aarch64"), reason="the driver has no filter for it"
)
def test_a_program_can_not_limit_its_driver_but_itself(docker: Path) -> None:
    source = """
import os, resource
for name in ('RLIMIT_NOFILE', 'RLIMIT_AS', 'RLIMIT_FSIZE', 'RLIMIT_CPU'):
    try:
        resource.prlimit(os.getppid(), getattr(resource, name), (0, 0))
        print('REACHED')
    except PermissionError:
        print('blocked')
resource.prlimit(os.getpid(), resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_NOFILE, (99, 99))
print(resource.getrlimit(resource.RLIMIT_NOFILE))
"""
    for outcome in run(source, b"", b""):
        assert (outcome.state, outcome.stdout) == ("ok", b"blocked\n" * 4 + b"(99, 99)\n")


def test_no_process_outlives_its_run(docker: Path) -> None:
    source = """
import os, sys, time
first = input() == 'first'
sys.stdout.flush()
if first:
    for _ in range(10):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(0.4)
                open('seen', 'w')
                time.sleep(60)
            os._exit(0)
else:
    time.sleep(0.6)
    print(os.listdir('.'), sum(n.isdigit() for n in os.listdir('/proc')))
"""
    first, second = run(source, b"first", b"second")
    assert (first.state, second.state) == ("ok", "ok")
    assert second.stdout == b"[] 2\n"  # the driver and the program
    assert first.wall_s < 3


def test_processor_time_of_children_counts(docker: Path) -> None:
    source = """
import os, time
for _ in range(2):
    if os.fork() == 0:
        while time.process_time() < 0.8: pass
        os._exit(0)
os.wait(); os.wait()
"""
    [outcome] = run(source, b"", limits=Limits(cpu_s=1, wall_s=10))
    assert outcome.state == "time_limit"
    assert 1.5 < outcome.cpu_s < 3


def test_no_daemon_is_said_before_anything_runs(docker: Path) -> None:
    breaks(docker, "daemon", 99)
    with pytest.raises(ConfigError) as caught:
        run("print(1)", b"")
    assert str(caught.value) == (
        f"sandbox 'container' can't run a program in {IMAGE}: docker: the sandbox's answer ended "
        "early; exit code 125, stderr 'Cannot connect to the Docker daemon at "
        "unix:///var/run/docker.sock. Is the docker daemon running?'. Start the engine and fetch "
        f"the image ('docker pull {IMAGE}'), or choose the sandbox 'local' or 'e2b'"
    )


def test_a_missing_image_is_said_before_anything_runs(docker: Path) -> None:
    breaks(docker, "image", 99)
    with pytest.raises(ConfigError, match="No such image: python@sha256:0000"):
        run("print(1)", b"")


@pytest.mark.parametrize(
    ("image", "words"),
    [
        ("", "VTDATA_CONTAINER_IMAGE is not set"),
        ("python:3.12-slim", "'docker pull python:3.12-slim'"),
        ("python@sha256:abc", "has no digest"),
        ("--privileged@sha256:" + "0" * 64, "has no digest"),  # never an option
    ],
)
def test_an_image_has_a_digest(
    docker: Path, monkeypatch: pytest.MonkeyPatch, image: str, words: str
) -> None:
    monkeypatch.setenv("VTDATA_CONTAINER_IMAGE", image)
    with pytest.raises(ConfigError) as caught:
        run("print(1)", b"")
    assert words in str(caught.value)
    assert not (docker / "calls.jsonl").exists()


def test_no_engine_on_path_is_said(docker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(docker))
    monkeypatch.delenv("VTDATA_CONTAINER_ENGINE")
    with pytest.raises(ConfigError, match="docker is not on PATH; podman is not on PATH"):
        run("print(1)", b"")


@pytest.mark.parametrize(
    ("kind", "times", "states", "containers"),
    [
        ("daemon", 1, ["ok", "ok", "ok"], 2),
        ("oom:4", 1, ["ok", "ok", "ok"], 2),  # one outcome was out; the rest in a fresh container
        ("oom:4", 2, ["ok", "ok", "ok"], 3),  # progress each time
        ("oom:1", 2, ["sandbox_error"] * 3, 2),  # twice without any
        ("daemon", 9, ["sandbox_error"] * 3, 2),
        ("hang", 9, ["sandbox_error"] * 3, 2),
    ],
)
def test_a_broken_container_is_never_a_wrong_answer(
    docker: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    times: int,
    states: list,
    containers: int,
) -> None:
    async def go() -> list[Outcome]:
        async with sandbox.load("container", ROOT) as box:
            module = sys.modules[type(box).__module__]
            monkeypatch.setattr(module, "START_S", 1.0)
            before = len(calls(docker, "run"))
            breaks(docker, kind, times)
            outcomes = await box.run("print(input())", [b"1", b"2", b"3"], QUICK)
            assert len(calls(docker, "run")) - before == containers
            breaks(docker, kind, 0)
            return outcomes

    outcomes = asyncio.run(go())
    assert [o.state for o in outcomes] == states
    for number, outcome in enumerate(outcomes, 1):
        if outcome.state == "ok":
            assert outcome.stdout == b"%d\n" % number
        else:
            assert outcome.detail
    assert left(docker) == []


def test_a_dead_container_says_how_it_ended(docker: Path) -> None:
    async def go() -> list[Outcome]:
        async with sandbox.load("container", ROOT) as box:
            breaks(docker, "oom:1", 9)
            return await box.run("print(1)", [b""], QUICK)

    [outcome] = asyncio.run(go())
    assert outcome.detail == "the sandbox's answer ended early; exit code 137, stderr ''"


def test_cancelling_a_run_leaves_no_container(docker: Path) -> None:
    async def go() -> None:
        async with sandbox.load("container", ROOT) as box:
            task = asyncio.create_task(
                box.run("import time\ntime.sleep(60)", [b""], Limits(wall_s=90))
            )
            while len(left(docker)) < 2:
                await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(go())
    assert left(docker) == []


def test_leftovers_of_dead_processes_are_removed_at_the_start(docker: Path) -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
    started = Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[19]
    host = socket.gethostname()
    owners = {
        "dead": f"{host}/{boot}/999999999/1/aa",
        "reused": f"{host}/{boot}/{os.getpid()}/1/aa",  # another process had this number
        "rebooted": f"{host}/00000000/{os.getpid()}/{started}/aa",
        "alive": f"{host}/{boot}/{os.getpid()}/{started}/aa",
        "elsewhere": f"other-{host}/{boot}/999999999/1/aa",
        "strange": "a label of somebody else",
    }
    (docker / "containers").mkdir()
    for name, owner in owners.items():
        sleeper = subprocess.Popen(["true"])
        sleeper.wait()
        record = {
            "name": name,
            "folder": str(docker / "none"),
            "pid": sleeper.pid,
            "labels": {"vtdata.owner": owner},
        }
        (docker / "containers" / name).write_text(json.dumps(record))
    run("print(1)", b"")
    assert sorted(left(docker)) == ["alive", "elsewhere", "strange"]
    assert sorted(call[-1] for call in calls(docker, "rm") if "vtdata" not in call[-1]) == [
        "dead",
        "rebooted",
        "reused",
    ]


def test_the_size_bounds_the_containers_at_once(docker: Path) -> None:
    most = 0

    async def go() -> None:
        nonlocal most
        async with sandbox.load("container", ROOT) as box:
            source = "import time\ntime.sleep(0.3)"
            tasks = [asyncio.create_task(box.run(source, [b""], QUICK)) for _ in range(5)]
            while not all(task.done() for task in tasks):
                most = max(most, len(list((docker / "containers").iterdir())))
                await asyncio.sleep(0.02)

    asyncio.run(go())
    assert most == 2
