"""A benchmark gets a name: loaded once, then written into the user's registry."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from vtdata.decontam.benchmark import Benchmark
from vtdata.decontam.benchmarks.gather import Plan, Say
from vtdata.decontam.benchmarks.loading import load_planned
from vtdata.decontam.benchmarks.names import resolve
from vtdata.decontam.benchmarks.registry import (
    UNPINNED,
    Named,
    Registry,
    check_name,
    checked,
    entries_of,
)
from vtdata.errors import ConfigError, RunError

_HEAD = "# Benchmarks of this project; see vtdata benchmarks --help. No benchmark text in here.\n"


@dataclass(frozen=True, slots=True)
class Added:
    """What was written, where, and what it loads as."""

    named: Named
    benchmark: Benchmark
    path: Path


def add(
    name: str,
    source: str,
    values: dict[str, Any],
    *,
    to: Path,
    folder: Path = Path(),
    replace_it: bool = False,
    say: Say | None = None,
) -> Added:
    """Load a benchmark once and write it into a registry file under a name.

    Args:
        name: small letters, digits, dots and dashes.
        source: a file, ``owner/name[@commit][:config][/split]`` of the Hub, or a folder in the
            Hub's layout.
        values: further keys of the entry, as in registry.yaml.
        to: the registry file; made where it isn't there, read and written whole otherwise.
        folder: where ``source`` starts if it is a relative path.
        replace_it: whether a name that is taken may be given again.
        say: hears what was guessed or left out.

    Raises:
        ConfigError: the name is taken or no name, or the benchmark can't be loaded; nothing was
            written.
        InfraError: the Hub can't be reached; nothing was written.
        RunError: the registry file can't be written.
    """
    check_name(name)
    registry = Registry.read(folder)
    here = {one.name: one.entry for one in entries_of(to)}
    taken = registry.get(name)
    if not replace_it and (taken or name in here):
        what = f"{taken.name} of {taken.origin}" if taken else str(to)
        raise ConfigError(f"'{name}' is taken ({what}); choose another name, or give --replace")
    named = _named(name, source, values, to.absolute(), folder)
    benchmark, plan = load_planned(named, say=say)
    entry = _pinned(named, benchmark, plan)
    _write(to, name, entry)
    return Added(replace(named, entry=checked(name, entry, str(to))), benchmark, to)


def _named(name: str, source: str, values: dict[str, Any], to: Path, folder: Path) -> Named:
    made = resolve(source, Registry(()), folder)
    plain = {**made.entry.model_dump(exclude_defaults=True, mode="json")}
    for key, value in values.items():
        if value not in (None, (), [], False):
            plain[key] = value
    for key in ("file", "hub"):
        path = Path(plain.get(key, ""))
        if path.is_absolute() and path.is_relative_to(to.parent):
            plain[key] = f"./{path.relative_to(to.parent)}"
    return Named(name, checked(name, plain, source), str(to), to.parent)


def _pinned(named: Named, benchmark: Benchmark, plan: Plan) -> dict[str, Any]:
    """The entry as plain data, with what the load has found out: columns, hash, commit, split."""
    entry: dict[str, Any] = named.entry.model_dump(exclude_defaults=True, mode="json")
    entry["fields"] = list(plan.fields)
    if plan.key:
        entry["key"] = plan.key
    if named.entry.file:
        entry["sha256"] = benchmark.sha256
    elif named.entry.revision == UNPINNED:
        entry["revision"] = benchmark.revision or UNPINNED
    if named.entry.hub and benchmark.split:
        entry["split"] = benchmark.split
    entry["num_items"] = len(benchmark.items)
    return entry


def _write(to: Path, name: str, entry: dict[str, Any]) -> None:
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        with _locked(to.parent):
            text = to.read_text(encoding="utf-8") if to.exists() else _HEAD
            kept = _without(text, name)
            block = yaml.safe_dump({name: entry}, sort_keys=False, allow_unicode=True, width=100)
            temporary = to.with_name(f".{to.name}.{os.getpid()}")
            temporary.write_text(kept.rstrip("\n") + "\n" + block, encoding="utf-8")
            temporary.replace(to)
    except OSError as error:
        raise RunError(f"{to} can't be written: {error.strerror or error}") from error


def _without(text: str, name: str) -> str:
    """The file without one entry: from its line to the next that isn't indented; notes stay."""
    node = yaml.compose(text, yaml.SafeLoader)
    if node is None:
        return text
    lines = text.splitlines(keepends=True)
    for key, value in node.value:
        if key.value == name:
            end = value.end_mark.line + (value.end_mark.column > 0)
            return "".join(lines[: key.start_mark.line] + lines[end:])
    return text


@contextmanager
def _locked(folder: Path) -> Generator[None]:
    """Let one process at a time change the files of a folder; nothing is left in it."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
