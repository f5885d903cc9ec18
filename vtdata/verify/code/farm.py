"""A file of programs over several sandboxes, with the verdicts in the order of the file."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vtdata.errors import ConfigError
from vtdata.records import Verdict
from vtdata.sandbox import Sandbox, load
from vtdata.verify import cases as pairs
from vtdata.verify.code.cases import Case, count_code_cases, judge_case, read_code_cases
from vtdata.verify.code.model import Judged
from vtdata.verify.output import Writes, opened
from vtdata.verify.results import Verified
from vtdata.verify.tally import Tally

_WINDOW = 4
"""Cases that are read ahead for each sandbox (ours)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a file of programs is judged."""

    sandbox: str = "local"
    """A sandbox's name or ``package.module:Class``."""
    workers: int | None = None
    """Sandboxes at the same time; None is the number of cores."""
    weak: bool = False
    """Whether tests count that can only run beside the program."""


def verify_code_file(
    path: Path,
    options: Options,
    *,
    out: Path | Writes | None = None,
    each: Callable[[dict[str, Any]], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verified:
    """Judge every program of a file; see ``vtdata.api.verify_code``."""
    if options.workers is not None and options.workers < 1:
        raise ConfigError(f"--workers must be at least 1, got {options.workers}")
    total = count_code_cases(path)
    number = max(1, min(options.workers or os.cpu_count() or 1, total))
    found = Verified(Tally(workers=number))
    began = time.monotonic()
    wanted = {"--out": out if isinstance(out, Path) else None}

    async def go(write: Writes | None) -> None:
        done = 0
        async for case, judged in _judged(path, options, number):
            row = {"id": case.id, **judged.row()}
            if write is not None:
                write.write(json.dumps(row) + "\n")
            if each is not None:
                each(row)
            if write is None and each is None:
                found.results.append(row)
            found.tally.add(_pair(case, judged))
            done += 1
            if progress is not None:
                progress(done, total)

    with opened(wanted, path) as sinks:
        asyncio.run(go(sinks["--out"] if isinstance(out, Path) else out))
    found.tally.seconds = time.monotonic() - began
    return found


def _pair(case: Case, judged: Judged) -> pairs.Judged:
    """The same as the tally counts it."""
    asked = pairs.Case(case.id, "", "", equal=case.equal)
    return pairs.Judged(asked, Verdict(judged.reward, judged.reason, "code"), judged.ms)


async def _judged(path: Path, options: Options, number: int) -> AsyncIterator[tuple[Case, Judged]]:
    """Yield cases with their verdicts, in order; a few per sandbox are in memory."""
    idle: asyncio.Queue[Sandbox] = asyncio.Queue()
    waiting: deque[tuple[Case, asyncio.Task[Judged]]] = deque()

    async def judge(case: Case) -> Judged:
        sandbox = await idle.get()
        try:
            return await judge_case(case, sandbox, weak=options.weak)
        finally:
            idle.put_nowait(sandbox)

    async with AsyncExitStack() as stack:
        for _ in range(number):
            sandbox = load(options.sandbox, Path.cwd())
            await sandbox.__aenter__()
            stack.push_async_exit(sandbox.__aexit__)
            idle.put_nowait(sandbox)
        try:
            for case in read_code_cases(path):
                waiting.append((case, asyncio.create_task(judge(case))))
                if len(waiting) >= _WINDOW * number:
                    yield waiting[0][0], await waiting[0][1]
                    waiting.popleft()
            while waiting:
                yield waiting[0][0], await waiting[0][1]
                waiting.popleft()
        finally:
            for _, task in waiting:
                task.cancel()
            await asyncio.gather(*(task for _, task in waiting), return_exceptions=True)
