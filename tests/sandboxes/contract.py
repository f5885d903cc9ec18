"""What every sandbox must do; a backend's test module imports all of it.

    from tests.sandboxes.contract import *  # noqa: F403

    @pytest.fixture(scope="module")
    def box() -> Iterator[Box]:
        with opened(Backend(), lacks=frozenset()) as box:
            yield box

What a backend honestly can't stop it names in ``lacks``, from the words of `STOPS`; those tests are
skipped and say so.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.sandboxes.hostile import (
    FILES,
    INHERITED,
    LEAVES_TRACES,
    LOOKS_AROUND,
    NETWORK,
    REACHING,
    SECRETS,
    STEADY,
)
from tests.sandboxes.lasting import LASTING
from tests.sandboxes.programs import HONEST, NUMPY, Program, check
from vtdata.sandbox import Limits, Outcome, Sandbox

STOPS = {
    "network": "connections, loopback too",
    "files": "reading and writing of files outside",
    "processes": "seeing, reading and signaling other processes",
    "fork": "child processes",
    "survivors": "processes that leave their session",
    "kernel": "risky calls of the kernel",
    "limits": "raising its own limits",
    "memory": "memory beyond the limit",
    "disk": "files beyond the limit",
    "folder": "files that one run leaves for the next",
    "fast": "50 runs in a few seconds",
}
"""What a backend may lack, as `Program.stops` names it."""

__all__ = [
    "test_a_canceled_program_is_ended",
    "test_a_program_leaves_no_trace_for_the_next_input",
    "test_files_outside_are_not_there",
    "test_honest_programs",
    "test_hostile_programs_that_last",
    "test_hostile_programs_that_reach_out",
    "test_it_says_its_isolation",
    "test_many_inputs_come_back_in_order",
    "test_no_descriptor_is_inherited",
    "test_no_input_at_all",
    "test_no_other_input_is_in_reach",
    "test_numpy",
    "test_secrets_of_the_host_are_not_there",
    "test_several_programs_at_once",
    "test_the_network_is_not_there",
    "test_what_a_run_used_is_told",
]


@dataclass(slots=True)
class Box:
    """An entered sandbox and the loop that it lives in."""

    backend: Sandbox
    runner: asyncio.Runner
    lacks: frozenset[str]
    has_numpy: bool = True
    name: str = field(default="")

    def run(
        self, source: str, inputs: Sequence[bytes], limits: Limits | None = None
    ) -> list[Outcome]:
        return self.runner.run(self.backend.run(source, inputs, limits or Limits()))

    def need(self, word: str) -> None:
        if word and word in self.lacks:
            pytest.skip(f"{self.name} can't stop {STOPS[word]}")


@contextlib.contextmanager
def opened(
    backend: Sandbox, *, lacks: frozenset[str] = frozenset(), has_numpy: bool = True
) -> Iterator[Box]:
    """Enter a sandbox; after it no file descriptor and no mount may be left."""
    assert lacks <= STOPS.keys()
    with asyncio.Runner() as runner:
        runner.run(asyncio.sleep(0))
        before = descriptors(), mounts()
        runner.run(backend.__aenter__())
        try:
            yield Box(backend, runner, lacks, has_numpy, type(backend).__module__)
        finally:
            runner.run(backend.__aexit__(None, None, None))
        runner.run(asyncio.sleep(0.05))
        after = descriptors(), mounts()
        assert [now - then for now, then in zip(after, before, strict=True)] == [set(), set()]


def opened_up(folder: Path) -> None:
    """Let all users into a folder of pytest's; under xdist there is one more above it."""
    for path in (folder, *folder.parents[:3]):
        if path == Path(tempfile.gettempdir()):
            break
        path.chmod(0o777)


def descriptors() -> set[tuple[str, str]]:
    """Open files by number and what they are."""
    found = set()
    for path in Path("/dev/fd").iterdir():
        with contextlib.suppress(OSError):  # the one that lists the folder is closed by now
            found.add((path.name, str(path.readlink()).split(":")[0]))
    return found


def mounts() -> set[str]:
    table = Path("/proc/self/mountinfo")
    return set(table.read_text().splitlines()) if table.exists() else set()


def _named(programs: Sequence[Program]) -> list[object]:
    return [pytest.param(program, id=program.name) for program in programs]


@pytest.mark.sandbox
@pytest.mark.parametrize("program", _named(HONEST))
def test_honest_programs(box: Box, program: Program) -> None:
    (outcome,) = box.run(program.source, [program.stdin], program.limits)
    check(program, outcome)


@pytest.mark.sandbox
def test_numpy(box: Box) -> None:
    if not box.has_numpy:
        pytest.skip(f"{box.name} offers no numpy")
    (outcome,) = box.run(NUMPY.source, [NUMPY.stdin], NUMPY.limits)
    check(NUMPY, outcome)


@pytest.mark.sandbox
@pytest.mark.parametrize("program", _named(LASTING))
def test_hostile_programs_that_last(box: Box, program: Program) -> None:
    (outcome,) = box.run(program.source, [program.stdin], program.limits)
    check(program, outcome)
    assert len(outcome.stdout) <= program.limits.output_mib << 20
    alive = box.run("print(input())", [b"next"])[0]
    assert (alive.state, alive.stdout) == ("ok", b"next\n")


@pytest.mark.sandbox
@pytest.mark.parametrize("program", _named(REACHING))
def test_hostile_programs_that_reach_out(box: Box, program: Program) -> None:
    box.need(program.stops)
    (outcome,) = box.run(program.source, [program.stdin], program.limits)
    check(program, outcome)
    alive = box.run("print(input())", [b"next"])[0]
    assert (alive.state, alive.stdout) == ("ok", b"next\n")


