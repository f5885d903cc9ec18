"""What there is to know about a benchmark, as plain data; never its text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vtdata.decontam.benchmark import Benchmark
from vtdata.decontam.benchmarks.add import Added
from vtdata.decontam.benchmarks.loading import load_named
from vtdata.decontam.benchmarks.names import resolve, stand_in_folder
from vtdata.decontam.benchmarks.registry import Named, Registry
from vtdata.errors import VtdataError


def facts(named: Named) -> dict[str, Any]:
    """Return a benchmark's name, its whole entry, and the registry file that has it."""
    entry = named.entry.model_dump(mode="json")
    return {"name": named.name, **entry, "origin": named.origin}


def all_facts(folder: Path = Path()) -> list[dict[str, Any]]:
    """Return the facts of every benchmark with a name, in order of names.

    Raises:
        ConfigError: a registry file is wrong.
    """
    return [facts(named) for named in Registry.read(folder)]


def state(word: str, *, folder: Path = Path(), stand_ins: Path | None = None) -> dict[str, Any]:
    """Return the facts of a benchmark, and ``load``: whether it can be loaded now, and as what.

    Raises:
        ConfigError: there is no such benchmark, or a registry file is wrong.
    """
    named = resolve(word, Registry.read(folder), folder)
    there = stand_in_folder(stand_ins)
    said: list[str] = []
    try:
        found = load_named(named, stand_ins=there, say=said.append)
    except VtdataError as error:
        return {**facts(named), "load": {"ok": False, "problem": str(error), "said": said}}
    return {**facts(named), "load": {"ok": True, **_loaded(found), "said": said}}


def added(done: Added, said: list[str]) -> dict[str, Any]:
    """Return what was added: facts, what it loads as, and the first item unless it is gated."""
    first = done.benchmark.items[0]
    item = {"index": first.index, "field": first.field, "key": first.key, "date": first.date}
    text = {"sha256": first.hash} if done.benchmark.gated else {"text": first.text}
    loaded = {"ok": True, **_loaded(done.benchmark), "said": said}
    return {**facts(done.named), "load": loaded, "first_item": {**item, **text}}


def _loaded(found: Benchmark) -> dict[str, Any]:
    return {
        "num_items": len(found.items),
        "num_rows": len({item.index for item in found.items}),
        "fields": list(dict.fromkeys(item.field for item in found.items)),
        "source": found.source,
        "sha256": found.sha256,
        "revision": found.revision,
        "split": found.split,
    }
