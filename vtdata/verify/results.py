"""Verdicts on a file of cases, written in order, with their summary."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vtdata.verify.farm import Done, Farm
from vtdata.verify.output import Writes, opened
from vtdata.verify.tally import Tally


@dataclass(slots=True)
class Verified:
    """What came out; ``results`` only where nobody else took them."""

    tally: Tally
    results: list[dict[str, Any]] = field(default_factory=list)


def verify_file(
    kind: str,
    path: Path,
    *,
    out: Path | Writes | None = None,
    disagreements: Path | None = None,
    workers: int | None = None,
    limit_s: float | None = None,
    each: Callable[[dict[str, Any]], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verified:
    """Judge every case of a file; see ``vtdata.api.verify_cases``."""
    farm = Farm(kind, path, workers=workers, limit_s=limit_s)
    found = Verified(Tally())
    began = time.monotonic()
    wanted = {"--out": out if isinstance(out, Path) else None, "--disagreements": disagreements}
    with opened(wanted, path) as sinks, closing(iter(farm)) as chunks:
        rows = sinks["--out"] if isinstance(out, Path) else out
        contradictions = sinks.get("--disagreements")
        for done in chunks:
            if rows is not None:
                rows.write(done.rows)
            if contradictions is not None:
                contradictions.write(done.contradictions)
            _hand_out(done, found.results if rows is None and each is None else None, each)
            found.tally.merge(done.tally)
            if progress is not None:
                progress(found.tally.pairs, farm.total)
    found.tally.seconds, found.tally.workers = time.monotonic() - began, farm.workers
    return found


def _hand_out(
    done: Done, kept: list[dict[str, Any]] | None, each: Callable[[dict[str, Any]], None] | None
) -> None:
    if kept is None and each is None:
        return
    for row in map(json.loads, done.rows.splitlines()):
        if each is not None:
            each(row)
        if kept is not None:
            kept.append(row)
