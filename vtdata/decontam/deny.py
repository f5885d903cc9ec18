"""The benchmarks of a recipe, loaded and made ready once in each process.

A step is its settings and travels between processes, so it holds neither: it asks here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vtdata.decontam.benchmark import Benchmark
from vtdata.decontam.benchmarks.loading import load
from vtdata.decontam.benchmarks.names import resolve, stand_in, stand_in_folder
from vtdata.decontam.benchmarks.registry import Named, Registry
from vtdata.decontam.engine import bench_key, default_engine
from vtdata.decontam.profile import Profile
from vtdata.decontam.report.card import describe
from vtdata.errors import ConfigError, InfraError

if TYPE_CHECKING:
    from vtdata.decontam.index import Index

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Kept:
    stamp: object
    benchmarks: Mapping[str, Benchmark]


_benchmarks: dict[tuple[Words, Path], _Kept] = {}
_indexes: dict[tuple[Words, Path, Profile], tuple[Mapping[str, Benchmark], Index]] = {}


def refresh(against: Sequence[str], folder: Path) -> Mapping[str, Benchmark]:
    """Load the benchmarks, unless they are loaded and none of their files has changed since.

    Args:
        against: names of the registry, files, Hub ids; see ``load``.
        folder: where relative paths start: the recipe's.

    Raises:
        ConfigError: none is named; or one can't be loaded, has no items, no such column, or two
            have one name. A Hub that can't be reached is no way around decontamination.
    """
    words = tuple(against)
    stamp = [
        (named, [(path, _state(path)) for path in files]) for named, files in _named(words, folder)
    ]
    found = _benchmarks.get((words, folder))
    if found is None or found.stamp != stamp:
        found = _benchmarks[words, folder] = _Kept(stamp, _loaded(words, folder))
    return found.benchmarks


def benchmarks_of(against: Sequence[str], folder: Path) -> Mapping[str, Benchmark]:
    """Return the benchmarks by name as they were last loaded; loads them where they never were.

    Raises:
        ConfigError: as ``refresh``.
    """
    found = _benchmarks.get((tuple(against), folder))
    return refresh(against, folder) if found is None else found.benchmarks


def index_of(against: Sequence[str], folder: Path, profile: Profile) -> Index:
    """Return the index of these benchmarks under a profile, made where it wasn't yet.

    Raises:
        ConfigError: as ``refresh``.
    """
    from vtdata.decontam.index import build

    benchmarks = benchmarks_of(against, folder)
    key = (tuple(against), folder, profile)
    found = _indexes.get(key)
    if found is None or found[0] is not benchmarks:
        found = _indexes[key] = benchmarks, build(list(benchmarks.values()), profile)
    return found[1]


def facts_of(bench: Benchmark) -> dict[str, Any]:
    """Return what identifies a benchmark and may be passed on: no text of it.

    ``content`` is the hash of the items that were taken, where ``sha256`` is the file's.
    """
    return {**describe(bench), "content": bench_key(bench)}


def local_files(against: Sequence[str], folder: Path) -> list[Path]:
    """Return the files on this machine that benchmarks are read from.

    Raises:
        ConfigError: a word names nothing.
    """
    return [path for _, files in _named(against, folder) for path in files]


def _named(against: Sequence[str], folder: Path) -> list[tuple[Named, list[Path]]]:
    """The entries that words stand for, with the files of each on this machine."""
    registry, there = Registry.read(folder), stand_in_folder(None)
    found = [resolve(word, registry, folder) for word in against]
    return [(named, _files(named, there)) for named in found]


def _files(named: Named, stand_ins: Path | None) -> list[Path]:
    entry = named.entry
    if entry.file is not None:
        return [named.folder / Path(entry.file).expanduser()]
    copy = stand_in(named, stand_ins)
    if copy is not None:
        return [copy]
    if entry.is_local:
        inside = (named.folder / entry.source).rglob("*")
        return sorted(path for path in inside if path.is_file())
    return []


def _state(path: Path) -> tuple[int, int] | None:
    """Size and time of a file; loading says what is wrong where it isn't there."""
    if not path.is_file():
        return None
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def _loaded(against: Words, folder: Path) -> dict[str, Benchmark]:
    from vtdata.decontam.audit import load_all

    if not against:
        raise ConfigError(
            "against names no benchmark, so nothing would be found: name at least one; 'vtdata "
            "benchmarks list' shows the names"
        )
    engine = replace(default_engine(), load=partial(load, folder=folder))
    try:
        return {bench.name: bench for bench in load_all(against, engine, lambda _sentence: None)}
    except InfraError as error:
        raise ConfigError(str(error)) from error
