"""Removing what a run no longer needs."""

from __future__ import annotations

from pathlib import Path

from vtdata.lease import Lease
from vtdata.run.folder import clear
from vtdata.run.look import run_status


def clean_run(run: Path, *, dry_run: bool = False) -> list[Path]:
    """Remove block folders that the run's present recipe supersedes, and their logs.

    The generation store is never touched.

    Returns:
        What was, or would be, removed.

    Raises:
        ConfigError: this is no run folder.
        RunError: the run is going on.
    """
    status = run_status(run)
    current = {block["folder"] for block in status["blocks"]}
    with Lease(run / "lease.json", what="run folder"):
        superseded = [
            path
            for path in sorted(run.iterdir())
            if path.is_dir() and path.name[:2].isdigit() and path.name not in current
        ]
        logs = [
            path
            for path in sorted((run / "logs").glob("[0-9][0-9]-*"))
            if path.name.rpartition("-")[0] not in current
        ]
        if not dry_run:
            for path in (*superseded, *logs):
                clear(path)
    return superseded
