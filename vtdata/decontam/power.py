"""How much a scan finds: items are changed, planted in texts of this corpus, and looked for.

The plants live in memory and are never written. What is measured holds for these kinds of change,
in texts like these, under this profile: a corpus without a hit is one without a hit at that recall.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from vtdata.decontam.benchmark import Benchmark
from vtdata.decontam.candidate import DROPPED
from vtdata.decontam.index import Index
from vtdata.decontam.profile import judge
from vtdata.decontam.report.power import Counted, Power
from vtdata.seeds import derive_seed

PLANTS = 40
"""Plants for each kind of change: an interval of about 0.09 at a recall of 0.98. Ours."""

SHORT_WORDS = 10
"""Items of fewer words are a kind of their own."""

Change = Callable[[str, random.Random], str]


@dataclass(frozen=True, slots=True)
class Plant:
    """A changed item in a text of the corpus."""

    bench: str
    item: int
    kind: str
    text: str
    side: str


def power(index: Index, sample: pa.Table, benchmarks: Sequence[Benchmark]) -> Power:
    """Measure recall and false flags by kind of change.

    A plant is found where its item is a hit of a class that is dropped (``number_swap``: of class
    template, or of one that is dropped). A false flag is a hit of a class that is dropped on an
    item that is found neither in the text as it was nor in the planted item as it is;
    ``shuffled`` plants an item's words in random order, where any such hit is false.

    Args:
        index: of the benchmarks.
        sample: columns ``text`` and ``side`` (prompt, response): texts of the corpus.
        benchmarks: what is planted.
    """
    rows = sample.to_pylist()
    hosts = {
        side: [_decoded(row["text"]) for row in rows if row["side"] == side and row["text"]]
        for side in ("prompt", "response")
    }
    plants = [plant for kind in _KINDS for plant in _plants(kind, benchmarks, hosts)]
    known = _known(index, hosts)
    same = _same(index, benchmarks, plants)
    recall: dict[str, Counted] = {k: {"found": 0, "of": 0} for k in _KINDS if k != "shuffled"}
    flags: dict[str, Counted] = {kind: {"found": 0, "of": 0} for kind in _KINDS}
    for plant, hits in zip(plants, _hits(index, plants), strict=True):
        own = same[plant.bench, plant.item]
        dropped = {place for place, verdict in hits if verdict in DROPPED}
        wanted = {place for place, verdict in hits if verdict in _WANTED.get(plant.kind, DROPPED)}
        if plant.kind != "shuffled":
            recall[plant.kind]["found"] += bool(wanted & own)
            recall[plant.kind]["of"] += 1
            dropped -= own
        flags[plant.kind]["found"] += bool(dropped - known)
        flags[plant.kind]["of"] += 1
    return {
        "recall": {kind: counted for kind, counted in recall.items() if counted["of"]},
        "false_flags": {kind: counted for kind, counted in flags.items() if counted["of"]},
    }


def _decoded(text: str | bytes) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


_WANTED = {"number_swap": (*DROPPED, "template")}

Place = tuple[str, int]


def _plants(kind: str, benchmarks: Sequence[Benchmark], hosts: dict[str, list[str]]) -> list[Plant]:
    """Change ``PLANTS`` items, chosen by hash, each in a text chosen by hash."""
    fits = [
        (derive_seed("power", kind, bench.name, item.index), bench.name, item)
        for bench in benchmarks
        for item in bench.items
        if (len(item.text.split()) < SHORT_WORDS) == (kind == "short")
        and (kind != "number_swap" or re.search(r"\d", item.text))
    ]
    found = []
    for seed, name, item in sorted(fits, key=lambda fit: fit[:2])[:PLANTS]:
        rng = random.Random(seed)
        text = _KINDS[kind](item.text, rng)
        side = "response" if kind == "embedded" and hosts["response"] else "prompt"
        if side == "response":
            text = _inside(rng.choice(hosts["response"]), text, rng)
        if (text.strip() and text != item.text) or kind in _UNCHANGED:
            found.append(Plant(name, item.index, kind, text, side))
    return found


def _inside(host: str, text: str, rng: random.Random) -> str:
    """Put a text between two words of another."""
    gaps = [match.start() for match in re.finditer(r"\s", host)] or [len(host)]
    at = rng.choice(gaps)
    return f"{host[:at]}\n{text}\n{host[at:]}"


def _hits(index: Index, plants: Sequence[Plant]) -> list[list[tuple[Place, str]]]:
    hits: list[list[tuple[Place, str]]] = [[] for _ in plants]
    for side in ("prompt", "response"):
        own = [number for number, plant in enumerate(plants) if plant.side == side]
        for row in _judged(index, [plants[number].text for number in own], side):
            hits[own[row["text"]]].append(((row["bench"], row["item"]), row["verdict"]))
    return hits


def _judged(index: Index, texts: list[str], side: str) -> list[dict[str, Any]]:
    found = judge(index.scan(pa.array(texts, pa.large_string()), side), index.profile)
    return found.filter(found["verdict"].is_valid()).to_pylist()


def _known(index: Index, hosts: dict[str, list[str]]) -> set[Place]:
    """What is in the texts as they are."""
    return {(row["bench"], row["item"]) for row in _judged(index, hosts["response"], "response")}


def _same(
    index: Index, benchmarks: Sequence[Benchmark], plants: Sequence[Plant]
) -> dict[Place, set[Place]]:
    """What is found in each planted item as it is: itself, and items that say the same."""
    texts = {(bench.name, item.index): item.text for bench in benchmarks for item in bench.items}
    places = list(dict.fromkeys((plant.bench, plant.item) for plant in plants))
    found = {place: {place} for place in places}
    for row in _judged(index, [texts[place] for place in places], "prompt"):
        if row["verdict"] in DROPPED:
            found[places[row["text"]]].add((row["bench"], row["item"]))
    return found


def _as_is(text: str, _: random.Random) -> str:
    return text


def _case_punct(text: str, rng: random.Random) -> str:
    flat = re.sub(r"[.,;:!?'\"()]", " ", text)
    return flat.upper() if rng.random() < 0.5 else flat.lower()


def _spacing(text: str, rng: random.Random) -> str:
    """What a copy through another renderer has: other spaces, delimiters and fractions."""
    other = text.replace("\\frac", "\\dfrac").replace("$$", "\\[").replace("\\le ", "\\leq ")
    parts = other.split("$")
    joined = "".join(
        part if n == 0 else ("\\(" if n % 2 else "\\)") + part for n, part in enumerate(parts)
    )
    return re.sub(r"[ \n]+", lambda _: rng.choice([" ", "  ", "\n"]), joined)


def _edited(every: int) -> Change:
    """Replace, drop or add a word about once in so many."""

    def change(text: str, rng: random.Random) -> str:
        parts = re.split(r"(\s+)", text)
        places = list(range(0, len(parts), 2))
        first = rng.randrange(min(every, len(places)))
        for place in places[first::every]:
            way = rng.random()
            other = rng.choice(_FILLERS)
            parts[place] = other if way < 0.5 else "" if way < 0.75 else f"{parts[place]} {other}"
        return "".join(parts)

    return change


_FILLERS = ("the", "now", "given", "certain", "also", "total", "then", "exactly", "such", "really")


def _truncated(text: str, _: random.Random) -> str:
    parts = text.split()
    return " ".join(parts[: (len(parts) + 1) // 2])


def _other_numbers(text: str, rng: random.Random) -> str:
    return re.sub(r"\d+", lambda _: str(rng.randrange(11, 98)), text)


def _shuffled(text: str, rng: random.Random) -> str:
    parts = text.split()
    rng.shuffle(parts)
    return " ".join(parts)


_KINDS: dict[str, Change] = {
    "verbatim": _as_is,
    "short": _as_is,
    "embedded": _as_is,
    "case_punct": _case_punct,
    "formatting": _spacing,
    "light_edit": _edited(12),
    "heavy_edit": _edited(7),
    "truncated": _truncated,
    "number_swap": _other_numbers,
    "shuffled": _shuffled,
}

_UNCHANGED = ("verbatim", "short", "embedded", "formatting")
