"""A file of cases, judged in its order: in this process, or in several where that pays."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from vtdata.errors import ConfigError
from vtdata.verify.cases import EXAMPLE, KINDS, LATER, case_of, count_cases, judge
from vtdata.verify.crew import Crew
from vtdata.verify.rows import Line, read_lines
from vtdata.verify.tally import Tally

CHUNK_S = 0.02
"""Seconds that a chunk of cases should take: a fiftieth of what starting a worker takes (ours)."""
MAX_CHUNK = 256
"""Most cases in a chunk (ours)."""
ALONE_S = 1.0
"""Seconds that this process works before it looks whether others would pay (ours)."""
PER_WORKER_S = 2.0
"""Seconds of work left that make a worker worth its start, which takes a quarter of it (ours)."""


@dataclass(slots=True)
class Done:
    """A chunk's verdicts, ready to be written."""

    rows: str = ""
    """The results, a JSON line each."""
    contradictions: str = ""
    """The cases about which two stages contradict each other, a JSON line each."""
    tally: Tally = field(default_factory=Tally)
    seconds: float = 0.0
    slowest_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Task:
    """How every case of a file is judged."""

    kind: str
    path: Path
    limit_s: float | None

    def judge(self, lines: list[Line]) -> Done:
        """Judge a chunk.

        Raises:
            ConfigError: a line has become malformed since the file was looked through.
            InfraError: a process for the symbolic stage can't be started.
        """
        began = time.monotonic()
        rows, contradictions, done = [], [], Done()
        for number, line in lines:
            judged = judge(self.kind, case_of(line, f"{self.path}:{number}"), self.limit_s)
            rows.append(json.dumps(judged.row()) + "\n")
            contradiction = judged.disagreement()
            if contradiction is not None:
                contradictions.append(json.dumps(contradiction) + "\n")
            done.tally.add(judged)
            done.slowest_s = max(done.slowest_s, judged.ms / 1_000)
        done.rows, done.contradictions = "".join(rows), "".join(contradictions)
        done.seconds = time.monotonic() - began
        return done


class Farm:
    """The verdicts on a file's cases.

    Everything is checked when it is made: no work starts on a file with a malformed line. The
    first second's cases are judged in this process. Others start when what is left, at the pace so
    far, takes seconds for each of them; the slowest case, which may have started what the symbolic
    stage needs, is left out of the pace. Holds some chunks per worker in memory, never the file.

    Args:
        kind: ``math`` or ``choice``.
        path: a JSON Lines file; see ``vtdata.verify.cases``.
        workers: most processes; None is the number of cores.
        limit_s: seconds for one question to the symbolic stage; None is its default.

    Raises:
        ConfigError: the kind, an option or a line is wrong.
    """

    def __init__(
        self, kind: str, path: Path, *, workers: int | None = None, limit_s: float | None = None
    ) -> None:
        if kind not in KINDS:
            follow = " and ".join(LATER)
            raise ConfigError(
                f"verify {kind}: choose {' or '.join(KINDS)}"
                + (f"; {follow} are not there yet" if kind in LATER else "")
            )
        if workers is not None and workers < 1:
            raise ConfigError(f"--workers must be at least 1, got {workers}")
        if limit_s is not None and not limit_s > 0:
            raise ConfigError(f"--limit-s must be more than 0, got {limit_s}")
        self._task = Task(kind, path, limit_s)
        self._most = workers or os.cpu_count() or 1
        self.total = count_cases(path)
        self.workers = 1
        """Processes that judge; known when all is judged."""

    def __iter__(self) -> Generator[Done]:
        """Yield the verdicts, some at a time, in the order of the file.

        Raises:
            ConfigError: a line has become malformed.
            InfraError: a process for the symbolic stage can't be started.
            RunError: a worker was killed from outside.
        """
        lines = read_lines(self._task.path, EXAMPLE)
        pace = _Pace(self.total)
        while chunk := list(itertools.islice(lines, pace.chunk())):
            done = self._task.judge(chunk)
            pace.add(done)
            yield done
            helpers = min(self._most, pace.worth())
            if helpers > 1:
                self.workers = helpers
                chunks = iter(lambda: list(itertools.islice(lines, pace.chunk())), [])
                with closing(Crew(self._task, helpers).over(chunks)) as answers:
                    for answer in answers:
                        pace.add(answer)
                        yield answer


@dataclass(slots=True)
class _Pace:
    """How fast it goes."""

    total: int
    done: int = 0
    seconds: float = 0.0
    slowest_s: float = 0.0

    def add(self, done: Done) -> None:
        self.done += done.tally.pairs
        self.seconds += done.seconds
        self.slowest_s = max(self.slowest_s, done.slowest_s)

    @property
    def per_case_s(self) -> float:
        return max(self.seconds - self.slowest_s, 1e-6) / max(self.done - 1, 1)

    def chunk(self) -> int:
        """How many cases to judge at a time: one at first."""
        if self.done < 2:
            return 1
        return max(1, min(MAX_CHUNK, int(CHUNK_S / self.per_case_s)))

    def worth(self) -> int:
        """For how many workers there is work."""
        if self.done < 2 or self.seconds < ALONE_S:
            return 1
        return max(1, int((self.total - self.done) * self.per_case_s / PER_WORKER_S))
