"""A run on disk: data first, marker last.

    runs/<name>/
      recipe.yaml                 as resolved
      01-corpora-<fp>/            part-*.parquet, rejects/part-*.parquet, tables/, manifest.json
      ...
      store/                      the generation store
      logs/                       one folder per block

``manifest.json`` is written last and lists every file with rows, bytes and sha256. Readers read
only what a manifest lists, so a folder without one is no data, whatever lies in it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from vtdata.errors import ConfigError, RunError
from vtdata.recipe.plan import Block
from vtdata.records.parts import Part
from vtdata.run.books import Books
from vtdata.run.tables import TableFile

MANIFEST = "manifest.json"
FP_DIGITS = 10


def write_json(path: Path, data: Any) -> None:
    """Write JSON atomically: temporary name, fsync, rename."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("w", encoding="utf-8") as file:
        json.dump(data, file, indent=1, ensure_ascii=False, sort_keys=True)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)


def read_json(path: Path) -> Any:
    """Read a JSON file of ours.

    Raises:
        RunError: it is no JSON: somebody else wrote to it, or the disk is bad.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RunError(f"{path} is no JSON ({error}): delete its folder and run again") from None


@dataclass(slots=True)
class Manifest:
    """What a finished block holds."""

    block: str
    fingerprint: str
    input: str | None
    """Digest of the input's parts: another input, another output."""
    parts: list[Part]
    rejects: list[Part]
    steps: list[dict[str, Any]]
    """Per step: name, target, version, settings, books; and ``resolved`` where it has any."""
    decisions: list[str] = field(default_factory=list)
    sets: list[str] = field(default_factory=list)
    """Folders of training sets, each with a manifest of its own."""
    tables: dict[str, list[TableFile]] = field(default_factory=dict)
    """Files of the tables that steps logged into, by table; none where nothing was logged."""
    models: dict[str, Any] = field(default_factory=dict)
    """Per model: identity and counts of calls."""
    failed: int = 0
    """Model calls that are still failed; the next run tries them again."""

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.parts)

    @property
    def raw_bytes(self) -> int:
        return sum(part.raw_bytes for part in self.parts)

    @property
    def digest(self) -> str:
        """sha256 over the parts' names and hashes: made again with the same bytes, it is equal."""
        listing = [[part.file, part.sha256] for part in self.parts]
        return hashlib.sha256(json.dumps(listing).encode()).hexdigest()

    def books(self) -> dict[str, Books]:
        return {step["name"]: Books.load(step["books"]) for step in self.steps}


def block_folder(run: Path, block: Block, fingerprint: str) -> Path:
    """Return the folder of a block, named so that the listing is the pipeline."""
    return run / f"{block.index:02d}-{block.name}-{fingerprint[:FP_DIGITS]}"


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Finish a block: with this file there, its data is whole."""
    write_json(folder / MANIFEST, {"schema_version": 1, **asdict(manifest)})


def load_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of a finished block, None where the block is not finished."""
    path = folder / MANIFEST
    if not path.exists():
        return None
    data = read_json(path)
    version = data.pop("schema_version", None) if isinstance(data, dict) else None
    if version != 1:
        raise RunError(
            f"{path} has schema_version {version}, this vtdata reads 1: delete its folder and run "
            "again"
        )
    try:
        data["parts"] = [Part.load(part) for part in data["parts"]]
        data["rejects"] = [Part.load(part) for part in data["rejects"]]
        data["tables"] = {
            name: [TableFile(**file) for file in files]
            for name, files in data.get("tables", {}).items()
        }
        return Manifest(**data)
    except (KeyError, TypeError) as error:
        raise RunError(
            f"{path} is no manifest of ours ({error}): delete its folder and run again"
        ) from error


def need_manifest(folder: Path) -> Manifest:
    """Return the manifest of a block that must be finished.

    Raises:
        ConfigError: it isn't.
    """
    manifest = load_manifest(folder)
    if manifest is None:
        raise ConfigError(
            f"{folder} has no {MANIFEST}: the block is not finished; run it to its end first"
        )
    return manifest


def find_block(run: Path, name: str) -> Path:
    """Return the folder of a finished block of another run.

    Raises:
        ConfigError: no such run, no such block, or several versions of it.
    """
    if not run.is_dir():
        raise ConfigError(f"run {run} is not there")
    found = sorted(
        folder
        for folder in run.iterdir()
        if folder.is_dir() and folder.name.split("-", 1)[-1].rpartition("-")[0] == name
    )
    finished = [folder for folder in found if (folder / MANIFEST).exists()]
    if len(finished) == 1:
        return finished[0]
    blocks = ", ".join(sorted(f.name for f in run.iterdir() if (f / MANIFEST).exists())) or "none"
    if not finished:
        raise ConfigError(f"run {run} has no finished block '{name}'; finished are: {blocks}")
    raise ConfigError(
        f"run {run} has {len(finished)} versions of block '{name}' ({blocks}): "
        f"remove what is superseded with: vtdata clean {run}"
    )


def clear(folder: Path) -> None:
    """Remove a folder with everything in it, if it is there: the marker first, the data last."""
    if folder.exists():
        for marker in [folder / MANIFEST, *folder.glob(f"*/{MANIFEST}")]:
            marker.unlink(missing_ok=True)
        shutil.rmtree(folder)
