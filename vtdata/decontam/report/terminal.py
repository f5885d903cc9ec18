"""What a scan found, in a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from vtdata.decontam.candidate import DROPPED, VERDICTS
from vtdata.decontam.report.markup import plural
from vtdata.decontam.report.power import Counted, Power, Rate, as_power, verdict_sentence
from vtdata.decontam.report.spans import visible

if TYPE_CHECKING:
    from rich.console import RenderableType

TOP = 5
"""Hits that a terminal shows (ours)."""
_LOOK = 400
"""Characters of a hit that are looked at for its line."""


def summary(
    evidence: pa.Table, benchmarks: Iterable[str], *, power: Mapping[str, Any] | None = None
) -> RenderableType:
    """Return hits by benchmark and class, the strongest five, and what can be said of the rest.

    Corpus text is printed as text: no markup, no escape sequence in it reaches the terminal.

    Args:
        evidence: sorted, as ``merge`` returns it.
        benchmarks: names of all that were scanned for.
        power: what the scan measured about itself, of the shape of ``Power``.

    Raises:
        ConfigError: ``power`` has another shape.
    """
    from rich.console import Group
    from rich.text import Text

    measured = as_power(power)
    verdicts = Counter(evidence.column("verdict").to_pylist())
    num_dropped = sum(verdicts[name] for name in DROPPED)
    parts: list[RenderableType] = []
    if evidence.num_rows:
        parts += [_table(evidence, benchmarks), *_lines(evidence)]
    parts.append(Text(verdict_sentence(evidence.num_rows, num_dropped, measured), style="bold"))
    if measured is not None:
        parts += [Text(line) for line in _kinds(measured)]
    return Group(*parts)


def _table(evidence: pa.Table, benchmarks: Iterable[str]) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    columns = (evidence.column(name).to_pylist() for name in ("bench", "verdict"))
    counted = Counter(zip(*columns, strict=True))
    table = Table("benchmark", box=box.SIMPLE_HEAD)
    for name in (*VERDICTS, "all"):
        table.add_column(name, justify="right")
    for bench in sorted({*benchmarks, *(bench for bench, _ in counted)}):
        cells = [counted[bench, verdict] for verdict in VERDICTS]
        table.add_row(Text(visible(bench)), *(f"{count:,}" for count in (*cells, sum(cells))))
    return table


def _lines(evidence: pa.Table) -> Iterable[RenderableType]:
    from rich.text import Text

    for hit in evidence.slice(0, TOP).to_pylist():
        yield Text(_line(hit), no_wrap=True, overflow="ellipsis")
    if evidence.num_rows > TOP:
        yield Text(f"and {plural(evidence.num_rows - TOP, 'more hit')}", style="dim")


def _line(hit: Mapping[str, Any]) -> str:
    """Verdict, strength, both places, and how the corpus's span begins."""
    parts = (
        f"{hit['verdict']} {hit['strength']:.2f}",
        f"{hit['bench']} item {hit['item']}",
        f"{hit['file']} row {hit['row']} {hit['field']}",
        hit["doc_text"][:_LOOK],
    )
    return "  ".join(visible(part) for part in parts)


def _kinds(power: Power) -> Iterable[str]:
    """One line for what was found, worst first, and one for what was flagged falsely."""
    recall, flags = power["recall"], power["false_flags"]
    worst = sorted(
        recall, key=lambda kind: (recall[kind]["found"] / max(1, recall[kind]["of"]), kind)
    )
    yield f"  found of planted: {', '.join(_of(kind, recall[kind]) for kind in worst)}"
    if flags:
        total = Rate.over(
            {
                "found": sum(counted["found"] for counted in flags.values()),
                "of": sum(counted["of"] for counted in flags.values()),
            }
        )
        some = [_of(kind, flags[kind]) for kind in sorted(flags) if flags[kind]["found"]]
        kinds = f": {', '.join(some)}" if some else ""
        yield f"  flagged without a plant: {total}{kinds}"


def _of(kind: str, counted: Counted) -> str:
    return f"{kind} {counted['found']}/{counted['of']}"
