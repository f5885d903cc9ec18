"""Verdicts on a file of cases, written in order, with their summary."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from vtdata.errors import ConfigError, RunError
from vtdata.verify.cases import Judged
from vtdata.verify.farm import Farm
from vtdata.verify.tally import Tally

Sink = Callable[[Judged], None]
"""Takes every verdict in its order: a file of results, a list, a caller."""


@dataclass(slots=True)
class Verified:
    """What came out; ``results`` only where nobody else took them."""

    tally: Tally
    results: list[dict[str, Any]] = field(default_factory=list)


def verify_file(
    kind: str,
    path: Path,
    *,
    out: Path | None = None,
    disagreements: Path | None = None,
    workers: int | None = None,
    limit_s: float | None = None,
    each: Callable[[dict[str, Any]], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verified:
    """Judge every case of a file; see ``vtdata.api.verify_cases``."""
    farm = Farm(kind, path, workers=workers, limit_s=limit_s)
    found = Verified(Tally(workers=farm.workers))
    began = time.monotonic()
    with ExitStack() as stack:
        sinks: list[Sink] = [found.tally.add]
        if out is not None:
            sinks.append(_written("--out", out, path, stack, Judged.row))
        if disagreements is not None:
            name = "--disagreements"
            sinks.append(_written(name, disagreements, path, stack, Judged.disagreement))
        if each is not None:
            sinks.append(lambda judged: each(judged.row()))
        if out is None and each is None:
            sinks.append(lambda judged: found.results.append(judged.row()))
        for done, judged in enumerate(farm, 1):
            for sink in sinks:
                sink(judged)
            if progress is not None:
                progress(done, farm.total)
    found.tally.seconds = time.monotonic() - began
    return found


Row = Callable[[Judged], dict[str, Any] | None]


def _written(option: str, out: Path, path: Path, stack: ExitStack, row: Row) -> Sink:
    """Open a file that takes its name when everything is in it; no row is no line.

    Raises:
        ConfigError: it can't be written there.
    """
    if out.is_dir() or (out.exists() and out.samefile(path)):
        found = "a folder" if out.is_dir() else "the file of the cases"
        raise ConfigError(f"{option} {out} is {found}: give another name")
    temporary = out.with_name(f"{out.name}.tmp")
    try:
        file = temporary.open("w", encoding="utf-8")
    except OSError as error:
        text = f"{option} {out} can't be written: {error.strerror or error}"
        raise ConfigError(text) from error
    stack.push(_Renamed(file, temporary, out))
    return lambda judged: _write(file, row(judged))


def _write(file: TextIO, row: dict[str, Any] | None) -> None:
    if row is None:
        return
    try:
        file.write(json.dumps(row) + "\n")
    except OSError as error:
        raise RunError(f"{file.name} can't be written on: {error.strerror or error}") from error


@dataclass(frozen=True, slots=True)
class _Renamed:
    file: TextIO
    temporary: Path
    out: Path

    def __call__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.file.close()
        if kind is None:
            self.temporary.rename(self.out)
        else:
            self.temporary.unlink(missing_ok=True)
