"""The manifest of a set: written last, and the only thing that says what there is to read."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from vtdata.errors import RunError
from vtdata.shards.facts import SHARD_VERSION
from vtdata.shards.files import FileEntry, sync_folder
from vtdata.shards.measure import Totals, measure
from vtdata.shards.spill import SIDE_SPLIT

MANIFEST = "manifest.json"
MANIFEST_VERSION = 1


@dataclass(frozen=True, slots=True)
class ShardManifest:
    """What a finished set holds. No clock, host or absolute path: the same rows, the same text."""

    name: str
    """The set's name and its folder's: ``sft.stage1``, ``rl``."""
    kind: Literal["sft", "rl"]
    recipe: str
    fingerprint: str
    seed: int
    files: tuple[FileEntry, ...]
    schema_version: int
    schema_sha256: str
    totals: Totals
    steps: tuple[dict[str, Any], ...]
    """Per step, in order: ``block``, ``step`` and its counts, as the run kept its books."""
    models: dict[str, Any]
    """By the recipe's name of it: model, revision, sampling and what its calls came to."""
    tokenizer: str | None
    """What the token counts are in; None: as each model's server counted."""
    cost_usd: float | None
    benchmarks: tuple[dict[str, Any], ...]
    """Decontaminated against, per step that did: ``block``, ``step``, ``profile`` (with version),
    ``drop``, name, source, revision, sha256, license, number of ``items``, of those ``unfindable``
    by any rule, and ``hits`` by class. Never text of an item."""
    versions: dict[str, str]


def schema_sha256(schema: pa.Schema) -> str:
    """Return a hash of names and types.

    >>> schema_sha256(pa.schema([("id", pa.string())]))[:8]
    'b843c504'
    """
    text = "\n".join(f"{field.name}: {field.type}" for field in schema)
    return hashlib.sha256(text.encode()).hexdigest()


def write_manifest(
    folder: Path,
    files: Sequence[FileEntry],
    schema: pa.Schema,
    *,
    name: str,
    recipe: str,
    fingerprint: str,
    seed: int,
    steps: Sequence[Mapping[str, Any]] = (),
    models: Mapping[str, Any] | None = None,
    tokenizer: str | None = None,
    cost_usd: float | None = None,
    benchmarks: Sequence[Mapping[str, Any]] = (),
) -> ShardManifest:
    """Count what ``cut`` wrote and write ``manifest.json``, atomically; call it last.

    Args:
        folder: the set's folder.
        files: what ``cut`` returned.
        schema: the rows' columns.
        name: of the set.
        recipe: its name.
        fingerprint: of the block.
        seed: of the shuffle.
        steps: per step a dict with ``block``, ``step`` and counts: entered, created, kept,
            rejected {reason: n}, rollouts_entered, rollouts_created, rollouts_kept,
            rollouts_dropped {reason: n}, rollouts_rejected.
        models: see ``ShardManifest``.
        tokenizer: see ``ShardManifest``.
        cost_usd: of all model calls behind this set; None where no price was given.
        benchmarks: see ``ShardManifest``.
    """
    manifest = ShardManifest(
        name=name,
        kind="sft" if "messages" in schema.names else "rl",
        recipe=recipe,
        fingerprint=fingerprint,
        seed=seed,
        files=tuple(files),
        schema_version=SHARD_VERSION,
        schema_sha256=schema_sha256(schema),
        totals=measure(folder, files),
        steps=tuple(dict(step) for step in steps),
        models=dict(models or {}),
        tokenizer=tokenizer,
        cost_usd=cost_usd,
        benchmarks=tuple(dict(benchmark) for benchmark in benchmarks),
        versions={package: version(package) for package in ("pyarrow", "vtdata")},
    )
    data = {"manifest_version": MANIFEST_VERSION, **asdict(manifest)}
    write_text(
        folder / MANIFEST, json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    )
    return manifest


def write_text(path: Path, text: str) -> None:
    """Write a file atomically: temporary name, fsync, rename."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
    sync_folder(path.parent)


def read_manifest(folder: Path) -> ShardManifest:
    """Return the manifest of a finished set.

    Raises:
        RunError: there is none, or it is of another version of vtdata.
    """
    path = folder / MANIFEST
    if not path.exists():
        raise RunError(
            f"{folder} has no {MANIFEST}: the set is not finished, so nothing in it may be read; "
            "run the recipe to its end"
        )
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RunError(f"{path} is no JSON ({error}): run the recipe again") from error
    found = data.pop("manifest_version", None) if isinstance(data, dict) else None
    if found != MANIFEST_VERSION:
        raise RunError(
            f"{path} has manifest_version {found}, this vtdata reads {MANIFEST_VERSION}: cut the "
            "set again, or read it with the vtdata that wrote it"
        )
    totals = Totals(**data.pop("totals"))
    files = tuple(FileEntry(**entry) for entry in data.pop("files"))
    steps, benchmarks = tuple(data.pop("steps")), tuple(data.pop("benchmarks"))
    return ShardManifest(files=files, totals=totals, steps=steps, benchmarks=benchmarks, **data)


def verify_files(folder: Path, *, hashes: bool = True) -> list[FileEntry]:
    """Return the files that the manifest lists, once their sizes and hashes are as listed.

    Args:
        folder: the set's folder.
        hashes: read every byte; without it only sizes are compared.

    Raises:
        RunError: no manifest, or a file that is not as listed.
    """
    entries = list(read_manifest(folder).files)
    for entry in entries:
        path = folder / entry.name
        size = path.stat().st_size if path.exists() else None
        if size != entry.bytes:
            found = "is not there" if size is None else f"has {size} bytes"
            raise RunError(
                f"{path} {found}, its manifest lists {entry.bytes} bytes: copy it again or cut "
                "the set again"
            )
        if hashes and (sha256 := _sha256(path)) != entry.sha256:
            raise RunError(
                f"{path} has sha256 {sha256}, its manifest lists {entry.sha256}: copy it again or "
                "cut the set again"
            )
    return entries


def shard_files(folder: Path, split: str | None = None, *, hashes: bool = True) -> list[Path]:
    """Return the files of one split, or of all but the side table, after ``verify_files``."""
    return [
        folder / entry.name
        for entry in verify_files(folder, hashes=hashes)
        if (entry.split == split if split else entry.split != SIDE_SPLIT)
    ]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
