"""The evidence store: what was scanned for what, and every candidate that was found.

    STORE/
      lease.json                          one audit at a time
      hashes.json                         content hashes of files, by path and stamp
      shards/<content>-<scope>/           one folder per content of a shard and columns scanned
        unit-00003-<scan>.parquet         candidates of one unit, until all units are there
        all-<scan>.parquet                candidates of the whole shard
        sample-00003.parquet, sample.parquet   texts to measure power in

A file's footer says for which benchmarks (by content) and with which profile its unit was scanned;
a file without rows says that nothing was found. Files come to be whole, by rename, and are never
changed, so that whatever is there is finished.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from vtdata.decontam.digests import Digests
from vtdata.decontam.inputs import Bad, Counts, Field, Side
from vtdata.decontam.inputs.shard import UNIT_BYTES
from vtdata.decontam.report.write import replacing
from vtdata.decontam.sweep import SAMPLED, STORED, Found, in_order, lowest
from vtdata.errors import RunError
from vtdata.lease import Lease

STORE_VERSION = 1
_KEY = b"vtdata.decontam"
_HEX = 32

Benches = Mapping[str, str]
"""Names of benchmarks by the key of their content."""


class Store:
    """A store, held by one process from ``with`` to its end.

    Raises:
        RunError: another audit that lives holds it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lease: Lease | None = None
        self.taken_over: str | None = None

    def __enter__(self) -> Store:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lease = Lease(self.folder / "lease.json", what="evidence store").__enter__()
        self.taken_over = self._lease.taken_over
        self.digests = Digests(self.folder / "hashes.json")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.digests.save()
        if self._lease is not None:
            self._lease.release()

    def shelf(
        self, digest: str, fields: Sequence[Field], sides: Sequence[Side], profile: str
    ) -> Shelf:
        """Return what is kept of one shard, as scanned with one profile.

        Args:
            digest: of the shard's content.
            fields: columns that are scanned.
            sides: sides that are scanned.
            profile: hash of all that changes candidates.
        """
        scope = {
            "version": STORE_VERSION,
            "fields": [[field.path, field.side] for field in fields],
            "sides": list(sides),
            "unit_bytes": UNIT_BYTES,
            "columns": str(STORED),
        }
        folder = self.folder / "shards" / f"{digest[:_HEX]}-{_hash(scope)[:16]}"
        return Shelf(folder, profile)


@dataclass(frozen=True, slots=True)
class _Entry:
    """One file of candidates."""

    path: Path
    unit: int | None
    """None: all units."""
    benches: dict[str, str]
    counts: Counts
    bad: list[Bad]


class Shelf:
    """All that a store has of one shard, one set of columns and one profile."""

    def __init__(self, folder: Path, profile: str) -> None:
        self.folder, self.profile = folder, profile
        self._entries: list[_Entry] = []
        if folder.is_dir():
            for path in folder.glob(".*.tmp"):
                path.unlink()
            found = (_entry(path, profile) for path in sorted(folder.glob("*-*.parquet")))
            self._entries = [entry for entry in found if entry is not None]

    def missing(self, unit: int, keys: Iterable[str]) -> frozenset[str]:
        """Return those benchmarks for which a unit was not scanned."""
        done = {
            key for entry in self._entries if entry.unit in (None, unit) for key in entry.benches
        }
        return frozenset(keys) - done

    def learn(self, path: Path) -> None:
        """Take note of a file that ``write_unit`` wrote into ``folder``."""
        entry = _entry(path, self.profile)
        if entry is not None:
            self._entries.append(entry)

    def join(self, num_units: int) -> None:
        """Put files of units together, once every unit was scanned for the same benchmarks.

        The result depends on what was found alone, not on the passes in which it was found.
        """
        parts = [entry for entry in self._entries if entry.unit is not None]
        by_unit = {unit: [e for e in parts if e.unit == unit] for unit in range(num_units)}
        names = {key: name for entry in parts for key, name in entry.benches.items()}
        if not parts or any(self.missing(unit, names) for unit in by_unit):
            return
        already = {key for e in self._entries if e.unit is None for key in e.benches}
        names = {key: name for key, name in names.items() if key not in already}
        if names:
            tables, counts, bad = [STORED.empty_table()], Counts(), []
            for entries in by_unit.values():
                tables += [_read(entry, names) for entry in entries]
                if entries:
                    counts.add(entries[0].counts)
                    bad += entries[0].bad
            path = self.folder / f"all-{_scan(self.profile, names)}.parquet"
            whole = _Entry(path, None, names, counts, bad)
            _write(whole, self.profile, in_order(pa.concat_tables(tables)))
            self._entries.append(whole)
        self._join_samples(num_units)
        for entry in parts:
            entry.path.unlink(missing_ok=True)
            self._entries.remove(entry)

    def candidates(self, benches: Benches) -> pa.Table:
        """Return all candidates for these benchmarks, under their present names, in order."""
        tables = [_read(entry, benches) for entry in self._entries]
        return in_order(pa.concat_tables([STORED.empty_table(), *tables]))

    def counts(self) -> tuple[Counts, list[Bad]]:
        """Return what was seen in the shard, of every unit once."""
        for entry in self._entries:
            if entry.unit is None:
                return entry.counts, entry.bad
        counts, bad = Counts(), []
        for _, entry in sorted({e.unit: e for e in self._entries}.items(), key=str):
            counts.add(entry.counts)
            bad += entry.bad
        return counts, bad

    def sample(self) -> pa.Table:
        """Return texts of the shard, lowest rank first."""
        paths = sorted(self.folder.glob("sample*.parquet")) if self.folder.is_dir() else []
        return lowest([_read_table(path).cast(SAMPLED) for path in paths])

    def _join_samples(self, num_units: int) -> None:
        paths = [self.folder / f"sample-{unit:05d}.parquet" for unit in range(num_units)]
        if all(path.is_file() for path in paths):
            tables = [_read_table(path).cast(SAMPLED) for path in paths]
            _write_sample(lowest(tables), self.folder / "sample.parquet")
            for path in paths:
                path.unlink()


