"""The sandbox as vtdata sees it: asynchronous, many programs at once, one outcome per input."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import sys
from collections import OrderedDict
from collections.abc import Sequence
from typing import Self

from vtdata.errors import ConfigError
from vtdata.sandbox import Limits, Outcome

from .cell import Cell, pack
from .link import Link, Refused, interpreter, numpy_folders
from .reasons import no_way

LEVELS = ("namespaces", "landlock")
_LOG = logging.getLogger("vtdata.sandbox.local")
_USES = 64
"""Programs that a cell serves before it is thrown away; sooner after one that had to be killed."""
_LARGE_BYTES = 1 << 20
_WANTS_NUMPY = re.compile(r"\b(?:import|from)[ \t][^\n\\#;]{0,200}?\bnumpy\b")
"""Also where the program stands in a driver, as a literal. A driver's own mention is no import."""
_REMEMBERED = 64
"""Sources of which it is known that they were run before."""


class Backend:
    """Runs programs in namespaces on this machine; see the package for the threat model.

    Args:
        parallel: programs at once, one cell each.
        levels: the levels that are good enough, best first: namespaces, landlock. The level reached
            is in every outcome.
        python: the interpreter that programs run under; the one of this process by default.

    Raises:
        ConfigError: there is no such level, or ``parallel`` is below 1.
    """

    def __init__(
        self, *, parallel: int = 1, levels: Sequence[str] = LEVELS, python: str | None = None
    ) -> None:
        if not levels or set(levels) - set(LEVELS):
            raise ConfigError(f"levels must be some of {', '.join(LEVELS)}, got {list(levels)}")
        if parallel < 1:
            raise ConfigError(f"parallel must be at least 1, got {parallel}")
        self.isolation = "none yet"
        self._levels = tuple(levels)
        self._python = python or interpreter()
        self._slots = asyncio.Semaphore(parallel)
        self._starting = asyncio.Lock()
        self._entered = False
        self._links: dict[bool, Link] = {}
        """By whether numpy is loaded; that launcher is started when a program wants it."""
        self._idle: dict[bool, list[Cell]] = {False: [], True: []}
        self._sources: OrderedDict[bytes, None] = OrderedDict()

    async def __aenter__(self) -> Self:
        """Start the launcher at the best level that works, shown by running a program.

        Raises:
            ConfigError: none works; says what the kernel answered and the ways out.
        """
        if sys.platform != "linux":
            raise ConfigError(no_way([f"{sys.platform} has no namespaces and no Landlock"]))
        refused: list[Refused] = []
        self._entered = True
        for level in self._levels:
            self.isolation = level
            try:
                await self._launch(numpy=False)
                await self._probe(level)
            except Refused as error:
                refused.append(error)
                await self.__aexit__()
                self._entered = True
                continue
            for error in refused:
                _LOG.warning("sandbox 'local' goes on under %s: %s", level, error)
            return self
        self._entered = False
        raise ConfigError(no_way(refused))

    async def __aexit__(self, *exc: object) -> None:
        """End the launchers; the kernel ends all that came from them."""
        self._entered = False
        for idle in self._idle.values():
            while idle:
                idle.pop().close()
        while self._links:
            _, link = self._links.popitem()
            await asyncio.to_thread(link.close)

    async def _launch(self, *, numpy: bool) -> Link:
        """Start a launcher, in this thread because it ends with the thread that started it.

        Raises:
            Refused: the kernel said no.
        """
        folders = await asyncio.to_thread(numpy_folders, self._python)
        link = Link(self.isolation, self._python, folders, numpy=numpy)
        try:
            await asyncio.to_thread(link.wait)
            self._links[numpy] = link
        finally:
            if self._links.get(numpy) is not link:
                link.close()
        return link

    async def _probe(self, level: str) -> None:
        """Run one program with everything on, since only doing shows what a kernel allows.

        Raises:
            Refused: it did not come out as it should.
        """
        limits = Limits(cpu_s=5, wall_s=30, memory_mib=256)
        outcomes: list[Outcome] = []
        try:
            await self._through("print(int(input()) + 1)", [b"1"], limits, outcomes)
        except (TimeoutError, EOFError, OSError) as error:
            number = error.errno if isinstance(error, OSError) else None
            said = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise Refused(level, number or 0, f"no cell for a trial program: {said}") from error
        outcome = outcomes[0]
        if outcome.stdout != b"2\n":
            said = outcome.detail or outcome.stderr.decode(errors="replace")[-300:]
            raise Refused(level, 0, f"a trial program ended as {outcome.state}: {said}")

    async def run(self, source: str, inputs: Sequence[bytes], limits: Limits) -> list[Outcome]:
        """Run a program once per input, each time in a fresh process with an empty folder.

        A canceled call ends the program at once.
        """
        if not inputs:
            return []
        async with self._slots:
            return await self._attempt(source, inputs, limits)

    async def _attempt(self, source: str, inputs: Sequence[bytes], limits: Limits) -> list[Outcome]:
        """Run a program in a cell; where the cell dies first, once more in a new one.

        An idle cell may have been killed by anyone; this program is not to be blamed for it.
        """
        outcomes = await self._in_cell(source, inputs, limits)
        if outcomes[0].state == "sandbox_error" and outcomes[0].wall_s == 0:
            outcomes = await self._in_cell(source, inputs, limits)
        return outcomes

    async def _in_cell(self, source: str, inputs: Sequence[bytes], limits: Limits) -> list[Outcome]:
        outcomes: list[Outcome] = []
        try:
            await self._through(source, inputs, limits, outcomes)
        except (TimeoutError, EOFError, OSError, Refused) as error:
            why = f"the program's cell is gone: {error or type(error).__name__}"
            outcomes += [self._broken(why)] * (len(inputs) - len(outcomes))
        return outcomes

    async def _through(
        self, source: str, inputs: Sequence[bytes], limits: Limits, outcomes: list[Outcome]
    ) -> None:
        """Run a program in a cell, and add what became of each input as it comes.

        Raises:
            TimeoutError: the cell is silent for much longer than the wall limit.
            EOFError: it was killed.
            OSError: it had to end; or there is no new one.
            Refused: a launcher that ended can't be started again.
        """
        numpy = _WANTS_NUMPY.search(source) is not None
        key = self._cache_key(source, len(inputs))
        cell: Cell | None = None
        try:
            cell = await self._cell(numpy=numpy)
            if sum(map(len, inputs)) > _LARGE_BYTES:
                bundle = await asyncio.to_thread(pack, source, inputs, limits, key)
            else:
                bundle = pack(source, inputs, limits, key)
            cell.send(bundle)
            for _ in inputs:
                outcomes.append(await cell.outcome(limits, self.isolation))
            if cell.used < _USES and cell.calm:
                self._idle[numpy].append(cell)
                cell = None
        finally:
            if cell is not None:
                cell.close()  # what still runs in it ends with it

    def _cache_key(self, source: str, runs: int) -> str:
        """Under which name a cell keeps the compiled code; empty where it is run but once."""
        digest = hashlib.sha256(source.encode("utf-8", "surrogatepass")).digest()
        again = digest in self._sources
        self._sources[digest] = None
        self._sources.move_to_end(digest)
        if len(self._sources) > _REMEMBERED:
            self._sources.popitem(last=False)
        return digest.hex() if again or runs > 1 else ""

    async def _cell(self, *, numpy: bool) -> Cell:
        """An idle cell, or a new one; the launcher is started anew where something ended it."""
        async with self._starting:
            if not self._entered:
                raise ConfigError("the sandbox is not entered: use it in an `async with`")
            link = self._links.get(numpy)
            if link is not None and not link.alive:
                del self._links[numpy]
                await asyncio.to_thread(link.close)
                for cell in self._idle[numpy]:
                    cell.close()
                self._idle[numpy].clear()
                link = None
            if link is None:
                link = await self._launch(numpy=numpy)
            return self._idle[numpy].pop() if self._idle[numpy] else Cell(link.open_cell())

    def _broken(self, why: str) -> Outcome:
        return Outcome("sandbox_error", b"", b"", None, 0.0, 0.0, self.isolation, why)
