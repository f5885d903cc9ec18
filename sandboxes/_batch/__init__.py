"""What the backends on other machines share: a job's bytes, a driver, owners of leftovers.

One job is one program with all its inputs; ``driver.py`` runs it inside. Expected outputs are not
in a job, so they never leave this machine.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import random
import secrets
import socket
import struct
import time
import tokenize
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vtdata.errors import ConfigError, InfraError
from vtdata.sandbox import Limits, Outcome, State

DRIVER = Path(__file__).with_name("driver.py").read_text(encoding="utf-8")
TRIES = 2
"""Sandboxes that may break on the same input before it is given up (ours)."""
MIB = 1 << 20
HELLO = b'{"driver": 1}'

Batch = Callable[[str, Sequence[bytes], Limits], AsyncIterator[Outcome]]
"""Runs a program in one fresh sandbox; yields outcomes in order, raises InfraError if it breaks."""

_STATES: dict[str, State] = {
    "ok": "ok",
    "runtime_error": "runtime_error",
    "time_limit": "time_limit",
    "memory_limit": "memory_limit",
    "output_limit": "output_limit",
}


def frame(data: bytes) -> bytes:
    """Put a length of 8 bytes before ``data``.

    >>> frame(b"ab").hex()
    '00000000000000026162'
    """
    return struct.pack(">Q", len(data)) + data


def job(source: str, inputs: Sequence[bytes], limits: Limits) -> Iterator[bytes]:
    """Yield a job's frames, in the order in which the driver reads them."""
    settings = {
        "runs": len(inputs),
        "cpu_s": limits.cpu_s,
        "wall_s": limits.wall_s,
        "memory_mib": limits.memory_mib,
        "output_mib": limits.output_mib,
        "disk_mib": limits.disk_mib,
    }
    yield frame(json.dumps(settings).encode())
    yield frame(_encoded(source))
    for data in inputs:
        yield frame(data)


def _encoded(source: str) -> bytes:
    """Encode a program the way that its first lines say, so that Python reads the same text."""
    if "\0" in source:  # before 3.11.4 Python ran what stands before the zero
        return b"raise SyntaxError('source code cannot contain null bytes')"
    data = source.encode("utf-8", "surrogatepass")  # Python names a bad character itself
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data if encoding == "utf-8-sig" else source.encode(encoding)
    except (SyntaxError, UnicodeEncodeError):
        return data


async def read_frame(stream: asyncio.StreamReader, most: int) -> bytes:
    """Read one frame of at most ``most`` bytes.

    Raises:
        InfraError: the stream ends, or the frame is longer.
    """
    try:
        (size,) = struct.unpack(">Q", await stream.readexactly(8))
        if size > most:
            raise InfraError(f"the sandbox announced {size} bytes where {most} are allowed")
        return await stream.readexactly(size)
    except asyncio.IncompleteReadError as error:
        raise InfraError("the sandbox's answer ended early") from error


async def read_hello(stream: asyncio.StreamReader) -> None:
    """Read the driver's first frame.

    Raises:
        InfraError: it is not this driver that answers.
    """
    data = await read_frame(stream, 4096)
    if data != HELLO:
        raise InfraError(f"not the driver's answer: {data[:200]!r}")


async def read_outcome(stream: asyncio.StreamReader, limits: Limits, isolation: str) -> Outcome:
    """Read what became of one run.

    Raises:
        InfraError: the stream ends or makes no sense.
    """
    data = await read_frame(stream, 4096)
    most = limits.output_mib * MIB
    stdout, stderr = await read_frame(stream, most), await read_frame(stream, most)
    try:
        facts = json.loads(data)
        code = facts["exit_code"]
        return Outcome(
            state=_STATES[facts["state"]],
            stdout=stdout,
            stderr=stderr,
            exit_code=None if code is None else int(code),
            cpu_s=float(facts["cpu_s"]),
            wall_s=float(facts["wall_s"]),
            isolation=isolation,
        )
    except (ValueError, TypeError, KeyError) as error:
        raise InfraError(f"not the facts of a run: {data[:200]!r}") from error


