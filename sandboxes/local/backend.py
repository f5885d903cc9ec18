"""The sandbox as vtdata sees it: asynchronous, many programs at once, one outcome per input."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import struct
import sys
from collections.abc import Sequence
from typing import Self

from vtdata.errors import ConfigError
from vtdata.sandbox import Limits, Outcome, State

from .link import Link, Refused, interpreter
from .reasons import no_way

LEVELS = ("namespaces", "landlock")
_FRAME = struct.Struct("<BiddQQQ")
_STATES: tuple[State, ...] = (
    "ok", "time_limit", "time_limit", "output_limit", "memory_limit", "sandbox_error",
)  # fmt: skip
_DETAILS = ("", "CPU time", "wall time", "", "", "the process could not be locked down")
_GRACE_S = 20.0
"""How long after its wall limit a run may be silent before its supervisor is taken for dead."""
_LARGE_BYTES = 1 << 20


class Backend:
    """Runs programs in namespaces on this machine; see the package for the threat model.

    Args:
        parallel: programs at once, one cell each.
        lowest: the weakest level that is good enough: namespaces or landlock.
        python: the interpreter that programs run under; the one of this process by default.

    Raises:
        ConfigError: ``lowest`` is no level, or ``parallel`` is below 1.
    """

    def __init__(
        self, *, parallel: int = 1, lowest: str = "landlock", python: str | None = None
    ) -> None:
        if lowest not in LEVELS:
            raise ConfigError(f"lowest must be one of {', '.join(LEVELS)}, got {lowest!r}")
        if parallel < 1:
            raise ConfigError(f"parallel must be at least 1, got {parallel}")
        self.isolation = "none yet"
        self._levels = LEVELS[: LEVELS.index(lowest) + 1]
        self._python = python or interpreter()
        self._slots = asyncio.Semaphore(parallel)
        self._starting = asyncio.Lock()
        self._link: Link | None = None

    async def __aenter__(self) -> Self:
        """Start the launcher at the best level that works, shown by running a program.

        Raises:
            ConfigError: none works; says what the kernel answered and the ways out.
        """
        if sys.platform != "linux":
            raise ConfigError(no_way([f"{sys.platform} has no namespaces and no Landlock"]))
        refused: list[Refused] = []
        for level in self._levels:
            try:
                self._link = await _start(level, self._python)
                await self._probe(level)
            except Refused as error:
                refused.append(error)
                await self.__aexit__()
                continue
            self.isolation = level
            return self
        raise ConfigError(no_way(refused))

    async def __aexit__(self, *exc: object) -> None:
        """End the launcher; the kernel ends all that came from it."""
        link, self._link = self._link, None
        if link is not None:
            await asyncio.to_thread(link.close)

    async def _probe(self, level: str) -> None:
        """Run one program with everything on, since only doing shows what a kernel allows.

        Raises:
            Refused: it did not come out as it should.
        """
        limits = Limits(cpu_s=5, wall_s=30, memory_mib=256)
        (outcome,) = await self.run("print(int(input()) + 1)", [b"1"], limits)
        if outcome.stdout != b"2\n":
            said = outcome.detail or outcome.stderr.decode(errors="replace")[-300:]
            raise Refused(level, 0, f"a trial program ended as {outcome.state}: {said}")

    async def run(self, source: str, inputs: Sequence[bytes], limits: Limits) -> list[Outcome]:
        """Run a program once per input, in one cell, each time in a fresh process.

        A canceled call ends the program at once.
        """
        if not inputs:
            return []
        async with self._slots:
            link = await self._running()
            if link is None:
                return [self._broken("the launcher can't be started again")] * len(inputs)
            return await self._in_cell(link, source, inputs, limits)

    async def _running(self) -> Link | None:
        """The launcher, started anew where something ended it."""
        async with self._starting:
            if self._link is None:
                raise ConfigError("the sandbox is not entered: use it in an `async with`")
            if self._link.alive:
                return self._link
            dead = self._link
            await asyncio.to_thread(dead.close)
            try:
                self._link = await _start(dead.level, self._python)
            except Refused:
                return None
            return self._link

    async def _in_cell(
        self, link: Link, source: str, inputs: Sequence[bytes], limits: Limits
    ) -> list[Outcome]:
        size = sum(map(len, inputs))
        if size > _LARGE_BYTES:
            bundle = await asyncio.to_thread(_bundle, source, inputs, limits)
        else:
            bundle = _bundle(source, inputs, limits)
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                key = link.submit(bundle, theirs)
            except OSError as error:
                ours.close()
                return [self._broken(f"the launcher is gone: {error}")] * len(inputs)
            finally:
                os.close(bundle)
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=_LARGE_BYTES)
        outcomes: list[Outcome] = []
        try:
            for _ in inputs:
                outcomes.append(await self._outcome(reader, limits))
        except (TimeoutError, asyncio.IncompleteReadError) as error:
            with contextlib.suppress(OSError):
                link.kill(key)
            why = f"the supervisor of the program fell silent: {type(error).__name__}"
            outcomes += [self._broken(why)] * (len(inputs) - len(outcomes))
        finally:
            writer.close()  # what is still running ends with it
        return outcomes

    async def _outcome(self, reader: asyncio.StreamReader, limits: Limits) -> Outcome:
        async with asyncio.timeout(limits.wall_s + _GRACE_S):
            head = _FRAME.unpack(await reader.readexactly(_FRAME.size))
            how, exit_code, cpu_s, wall_s, rss_kib, out_bytes, err_bytes = head
            stdout = await reader.readexactly(out_bytes)
            stderr = await reader.readexactly(err_bytes)
        state = _STATES[how]
        if state == "ok" and exit_code != 0:
            state = "runtime_error"
        return Outcome(
            state,
            stdout,
            stderr,
            exit_code,
            cpu_s,
            wall_s,
            self._level(),
            _DETAILS[how],
            rss_kib / 1024,
        )

    def _level(self) -> str:
        return self._link.level if self._link is not None else self.isolation

    def _broken(self, why: str) -> Outcome:
        return Outcome("sandbox_error", b"", b"", None, 0.0, 0.0, self._level(), why)


async def _start(level: str, python: str) -> Link:
    return Link(level, python)  # in this thread, with which the launcher ends


def _bundle(source: str, inputs: Sequence[bytes], limits: Limits) -> int:
    """Write a program and what it reads into one file in memory; returns its fd."""
    text = source.encode("utf-8", "surrogatepass")
    head = {
        "source_bytes": len(text),
        "input_bytes": [len(data) for data in inputs],
        "cpu_s": limits.cpu_s,
        "wall_s": limits.wall_s,
        "memory_mib": limits.memory_mib,
        "output_mib": limits.output_mib,
        "disk_mib": limits.disk_mib,
    }
    encoded = json.dumps(head).encode()
    fd = os.memfd_create("program")
    with open(fd, "wb", closefd=False) as file:
        file.write(len(encoded).to_bytes(8, "little"))
        file.write(encoded)
        file.write(text)
        file.writelines(inputs)
    return fd
