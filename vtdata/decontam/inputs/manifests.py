"""Folders with a manifest of ours: only what it lists is data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vtdata.errors import ConfigError, RunError

MANIFEST = "manifest.json"
NOTE = "recipe.json"
"""Beside recipe.yaml in a run's folder."""
SIDE_TABLE = "tests"
"""Split of a set that holds tests by hash and no text to learn from."""


def is_run(folder: Path) -> bool:
    """Whether this is the folder of a run of ours."""
    return (folder / NOTE).is_file() and (folder / "recipe.yaml").is_file()


def listed(folder: Path) -> list[Path] | None:
    """Return the files that a folder's manifest lists; None where it has none of ours.

    Of a run it is the newest finished block: its shards, or its queries.

    Raises:
        ConfigError: a run without a finished block.
        RunError: a listed file is not there or has another size, or the manifest can't be read.
    """
    if is_run(folder):
        return listed(newest_block(folder))
    if not (folder / MANIFEST).is_file():
        return None
    manifest = _read(folder / MANIFEST)
    if sets := manifest.get("sets"):
        return [path for name in sets for path in listed(folder / name) or []]
    if "parts" in manifest:
        return _there(folder, [(part["file"], part["bytes"]) for part in manifest["parts"]])
    if "files" in manifest and "totals" in manifest:
        files = [f for f in manifest["files"] if f["split"] != SIDE_TABLE]
        return _there(folder, [(file["name"], file["bytes"]) for file in files])
    return None


def newest_block(run: Path) -> Path:
    """Return the folder of the last block of a run that is finished.

    Where a recipe was changed there may be several of one number: the one finished last counts.

    Raises:
        ConfigError: none is finished.
    """
    done = [
        folder
        for folder in run.iterdir()
        if folder.name[:2].isdigit() and (folder / MANIFEST).is_file()
    ]
    if not done:
        raise ConfigError(f"run {run} has no finished block: run it first, then audit it")
    return max(done, key=lambda f: (f.name[:2], (f / MANIFEST).stat().st_mtime_ns, f.name))


def _there(folder: Path, files: list[tuple[str, int]]) -> list[Path]:
    for name, size in files:
        path = folder / name
        found = path.stat().st_size if path.is_file() else None
        if found != size:
            said = "it is not there" if found is None else f"it has {found}"
            raise RunError(
                f"{path} should have {size} bytes by its manifest, and {said}: copy it again or "
                "run again"
            )
    return [folder / name for name, _ in files]


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RunError(f"{path} is no JSON ({error}): write its folder again") from error
    return data if isinstance(data, dict) else {}
