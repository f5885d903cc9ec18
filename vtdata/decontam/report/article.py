"""One hit as HTML: both texts side by side, what agrees marked, and every measure beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from vtdata.decontam.candidate import CANDIDATE
from vtdata.decontam.report.markup import attribute, plural, shown
from vtdata.decontam.report.words import EQUAL, Piece, compare

MAX_CHARS = 12_000
"""Most characters of a span on the page (ours); evidence.parquet has all of it."""
MAX_GRAMS = 200
"""Most n-grams listed below a hit (ours)."""

_PLACED = frozenset(("item", "start", "end", "item_start", "item_end"))
_NAMES = {
    "n_shared": "n-grams shared",
    "n_grams": "n-grams of the item",
    "n_tokens": "words of the item",
    "n_equal": "pieces equal",
    "n_pieces": "pieces of the item",
    "similarity": "similarity of prompts",
}
_TAGS = {
    "equal": ("<mark>", "</mark>"),
    "changed": ('<span class="changed">', "</span>"),
    "only": ('<span class="only">', "</span>"),
    "number": ('<b class="number">', "</b>"),
}


def article(number: int, hit: Mapping[str, Any]) -> str:
    """Return the HTML of one row of evidence.

    Args:
        number: its place by strength, from 1.
        hit: the row, with ``others`` as list of dicts.
    """
    key = f" ({shown(hit['item_key'])})" if hit["item_key"] is not None else ""
    attributes = " ".join(
        f'data-{name}="{attribute(hit[name])}"' for name in ("bench", "verdict", "side")
    )
    corpus, item = _texts(hit)
    return (
        f'<article id="hit-{number}" tabindex="-1" {attributes}>\n'
        f'<h3><a href="#hit-{number}">{number:,}</a> '
        f'<span class="verdict {attribute(hit["verdict"])}">{shown(hit["verdict"])}</span> '
        f"<bdi>{shown(hit['bench'])}</bdi> item {hit['item']}{key} "
        f'<span class="strength">strength {hit["strength"]:.3f}</span></h3>\n'
        f"<p>in {_place(hit)}</p>\n"
        f'<p class="measures">{"; ".join(_measures(hit))}</p>\n'
        f'<div class="pair">\n<section><h4>Corpus, bytes {hit["start"]} to {hit["end"]}</h4>'
        f'<div class="text" dir="auto">{corpus}</div></section>\n'
        f"<section><h4>Item, bytes {hit['item_start']} to {hit['item_end']} "
        f'of {shown(hit["item_field"])}</h4><div class="text" dir="auto">{item}</div></section>\n'
        f"</div>\n{_more(hit)}</article>\n"
    )


def _texts(hit: Mapping[str, Any]) -> tuple[str, str]:
    """Both spans as HTML, the corpus's with what stands around it."""
    mine, theirs = hit["doc_text"], hit["item_text"]
    before = f'<span class="around">{shown(hit["before"])}</span>' if hit["before"] else ""
    after = f'<span class="around">{shown(hit["after"])}</span>' if hit["after"] else ""
    if theirs is None:
        note = (
            f'<p class="withheld">Withheld: the benchmark is gated. sha256 {hit["item_hash"]}</p>'
        )
        return f"{before}{_capped(mine)}{after}", note
    left, right = compare(mine[:MAX_CHARS], theirs[:MAX_CHARS])
    return (
        f"{before}{_marked(left)}{_beyond(mine)}{after}",
        f"{_marked(right)}{_beyond(theirs)}",
    )


def _marked(pieces: Iterable[Piece]) -> str:
    """Pieces in their tags; white space behind a difference isn't part of it."""
    written = []
    for piece in pieces:
        words = piece.text if piece.kind == EQUAL else piece.text.rstrip()
        written.append(shown(words).join(_TAGS[piece.kind]) + shown(piece.text[len(words) :]))
    return "".join(written)


def _capped(text: str) -> str:
    return f"{shown(text[:MAX_CHARS])}{_beyond(text)}"


def _beyond(text: str) -> str:
    """What is said of a text too long for the page."""
    if len(text) <= MAX_CHARS:
        return ""
    left_out = plural(len(text) - MAX_CHARS, "character")
    return f'<span class="note">[{left_out} more in evidence.parquet]</span>'


def _place(hit: Mapping[str, Any]) -> str:
    side = [hit["side"]] if hit["side"] != hit["field"] else []
    side += [f"rollout {hit['rollout']}"] if hit["rollout"] is not None else []
    where = f" ({shown(', '.join(side))})" if side else ""
    return (
        f"<bdi>{shown(hit['file'])}</bdi>, row {hit['row']}, <bdi>{shown(hit['field'])}</bdi>"
        f"{where}; document <bdi>{shown(hit['doc'])}</bdi>"
    )


def _measures(hit: Mapping[str, Any]) -> list[str]:
    """Every number that the verdict came from, and what else is known."""
    measures = []
    for field in CANDIDATE:
        value = hit.get(field.name)
        if value is None or field.name in _PLACED or pa.types.is_string(field.type):
            continue
        number = f"{value:.3g}" if pa.types.is_floating(field.type) else f"{value:,}"
        measures.append(f"{_NAMES.get(field.name, field.name.replace('_', ' '))} {number}")
    measures += [f"rule {shown(hit['rule'])}", _dates(hit)]
    if hit["via"] is not None:
        measures.append(f"near-duplicate of <bdi>{shown(hit['via'])}</bdi>")
    if hit["judged"] is not None:
        measures.append(f"judged: {shown(hit['judged'])}")
    return measures


def _dates(hit: Mapping[str, Any]) -> str:
    mine = "unknown" if hit["date"] is None else shown(hit["date"])
    theirs = "unknown" if hit["item_date"] is None else shown(hit["item_date"])
    return f"{shown(hit['dates'])} (row {mine}, item {theirs})"


def _more(hit: Mapping[str, Any]) -> str:
    """Other items, n-grams and the benchmark's papers, folded."""
    others = "".join(
        f"<li><bdi>{shown(other['bench'])}</bdi> item {other['item']}: {shown(other['verdict'])}, "
        f"coverage {other['coverage']:.2f}</li>"
        for other in hit["others"]
    )
    grams = hit["grams"] or []
    listed = "".join(f"<li>{shown(gram)}</li>" for gram in grams[:MAX_GRAMS])
    if len(grams) > MAX_GRAMS:
        listed += f"<li>{plural(len(grams) - MAX_GRAMS, 'n-gram')} more in evidence.parquet</li>"
    papers = [("sha256 of the item", hit["item_hash"]), ("sha256", hit["bench_sha256"])]
    papers += [(name, hit[f"bench_{name}"]) for name in ("revision", "license")]
    known = "".join(f"<li>{name} {shown(value)}</li>" for name, value in papers if value)
    listing = "" if hit["grams"] is None else f", {plural(len(grams), 'shared n-gram')}"
    summary = f"{plural(len(hit['others']), 'other item')}{listing}"
    return (
        f"<details><summary>{summary}, source of the benchmark</summary>\n"
        f"<h4>Other items in this text</h4><ul>{others or '<li>none</li>'}</ul>\n"
        f'<h4>Shared n-grams</h4><ul class="grams">{listed or "<li>not listed</li>"}</ul>\n'
        f"<h4>Benchmark</h4><ul>{known}</ul></details>\n"
    )
