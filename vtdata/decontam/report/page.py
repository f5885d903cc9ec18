"""Evidence as one HTML file in which a person reads both texts side by side.

The file needs nothing but itself: style and script stand inside, named by hash in a policy that
allows nothing else. Everything is written as escaped HTML here; the script holds no data, makes no
markup, and only filters and turns pages.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa

from vtdata.decontam.benchmark import Benchmark
from vtdata.decontam.candidate import DROPPED, VERDICTS
from vtdata.decontam.report.article import article
from vtdata.decontam.report.markup import attribute, plural, shown
from vtdata.decontam.report.power import Power, Rate, as_power, pooled, verdict_sentence
from vtdata.decontam.report.spans import visible
from vtdata.decontam.report.write import replacing

MAX_HITS = 5_000
"""Most hits on a page (ours): some 4 kB each, and a browser holds them all."""
PAGE = 50
"""Hits that are rendered at a time (ours); without JavaScript, the ones that are seen."""


def write_html(
    evidence: pa.Table,
    path: Path,
    *,
    corpus: str,
    profile: str,
    benchmarks: Mapping[str, Benchmark],
    power: Mapping[str, Any] | None = None,
    max_hits: int = MAX_HITS,
    parquet: str = "evidence.parquet",
) -> None:
    """Write the page of a scan.

    Args:
        evidence: sorted, as ``merge`` returns it.
        path: the file.
        corpus: what was scanned, in words.
        profile: name and version.
        benchmarks: all that were scanned for, those without a hit included.
        power: what the scan measured about itself, of the shape of ``Power``.
        max_hits: most hits on the page; the strongest are taken, and the page says so.
        parquet: name of the file that holds all of them.

    Raises:
        ConfigError: ``power`` has another shape.
    """
    measured = as_power(power)
    hits = evidence.slice(0, max_hits)
    style, script = (_resource(name) for name in ("page.css", "page.js"))
    parts = {
        "policy": _policy(style, script),
        "style": style,
        "script": script,
        "sentence": shown(_sentence(evidence, measured)),
        "corpus": shown(corpus),
        "profile": shown(profile),
        "counts": _counts(evidence, benchmarks),
        "power": "" if measured is None else _power(measured),
        "cap": _cap(hits.num_rows, evidence.num_rows, parquet),
        "bench_options": _options(sorted(set(hits.column("bench").to_pylist()))),
        "verdict_options": _options(VERDICTS),
        "side_options": _options(sorted(set(hits.column("side").to_pylist()))),
        "noscript": _noscript(hits.num_rows),
    }
    with replacing(path) as file:
        for literal, name in _template():
            file.write(literal.encode())
            if name == "hits":
                for text in _articles(hits):
                    file.write(text.encode())
            elif name is not None:
                file.write(parts[name].encode())


def _resource(name: str) -> str:
    return files("vtdata.decontam.report").joinpath("html", name).read_text(encoding="utf-8")


def _template() -> Iterable[tuple[str, str | None]]:
    """The page's skeleton: text, and the name of what follows it."""
    pieces = re.split(r"\{\{(\w+)\}\}", _resource("page.html"))
    names: list[str | None] = [*pieces[1::2], None]
    return zip(pieces[::2], names, strict=True)


def _policy(style: str, script: str) -> str:
    """A content security policy: this style and this script, and nothing from anywhere."""
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _articles(hits: pa.Table) -> Iterable[str]:
    """The first page as it is, the rest in templates, which a browser reads and doesn't render."""
    number = 0
    for batch in hits.to_batches(max_chunksize=500):
        for hit in batch.to_pylist():
            number += 1
            text = article(number, hit)
            yield text if number <= PAGE else f"<template>{text}</template>\n"


def _sentence(evidence: pa.Table, power: Power | None) -> str:
    verdicts = Counter(evidence.column("verdict").to_pylist())
    return verdict_sentence(evidence.num_rows, sum(verdicts[name] for name in DROPPED), power)


def _cap(num_shown: int, num_hits: int, parquet: str) -> str:
    if num_shown == num_hits:
        return ""
    return (
        f'<p class="note">The strongest {num_shown:,} of {plural(num_hits, "hit")} are on this '
        f"page; all of them are in {shown(parquet)}.</p>"
    )


def _noscript(num_shown: int) -> str:
    if not num_shown:
        return ""
    first = f"the first {min(PAGE, num_shown)} of {plural(num_shown, 'hit')}"
    return (
        f'<noscript><p class="note">Without JavaScript this page shows {first}, and no filters.'
        "</p></noscript>"
    )


def _counts(evidence: pa.Table, benchmarks: Mapping[str, Benchmark]) -> str:
    """A table of benchmarks by verdict class."""
    pairs = zip(
        evidence.column("bench").to_pylist(), evidence.column("verdict").to_pylist(), strict=True
    )
    counted = Counter(pairs)
    names = sorted({*benchmarks, *(bench for bench, _ in counted)})
    head = "".join(f'<th scope="col">{name}</th>' for name in (*VERDICTS, "all"))
    rows = []
    for name in names:
        cells = [counted[name, verdict] for verdict in VERDICTS]
        numbers = "".join(f"<td>{count:,}</td>" for count in (*cells, sum(cells)))
        rows.append(
            f'<tr><th scope="row"><bdi>{shown(name)}</bdi></th>'
            f"{numbers}<td>{_about(benchmarks.get(name))}</td></tr>"
        )
    return (
        f'<table><caption>Hits by benchmark and class</caption><thead><tr><th scope="col">benchmark'
        f'</th>{head}<th scope="col">source</th></tr></thead><tbody>{"".join(rows)}</tbody></table>'
    )


def _about(bench: Benchmark | None) -> str:
    """Where a benchmark comes from, in a cell."""
    if bench is None:
        return ""
    words = [plural(len(bench.items), "item"), f"sha256 {bench.sha256[:12]}"]
    words += [word for word in (bench.license, bench.published) if word]
    words += ["gated"] if bench.gated else []
    return shown(", ".join(words))


def _power(power: Power) -> str:
    """Recall and false flags by kind, folded."""
    rows = []
    for side, title in (("recall", "found"), ("false_flags", "flagged without a plant")):
        kinds = {kind: Rate.over(power[side][kind]) for kind in sorted(power[side])}
        for kind, rate in {**kinds, "all kinds": pooled(power[side])}.items():
            rows.append(
                f'<tr><th scope="row">{title}: {shown(kind)}</th><td>{rate.found:,}</td>'
                f"<td>{rate.of:,}</td><td>{rate}</td></tr>"
            )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("kind", "found", "of", "rate"))
    return (
        "<details><summary>What this scan finds of planted items</summary>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></details>"
    )


def _options(values: Iterable[str]) -> str:
    return "".join(
        f'<option value="{attribute(value)}">{attribute(visible(value))}</option>'
        for value in values
    )
