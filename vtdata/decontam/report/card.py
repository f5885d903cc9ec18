"""The audit card: what was scanned, against what, how, and what came of it.

A third party checks it with ``verify_card``. A card is JSON with a digest over itself; the Markdown
is made from it. It holds hashes, counts and dates, and no text of any corpus or item.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa

import vtdata
from vtdata.decontam.benchmark import Benchmark
from vtdata.decontam.candidate import DROPPED
from vtdata.decontam.dates import Order
from vtdata.decontam.report.power import as_power, power_data, verdict_sentence
from vtdata.decontam.report.refuse import refuse_text
from vtdata.decontam.report.write import replacing
from vtdata.errors import ConfigError

CARD_VERSION = 1


@dataclass(frozen=True, slots=True)
class HashedFile:
    """A file by name and content."""

    name: str
    """Relative to the folder that ships, with forward slashes."""
    sha256: str
    bytes: int
    rows: int | None = None

    @classmethod
    def read(cls, path: Path, *, name: str | None = None, rows: int | None = None) -> HashedFile:
        """Hash a file; ``name`` is its own unless given."""
        with path.open("rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
        return cls(name or path.name, digest, path.stat().st_size, rows)


def card(
    evidence: pa.Table,
    *,
    corpus: Sequence[HashedFile],
    benchmarks: Mapping[str, Benchmark],
    index: Mapping[str, Any],
    profile: Mapping[str, Any],
    evidence_file: HashedFile,
    command: Sequence[str],
    power: Mapping[str, Any] | None = None,
    date: str | None = None,
) -> dict[str, Any]:
    """Return the card of an audit, as JSON has it.

    Args:
        evidence: all of it.
        corpus: the files that were scanned.
        benchmarks: all that were scanned for, those without a hit included.
        index: name, version and hash of what was scanned with.
        profile: name, version, thresholds, normalizer and hash.
        evidence_file: the Parquet file of ``evidence``.
        command: the words of the command line that repeats the audit.
        power: what the scan measured about itself, of the shape of ``Power``.
        date: of the audit, ISO, as the caller says; no clock is read.

    Raises:
        ConfigError: no corpus or no benchmark; ``power`` has another shape; or text of a gated or
            non-commercial item came in by a name, a command or a setting.
    """
    if not corpus or not benchmarks:
        raise ConfigError(
            f"a card needs files and benchmarks, got {len(corpus)} and {len(benchmarks)}: "
            "an audit of nothing, or against nothing, says nothing"
        )
    measured = as_power(power)
    files = [asdict(file) for file in sorted(corpus, key=lambda file: file.name)]
    hits = count_hits(evidence, benchmarks)
    made = {
        "schema_version": CARD_VERSION,
        "vtdata": vtdata.__version__,
        "date": date,
        "sentence": verdict_sentence(hits["all"], hits["dropped"], measured),
        "corpus": {**corpus_totals(files), "files": files},
        "benchmarks": [describe(benchmarks[name]) for name in sorted(benchmarks)],
        "index": dict(index),
        "profile": dict(profile),
        "hits": hits,
        "power": None if measured is None else power_data(measured),
        "evidence": asdict(evidence_file),
        "repeat": shlex.join(command),
    }
    refuse_text(made, benchmarks)
    return {**made, "digest": digest_of(made)}


def write_card(made: Mapping[str, Any], path: Path) -> None:
    """Write a card as ``path`` (JSON) and beside it as Markdown."""
    from vtdata.decontam.report.markdown import card_markdown

    with replacing(path) as file:
        file.write(json.dumps(made, ensure_ascii=False, indent=1, allow_nan=False).encode() + b"\n")
    with replacing(path.with_suffix(".md")) as file:
        file.write(card_markdown(made).encode())


def digest_of(made: Mapping[str, Any]) -> str:
    """Return sha256 of a card's canonical JSON without its ``digest``.

    >>> digest_of({"b": 1, "a": 2}) == digest_of({"a": 2, "b": 1, "digest": "x"})
    True
    """
    rest = {key: value for key, value in made.items() if key != "digest"}
    return _canonical(rest)


def corpus_totals(files: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Sums over a card's files, and one hash for all of them."""
    listed = list(files)
    rows = [file["rows"] for file in listed]
    return {
        "num_files": len(listed),
        "rows": None if None in rows else sum(rows),
        "bytes": sum(file["bytes"] for file in listed),
        "sha256": _canonical([[file["name"], file["sha256"]] for file in listed]),
    }


def describe(bench: Benchmark) -> dict[str, Any]:
    """What a card says of a benchmark; of a file on this machine only its name."""
    source = Path(bench.source)
    return {
        "name": bench.name,
        "source": source.name if source.is_absolute() else bench.source,
        "sha256": bench.sha256,
        "revision": bench.revision,
        "split": bench.split,
        "license": bench.license,
        "published": bench.published,
        "items": len(bench.items),
        "gated": bench.gated,
        "non_commercial": bench.non_commercial,
    }


def count_hits(evidence: pa.Table, benchmarks: Iterable[str]) -> dict[str, Any]:
    """Hits by benchmark, class and side, and by date; distinct texts and rows."""
    keys = ("bench", "verdict", "side", "dates", "file", "row", "field")
    rows = list(zip(*(evidence.column(name).to_pylist() for name in keys), strict=True))
    counts: dict[str, dict[str, dict[str, int]]] = {name: {} for name in sorted(benchmarks)}
    for (bench, verdict, side), number in sorted(Counter(row[:3] for row in rows).items()):
        counts.setdefault(bench, {}).setdefault(verdict, {})[side] = number
    dated = Counter(row[3] for row in rows)
    dropped = [row for row in rows if row[1] in DROPPED]
    return {
        "all": len(rows),
        "dropped": len(dropped),
        "texts": len({row[4:] for row in rows}),
        "rows": len({row[4:6] for row in rows}),
        "dropped_rows": len({row[4:6] for row in dropped}),
        "counts": counts,
        "dates": {word: dated[word] for word in get_args(Order)},
    }


def _canonical(value: Any) -> str:
    """sha256 of JSON with sorted keys and no spaces, in ASCII."""
    return sha256(
        json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    ).hexdigest()
