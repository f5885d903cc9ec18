"""Text of benchmarks that may not be passed on stays out of whatever leaves the house."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from vtdata.decontam.benchmark import Benchmark
from vtdata.decontam.report.words import keys_of
from vtdata.errors import ConfigError

RUN = 8
"""Words in a row that are taken for an item's text (ours); shorter items count whole."""

_TEXTS = ("item_text", "grams", "doc_text", "before", "after", "item_key")


def refuse_text(
    shipped: pa.Table | Mapping[str, Any] | str, benchmarks: Mapping[str, Benchmark]
) -> None:
    """Refuse to ship text of gated or non-commercial benchmarks.

    Args:
        shipped: evidence, where no such row may hold text of either side, since the corpus's span
            is the item over again; or a card, or any text, where no eight words in a row and no
            shorter item of two words or more may come from an item.
        benchmarks: by name.

    Raises:
        ConfigError: there is such text; or evidence speaks of a benchmark that isn't given, so
            that nobody knows whether its text may be passed on.
    """
    if isinstance(shipped, pa.Table):
        _refuse_rows(shipped, benchmarks)
        return
    strings = list(_strings(shipped))
    runs = {run for text in strings for run in _runs(keys_of(text))}
    words = f" {' | '.join(' '.join(keys_of(text)) for text in strings)} "
    for bench in benchmarks.values():
        for item in () if bench.shows_text else bench.items:
            keys = keys_of(item.text)
            short = 2 <= len(keys) < RUN and f" {' '.join(keys)} " in words
            if short or not runs.isdisjoint(_runs(keys)):
                raise ConfigError(
                    f"text of item {item.index} of '{bench.name}' may not be passed on "
                    f"({_why(bench)}), and it is in what is to be shipped: leave it out"
                )


def without_text(evidence: pa.Table, benchmarks: Mapping[str, Benchmark]) -> pa.Table:
    """Return evidence that may be shipped: rows of refused benchmarks keep places and numbers.

    Raises:
        ConfigError: evidence speaks of a benchmark that isn't given.
    """
    refused = _refused(evidence, benchmarks)
    for name in _TEXTS:
        at = evidence.schema.get_field_index(name)
        field = evidence.schema.field(at)
        nothing = pa.scalar(None if field.nullable else "", field.type)
        column = pc.call_function("if_else", [refused, nothing, evidence.column(name)])
        evidence = evidence.set_column(at, field, column)
    return evidence


def _refuse_rows(evidence: pa.Table, benchmarks: Mapping[str, Benchmark]) -> None:
    """Find the first row of a refused benchmark that holds text."""
    for row in evidence.filter(_refused(evidence, benchmarks)).to_pylist():
        held = [name for name in _TEXTS if row[name]]
        if held:
            raise ConfigError(
                f"evidence holds {', '.join(held)} of item {row['item']} of '{row['bench']}', "
                f"whose text may not be passed on ({_why(benchmarks[row['bench']])}): "
                "ship what without_text() returns"
            )


def _refused(evidence: pa.Table, benchmarks: Mapping[str, Benchmark]) -> pa.Array:
    """A mask of the rows of benchmarks that show no text."""
    names = set(evidence.column("bench").to_pylist())
    if unknown := sorted(names - benchmarks.keys()):
        raise ConfigError(
            f"evidence speaks of {', '.join(unknown)}, and given are "
            f"{', '.join(benchmarks) or 'no benchmarks'}: give them, so that it is known whether "
            "their text may be passed on"
        )
    hidden = [name for name in names if not benchmarks[name].shows_text]
    return pa.array([name in hidden for name in evidence.column("bench").to_pylist()], pa.bool_())


def _why(bench: Benchmark) -> str:
    return "gated" if bench.gated else f"non-commercial: {bench.license or 'no license named'}"


def _runs(keys: list[str]) -> Iterable[tuple[str, ...]]:
    return (tuple(keys[at : at + RUN]) for at in range(len(keys) - RUN + 1))


def _strings(value: Any) -> Iterable[str]:
    """Every string of JSON data, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)
