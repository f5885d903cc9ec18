"""Looking at a run and at what it wrote."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from vtdata.errors import ConfigError, RunError
from vtdata.recipe.fingerprint import fingerprints
from vtdata.recipe.plan import Plan, build_plan
from vtdata.recipe.source import load_yaml
from vtdata.run.folder import (
    MANIFEST,
    Manifest,
    block_folder,
    find_block,
    load_manifest,
    need_manifest,
    read_json,
)
from vtdata.run.progress import read_progress
from vtdata.run.session import RECIPE_NOTE, found_revisions
from vtdata.run.tables import read_table
from vtdata.text import nearest


def run_plan(run: Path) -> tuple[Plan, dict[str, Any]]:
    """Return the plan that a run was last started with, and how.

    Raises:
        ConfigError: this is no run folder.
        RunError: it was changed by hand.
    """
    if not (run / "recipe.yaml").exists() or not (run / RECIPE_NOTE).exists():
        raise ConfigError(f"{run} is no run folder: it has no recipe.yaml and {RECIPE_NOTE}")
    note = read_json(run / RECIPE_NOTE)
    if not isinstance(note, dict) or {"folder", "limit", "store"} - set(note):
        raise RunError(f"{run / RECIPE_NOTE} is not what a run writes there: run the recipe again")
    folder = (run / note["folder"]).resolve()
    return build_plan(load_yaml(run / "recipe.yaml"), folder), note


def run_status(run: Path) -> dict[str, Any]:
    """Return how far a run is."""
    plan, note = run_plan(run)
    start = None
    if plan.start:
        manifest = load_manifest(find_block(plan.folder / plan.start.run, plan.start.block))
        start = manifest.fingerprint if manifest else None
    prints = fingerprints(plan, limit=note["limit"], revisions=found_revisions(plan), start=start)
    blocks = []
    for block in plan.blocks:
        folder = block_folder(run, block, prints[block.name])
        manifest = load_manifest(folder)
        begun = sorted(folder.glob(".work/*/rank-*"))
        blocks.append(
            {
                "block": block.name,
                "folder": folder.name,
                "state": "finished" if manifest else "begun" if folder.exists() else "to do",
                "queries": list(manifest.books().values())[-1].kept if manifest else None,
                "rejected": _rejected(manifest) if manifest else None,
                "failed_calls": manifest.failed if manifest else None,
                "ranks_done": len(begun) if not manifest else None,
                "tables": num_logged(manifest) if manifest else None,
            }
        )
    return {
        "run": str(run),
        "recipe": plan.recipe.name,
        "blocks": blocks,
        "ranks": read_progress(run),
    }


def num_logged(manifest: Manifest) -> dict[str, int]:
    """Rows of each table that the block's steps logged into."""
    return {name: sum(f.rows for f in files) for name, files in manifest.tables.items()}


def _rejected(manifest: Manifest) -> int:
    return sum(books.rejected.total() for books in manifest.books().values())


def rows_of(path: Path, *, query: str | None, limit: int, rejects: bool) -> list[dict[str, Any]]:
    """Return rows of a Parquet file, or of a block, set or run folder.

    Args:
        path: what to look into.
        query: only rows whose id, or query's id, begins with this.
        limit: at most so many.
        rejects: of a block, what it set aside.

    Raises:
        ConfigError: nothing to read is there.
    """
    rows: list[dict[str, Any]] = []
    for file in _files(path, rejects=rejects):
        with pq.ParquetFile(file, pre_buffer=False) as parquet:
            for batch in parquet.iter_batches(batch_size=16):
                for row in batch.to_pylist():
                    ids = (str(row.get("id", "")), str(row.get("query_id", "")))
                    if query is None or any(name.startswith(query) for name in ids):
                        rows.append(row)
                    if len(rows) >= limit:
                        return rows
    return rows


def table_rows(path: Path, table: str, *, query: str | None, limit: int) -> list[dict[str, Any]]:
    """Return rows of a table that steps logged into, of a block or of all finished blocks of a run.

    Args:
        path: a run's folder, or a block's.
        table: its name.
        query: only rows whose ``query_id`` begins with this.
        limit: at most so many.

    Raises:
        ConfigError: there is no such table.
    """
    folders = [path]
    if not (path / MANIFEST).exists():
        blocks = run_status(path)["blocks"]
        folders = [path / block["folder"] for block in blocks if block["state"] == "finished"]
    manifests = {folder: need_manifest(folder) for folder in folders}
    known = sorted({name for manifest in manifests.values() for name in manifest.tables})
    if table not in known:
        raise ConfigError(
            f"{path} has no table '{table}';{nearest(table, known)} there is: "
            f"{', '.join(known) or 'none'}"
        )
    rows = (
        row
        for folder, manifest in manifests.items()
        for row in read_table(folder, manifest.tables.get(table, []))
        if query is None or str(row.get("query_id", "")).startswith(query)
    )
    return list(islice(rows, limit))


def _files(path: Path, *, rejects: bool) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    if not path.is_dir():
        raise ConfigError(f"{path} is not there: give a Parquet file, a block's or a set's folder")
    if not (path / MANIFEST).exists():
        finished = sorted(child.parent.name for child in path.glob(f"*/{MANIFEST}"))
        if not finished:
            raise ConfigError(f"{path} has no {MANIFEST}: nothing in it is finished")
        raise ConfigError(f"{path} is a run; look into one of its blocks: {', '.join(finished)}")
    data = read_json(path / MANIFEST)
    if "parts" not in data:
        yield from sorted(path.glob("*.parquet"))
        return
    for part in data["rejects" if rejects else "parts"]:
        yield path / ("rejects" if rejects else "") / part["file"]
    for name in [] if rejects else data.get("sets", []):
        yield from sorted((path / name).glob("*.parquet"))
