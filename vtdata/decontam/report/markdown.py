"""The audit card for people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vtdata.decontam.candidate import DROPPED, VERDICTS
from vtdata.decontam.report.spans import visible

_MARKS = re.compile(r"([\\`*_{}\[\]<>|~#&])")


def card_markdown(card: Mapping[str, Any]) -> str:
    """Return a card as Markdown; every word in it comes from the card.

    Args:
        card: as ``card`` returns it.
    """
    corpus, hits = card["corpus"], card["hits"]
    date = f" of {_text(card['date'])}" if card["date"] else ""
    rows = "?" if corpus["rows"] is None else f"{corpus['rows']:,}"
    parts = [
        f"# Contamination audit{date}\n\n**{_text(card['sentence'])}**\n",
        f"Scanned: {corpus['num_files']:,} files, {rows} rows, {corpus['bytes']:,} bytes, sha256 "
        f"`{corpus['sha256']}`. Profile: {_setting(card['profile'])}. "
        f"Index: {_setting(card['index'])}. vtdata {_text(card['vtdata'])}.\n",
        "## Benchmarks and hits\n",
        _hits_table(card),
        _dropped(hits),
        "Against the first publication of the problem: "
        + ", ".join(f"{count:,} {word}" for word, count in hits["dates"].items())
        + ". A row that predates a problem is not thereby free of it.\n",
        _power(card["power"]),
        "## Files\n",
        _table(("file", "rows", "bytes", "sha256"), _files([*corpus["files"], card["evidence"]])),
        f"## Repeat and check\n\n{_code(card['repeat'])}\n"
        f"Check this card: `vtdata decontam --verify-card CARD.json`. Its digest is "
        f"`{_text(card['digest'])}`.\n",
    ]
    return "\n".join(part for part in parts if part)


def _hits_table(card: Mapping[str, Any]) -> str:
    rows = []
    for bench in card["benchmarks"]:
        counts = card["hits"]["counts"].get(bench["name"], {})
        cells = [_sides(counts.get(verdict, {})) for verdict in VERDICTS]
        notes = [bench["license"] or "license unknown", bench["published"] or "undated"]
        notes += [f"revision {bench['revision']}"] if bench["revision"] else []
        notes += [word for word in ("gated", "non_commercial") if bench[word]]
        rows.append((bench["name"], bench["items"], *cells, ", ".join(notes), bench["sha256"]))
    return _table(("benchmark", "items", *VERDICTS, "about", "sha256"), rows)


def _sides(counts: Mapping[str, int]) -> str:
    """Hits of one class, by side: ``3 prompt, 1 response``."""
    return ", ".join(f"{count:,} {side}" for side, count in counts.items()) or "0"


def _dropped(hits: Mapping[str, Any]) -> str:
    return (
        f"{hits['all']:,} hits in {hits['texts']:,} texts of {hits['rows']:,} rows; "
        f"{hits['dropped_rows']:,} rows have a hit of a class that is dropped "
        f"({_text(', '.join(DROPPED))}).\n"
    )


def _power(power: Mapping[str, Any] | None) -> str:
    if power is None:
        return "Recall was not measured.\n"
    rows = [
        (f"{title}: {kind}", rate["found"], rate["of"], rate["share"], rate["low"], rate["high"])
        for side, title in (("recall", "found"), ("false_flags", "flagged without a plant"))
        for kind, rate in {**power[side]["kinds"], "all kinds": power[side]["all"]}.items()
    ]
    head = ("kind", "found", "of", "share", "low (95 %)", "high (95 %)")
    return f"## What this scan finds\n\n{_table(head, rows)}"


def _files(files: Iterable[Mapping[str, Any]]) -> Iterable[Sequence[Any]]:
    return ((file["name"], file["rows"], file["bytes"], file["sha256"]) for file in files)


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    written = [[cell if cell == "---" else _text(cell) for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in written)


def _setting(setting: Mapping[str, Any]) -> str:
    """A setting's values, nested ones as JSON."""
    return ", ".join(
        f"{_text(key)} {_text(value if isinstance(value, str) else json.dumps(value))}"
        for key, value in setting.items()
    )


def _text(value: Any) -> str:
    r"""A value as one line in which nothing is markup.

    >>> _text("a|b <i>\n"), _text(None), _text(1200)
    ('a\\|b \\<i\\>', '?', '1,200')
    """
    if value is None:
        return "?"
    return _MARKS.sub(r"\\\1", visible(f"{value:,}" if isinstance(value, int) else str(value)))


def _code(text: str) -> str:
    """A block of code whose fence is longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{visible(text)}\n{fence}\n"