async def run_all(
    batch: Batch, source: str, inputs: Sequence[bytes], limits: Limits, isolation: str
) -> list[Outcome]:
    """Run a program on all inputs, in as few sandboxes as it takes.

    A sandbox that breaks is replaced and the inputs without an outcome are run again; after
    ``TRIES`` broken ones without a new outcome between them, what is left is ``sandbox_error``.
    """
    outcomes: list[Outcome] = []
    broken, why = 0, ""
    while len(outcomes) < len(inputs) and broken < TRIES:
        done = len(outcomes)
        try:
            async for outcome in batch(source, inputs[done:], limits):
                outcomes.append(outcome)
        except InfraError as error:
            why = str(error)
        broken = 1 if len(outcomes) > done else broken + 1
    missing = len(inputs) - len(outcomes)
    lost = Outcome("sandbox_error", b"", b"", None, 0.0, 0.0, isolation, why)
    return outcomes + [lost] * missing


async def probe(batch: Batch) -> None:
    """Run a program of ours the way all will be run.

    Raises:
        InfraError: the sandbox breaks, or the answer is wrong.
    """
    limits = Limits(cpu_s=10, wall_s=30)
    async for outcome in batch("print(int(input()) + 1)", [b"41\n"], limits):
        if (outcome.state, outcome.stdout) != ("ok", b"42\n"):
            raise InfraError(
                f"41 + 1 gave {outcome.state} and {outcome.stdout!r}; {outcome.stderr[-500:]!r}"
            )


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that started a sandbox, so that a later one can tell leftovers from others'."""

    host: str
    boot: str
    pid: int
    started: int
    """Clock ticks from boot to the start of the process; process ids come again."""
    nonce: str = ""

    @classmethod
    def here(cls) -> Owner:
        """Return the running process, with a nonce of its own at each call."""
        pid = os.getpid()
        boot = Path("/proc/sys/kernel/random/boot_id")
        boot_id = boot.read_text().strip()[:8] if boot.exists() else "-"
        return cls(socket.gethostname(), boot_id, pid, _started(pid) or 0, secrets.token_hex(4))

    def __str__(self) -> str:
        """Return the text that a label holds.

        >>> str(Owner("box", "1f00", 7, 99, "ab"))
        'box/1f00/7/99/ab'
        """
        return f"{self.host}/{self.boot}/{self.pid}/{self.started}/{self.nonce}"

    def left_behind(self, label: str) -> bool:
        """Tell whether ``label`` names a process of this machine that is no more."""
        try:
            host, boot, pid, started, _ = label.split("/")
            theirs = Owner(host, boot, int(pid), int(started))
        except ValueError:
            return False
        if theirs.host != self.host or self.boot == "-":
            return False
        return theirs.boot != self.boot or _started(theirs.pid) != theirs.started


def _started(pid: int) -> int | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(text.rpartition(")")[2].split()[19])


class Pace:
    """Spaces out the starts of sandboxes, with jitter, because services refuse bursts.

    Source: strands-env, pull request 204: creation was aborted at 31 to 69 per second without one.
    """

    def __init__(self, per_s: float) -> None:
        self._gap_s = 1 / per_s
        self._next = 0.0

    async def turn(self) -> None:
        """Wait for a turn."""
        now = time.monotonic()
        turn = max(now, self._next)
        self._next = turn + self._gap_s * random.uniform(0.75, 1.25)
        await asyncio.sleep(turn - now)


def setting(name: str, default: int | float) -> float:
    """Read a number from the environment.

    Raises:
        ConfigError: it is not a positive number.
    """
    text = os.environ.get(name, "")
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ConfigError(f"{name} must be a positive number, got {text!r}")
    return value