@pytest.mark.sandbox
def test_the_network_is_not_there(box: Box) -> None:
    box.need("network")
    name = f"vtdata-{secrets.token_hex(8)}"
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
    ):
        unix.bind(f"\0{name}")
        unix.listen()
        port = tcp.getsockname()[1]
        udp.bind(("127.0.0.1", port))
        (outcome,) = box.run(NETWORK.source, [f"{port}\n{name}\n".encode()], NETWORK.limits)
        check(NETWORK, outcome)
        assert outcome.stdout.count(b"blocked") == 6, outcome
        for listener in (tcp, unix, udp):
            listener.setblocking(False)
            with pytest.raises(BlockingIOError):
                listener.recvfrom(1) if listener is udp else listener.accept()


@pytest.mark.sandbox
def test_files_outside_are_not_there(box: Box, tmp_path: Path) -> None:
    box.need("files")
    secret = tmp_path / "answers.txt"
    secret.write_text("REACHED")
    secret.chmod(0o666)
    opened_up(tmp_path)  # what the sandbox must hide is not hidden by permissions
    (outcome,) = box.run(FILES.source, [f"{secret}\n".encode()], FILES.limits)
    check(FILES, outcome)
    assert secret.read_text() == "REACHED"
    assert [path.name for path in tmp_path.iterdir()] == ["answers.txt"]


@pytest.mark.sandbox
def test_secrets_of_the_host_are_not_there(box: Box) -> None:
    box.need("processes")
    secret = secrets.token_hex(16)
    os.environ["VTDATA_SECRET"] = secret  # the sandbox was started before, and is asked again
    try:
        (outcome,) = box.run(SECRETS.source, [f"{secret}\n".encode()], SECRETS.limits)
    finally:
        del os.environ["VTDATA_SECRET"]
    check(SECRETS, outcome)
    assert b"VTDATA_SECRET" not in outcome.stdout
    assert b"OPENAI_API_KEY" not in outcome.stdout


@pytest.mark.sandbox
def test_no_descriptor_is_inherited(box: Box) -> None:
    outcomes = box.run(INHERITED, [b"", b""], STEADY)
    assert [outcome.stdout for outcome in outcomes] == [b"[]\n", b"[]\n"]


@pytest.mark.sandbox
def test_a_program_leaves_no_trace_for_the_next_input(box: Box) -> None:
    box.need("folder")
    outcomes = box.run(LEAVES_TRACES, [b"a\n", b"b\n", b"c\n"], STEADY)
    assert [(outcome.state, outcome.stdout) for outcome in outcomes] == [("ok", b"[]\n")] * 3


@pytest.mark.sandbox
def test_no_other_input_is_in_reach(box: Box) -> None:
    box.need("files")
    inputs = [f"a-secret-input-{secrets.token_hex(16)}".encode() for _ in range(3)]
    outcomes = box.run(LOOKS_AROUND, inputs, STEADY)
    assert [(outcome.state, outcome.stdout) for outcome in outcomes] == [("ok", b"True\n")] * 3


@pytest.mark.sandbox
def test_many_inputs_come_back_in_order(box: Box) -> None:
    box.need("fast")
    source = "n = int(input())\nif n % 10 == 3: raise ValueError\nprint(n * n)"
    outcomes = box.run(source, [b"%d" % n for n in range(50)])
    for n, outcome in enumerate(outcomes):
        wanted = ("runtime_error", b"") if n % 10 == 3 else ("ok", b"%d\n" % (n * n))
        assert (outcome.state, outcome.stdout) == wanted


@pytest.mark.sandbox
def test_no_input_at_all(box: Box) -> None:
    assert box.run("print(1)", []) == []


@pytest.mark.sandbox
def test_several_programs_at_once(box: Box) -> None:
    async def together() -> list[list[Outcome]]:
        runs = [box.backend.run(f"print({n}, input())", [b"a", b"b"], Limits()) for n in range(6)]
        return await asyncio.gather(*runs)

    for n, outcomes in enumerate(box.runner.run(together())):
        assert [outcome.stdout for outcome in outcomes] == [b"%d a\n" % n, b"%d b\n" % n]


@pytest.mark.sandbox
def test_a_canceled_program_is_ended(box: Box) -> None:
    async def cancel() -> Outcome:
        limits = Limits(cpu_s=100, wall_s=100)
        task = asyncio.create_task(box.backend.run("while True: pass", [b""] * 3, limits))
        await asyncio.sleep(0.3)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        async with asyncio.timeout(20):
            (outcome,) = await box.backend.run("print(2)", [b""], limits)
        return outcome

    assert box.runner.run(cancel()).stdout == b"2\n"


@pytest.mark.sandbox
def test_what_a_run_used_is_told(box: Box) -> None:
    source = "import time\nx = bytearray(100 << 20)\ntime.sleep(0.2)\nn = 0\n" + (
        "while time.process_time() < 0.3: n += 1"
    )
    (outcome,) = box.run(source, [b""])
    assert outcome.state == "ok", outcome
    assert 0.25 < outcome.cpu_s < 3
    assert 0.4 < outcome.wall_s < 30
    assert outcome.max_rss_mib is None or 100 < outcome.max_rss_mib < 200


@pytest.mark.sandbox
def test_it_says_its_isolation(box: Box) -> None:
    (outcome,) = box.run("print(1)", [b""])
    assert outcome.isolation == box.backend.isolation
    assert outcome.isolation in {"namespaces", "landlock", "microvm", "container", "none"}
