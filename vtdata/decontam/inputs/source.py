"""From what a user names to shards: files, folders, runs of ours, datasets on the Hub."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from vtdata.decontam.inputs.hub import HUB, hub_shards
from vtdata.decontam.inputs.jsonl import COMPRESSIONS, SUFFIXES, jsonl_shard
from vtdata.decontam.inputs.manifests import listed
from vtdata.decontam.inputs.parquet import parquet_shard
from vtdata.decontam.inputs.shard import Shard
from vtdata.errors import ConfigError

PARQUET = (".parquet", ".pq")


def open_inputs(inputs: Sequence[str], asked: Sequence[str] = ()) -> list[Shard]:
    """Return the shards of all inputs, in a fixed order.

    Args:
        inputs: Parquet or JSON Lines files, folders of them, runs, ``hf:owner/name[@revision]``.
        asked: columns to scan, dotted; without any each file's are chosen by its schema.

    Raises:
        ConfigError: nothing is there, a file can't be read, or a column is missing.
        InfraError: the Hub can't be reached.
    """
    if not inputs:
        raise ConfigError("no input: name a file, a folder, a run or hf:owner/name")
    shards: list[Shard] = []
    for given, folder in zip(inputs, _labels(inputs), strict=True):
        if given.startswith(HUB):
            shards += hub_shards(given, asked)
            continue
        for path, name in _files(Path(given)):
            make = parquet_shard if path.suffix in PARQUET else jsonl_shard
            shards.append(make(path, f"{folder}{name}", asked))
    twice = [name for name, num in Counter(shard.file for shard in shards).items() if num > 1]
    if twice:
        raise ConfigError(
            f"two files would both be '{twice[0]}' in the evidence: audit them one by one, or put "
            "them under folders of different names"
        )
    return shards


def _labels(inputs: Sequence[str]) -> list[str]:
    """What stands before a file's name: with several folders, which one it is from."""
    folders = [given for given in inputs if Path(given).is_dir()]
    if len(folders) < 2:
        return ["" for _ in inputs]
    return [f"{Path(given).resolve().name}/" if given in folders else "" for given in inputs]


def _files(given: Path) -> list[tuple[Path, str]]:
    """Files of an input, each with its name in evidence."""
    if given.is_file():
        if _kind(given) is None:
            raise ConfigError(
                f"{given}: no kind of file that is known by its ending; known are "
                f"{', '.join((*PARQUET, *SUFFIXES))}, the latter also as .gz or .zst"
            )
        return [(given, given.name)]
    if not given.exists():
        raise ConfigError(
            f"input {given} is not there: name a file, a folder, a run, or hf:owner/name for a "
            "dataset on the Hub"
        )
    named = listed(given)
    if named is None:
        named = [path for path in sorted(given.rglob("*")) if _wanted(path, given)]
    if not named:
        raise ConfigError(
            f"folder {given} holds no Parquet or JSON Lines file (endings {', '.join(PARQUET)}, "
            f"{', '.join(SUFFIXES)}, the latter also as .gz or .zst)"
        )
    return [(path, path.relative_to(given).as_posix()) for path in named]


def _wanted(path: Path, folder: Path) -> bool:
    hidden = any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    return path.is_file() and not hidden and _kind(path) in ("parquet", "jsonl")


def _kind(path: Path) -> str | None:
    if path.suffix in PARQUET:
        return "parquet"
    inner = Path(path.stem) if path.suffix in COMPRESSIONS else path
    if inner.suffix == ".json":
        return "json"
    return "jsonl" if inner.suffix in SUFFIXES else None