def write_unit(folder: Path, profile: str, unit: int, benches: Benches, found: Found) -> Path:
    """Keep what a pass over a unit found, and return the file; with it the unit is finished."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_sample(found.sample, folder / f"sample-{unit:05d}.parquet")
    name = f"unit-{unit:05d}-{_scan(profile, benches)}.parquet"
    entry = _Entry(folder / name, unit, dict(benches), found.counts, found.bad)
    _write(entry, profile, found.candidates)
    return entry.path


def _scan(profile: str, benches: Benches) -> str:
    return _hash([profile, sorted(benches)])[:16]


def _write(entry: _Entry, profile: str, candidates: pa.Table) -> None:
    about = {
        "version": STORE_VERSION,
        "profile": profile,
        "unit": entry.unit,
        "benches": entry.benches,
        "counts": asdict(entry.counts),
        "bad": [asdict(bad) for bad in entry.bad],
    }
    schema = STORED.with_metadata({_KEY: json.dumps(about, sort_keys=True).encode()})
    with replacing(entry.path) as file:
        pq.write_table(candidates.cast(schema), file, compression="zstd")


def _entry(path: Path, profile: str) -> _Entry | None:
    """What a file holds; None where it is a sample or of another profile."""
    if path.name.startswith("sample"):
        return None
    try:
        metadata = pq.read_metadata(path).metadata or {}
        about = json.loads(metadata[_KEY])
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise RunError(
            f"{path} in the store is damaged ({error}): delete it and run again"
        ) from None
    if about["version"] != STORE_VERSION or about["profile"] != profile:
        return None
    bad = [Bad(**one) for one in about["bad"]]
    return _Entry(path, about["unit"], about["benches"], Counts(**about["counts"]), bad)


def _read(entry: _Entry, benches: Benches) -> pa.Table:
    """Candidates of one file for these benchmarks, under the names that they have here."""
    keys = {name: key for key, name in entry.benches.items()}
    table = _read_table(entry.path)
    stored = table.column("bench").to_pylist()
    names = [benches.get(keys.get(name, "")) for name in stored]
    at = table.schema.get_field_index("bench")
    renamed = table.set_column(at, pa.field("bench", pa.string()), pa.array(names, pa.string()))
    kept = renamed.filter(pa.array([name is not None for name in names], pa.bool_()))
    return kept.cast(STORED)


def _read_table(path: Path) -> pa.Table:
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            return file.read(use_threads=False).replace_schema_metadata(None)
    except (pa.ArrowException, OSError) as error:
        raise RunError(
            f"{path} in the store is damaged ({error}): delete it and run again"
        ) from None


def _write_sample(sample: pa.Table, path: Path) -> None:
    with replacing(path) as file:
        pq.write_table(sample, file, compression="zstd")


def _hash(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
