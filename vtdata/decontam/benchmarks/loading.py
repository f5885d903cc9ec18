"""From a name, a file or a Hub id to a benchmark with its items; never a silent pass."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from vtdata.decontam.benchmark import Benchmark, Item
from vtdata.decontam.benchmarks.gather import Plan, Say, items_of, plan_of
from vtdata.decontam.benchmarks.names import resolve, stand_in, stand_in_folder
from vtdata.decontam.benchmarks.readers import columns_of, rows_of, sha256_of
from vtdata.decontam.benchmarks.registry import SHIPPED, UNPINNED, Named, Registry
from vtdata.errors import ConfigError


def load(
    name_or_path: str,
    *,
    registry: Registry | None = None,
    folder: Path = Path(),
    fields: Sequence[str] = (),
    stand_ins: Path | None = None,
    say: Say | None = None,
) -> Benchmark:
    """Load a benchmark by its name or alias, from a file, or from the Hub.

    Args:
        name_or_path: a name of the registry in any case; a file such as ``./my_bench.jsonl`` or
            ``./my_bench.jsonl:question``; ``owner/name[@commit][:config][/split]`` of the Hub; a
            folder in the Hub's layout, ``./folder``.
        registry: the names; None reads what ships, the user's own and ``folder``'s.
        folder: where relative paths start.
        fields: columns with text, before all that the registry, the path or a guess says.
        stand_ins: folder in which ``NAME.jsonl`` or another format stands in for a name's Hub
            dataset; None is that of the environment's VTDATA_BENCHMARKS, if set.
        say: called with a sentence on what was decided or left out: a column that was guessed,
            a commit that was looked up, rows without text.

    Raises:
        ConfigError: it isn't there, has no rows, no such column, or no text in it.
        InfraError: the Hub can't be reached.
    """
    names = registry if registry is not None else Registry.read(folder)
    named = resolve(name_or_path, names, folder)
    if fields:
        named = replace(named, entry=named.entry.model_copy(update={"fields": (*fields,)}))
    return load_named(named, stand_ins=stand_in_folder(stand_ins), say=say)


def load_named(named: Named, *, stand_ins: Path | None = None, say: Say | None = None) -> Benchmark:
    """Load a benchmark whose entry is known.

    Raises:
        ConfigError: as ``load``.
        InfraError: as ``load``.
    """
    return load_planned(named, stand_ins=stand_ins, say=say)[0]


def load_planned(
    named: Named, *, stand_ins: Path | None = None, say: Say | None = None
) -> tuple[Benchmark, Plan]:
    """Load a benchmark, and tell which columns were read.

    Raises:
        ConfigError: as ``load``.
        InfraError: as ``load``.
    """
    say = say or _nothing
    if named.entry.file is not None:
        return _from_file(named, named.folder / Path(named.entry.file).expanduser(), say)
    copy = stand_in(named, stand_ins)
    if copy is not None:
        say(f"{named.name}: {copy.name} stands in for {named.entry.hub}; its revision is not known")
        return _from_file(named, copy, say)
    return _from_hub(named, say)


def _from_file(named: Named, path: Path, say: Say) -> tuple[Benchmark, Plan]:
    entry = named.entry
    if not path.is_file():
        raise ConfigError(f"{named.name}: {path} is not there; the registry names it as its file")
    digest = sha256_of(path)
    if entry.sha256 and entry.sha256 != digest:
        raise ConfigError(
            f"{named.name}: {path} has changed since it was added (sha256 {digest[:12]}, was "
            f"{entry.sha256[:12]}); look at it and add it again with --replace"
        )
    columns = columns_of(path)
    if not columns:
        raise ConfigError(f"{named.name}: {path.name} has no rows; a benchmark has at least one")
    plan = plan_of(
        entry, columns, _where(named, path.name), say, key_may_lack=entry.hub is not None
    )
    items = items_of(rows_of(path, plan.top_level), plan, say)
    return _benchmark(named, items, source=_shown(entry.file, path.name), sha256=digest), plan


def _from_hub(named: Named, say: Say) -> tuple[Benchmark, Plan]:
    from vtdata.decontam.benchmarks.hub import open_hub

    entry = named.entry
    opened = open_hub(named.name, entry, named.folder)
    if opened.revision and entry.revision == UNPINNED:
        say(f"{named.name}: {entry.hub} is unpinned; its newest commit is {opened.revision}")
    source = _shown(entry.hub, Path(entry.source).name)
    plan = plan_of(
        entry, opened.columns, _where(named, source), say, key_may_lack=named.origin == SHIPPED
    )
    items = items_of(opened.rows(plan.top_level), plan, say)
    found = _benchmark(
        named,
        items,
        source=source,
        sha256=canonical_sha256(items),
        revision=opened.revision,
        split=opened.split,
    )
    return found, plan


def canonical_sha256(items: Sequence[Item]) -> str:
    """Return the sha256 of what all items are, as canonical JSON; dates aren't part of it.

    It is the hash of a benchmark that isn't one file. Of one that is, it says what the file's own
    hash doesn't: which columns and rows were taken.
    """
    data = [[item.index, item.field, item.key, item.text] for item in items]
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _benchmark(
    named: Named,
    items: Sequence[Item],
    *,
    source: str,
    sha256: str,
    revision: str | None = None,
    split: str | None = None,
) -> Benchmark:
    entry = named.entry
    return Benchmark(
        name=named.name,
        items=tuple(items),
        source=source,
        sha256=sha256,
        revision=revision,
        split=split or entry.split,
        license=entry.license,
        published=entry.published,
        gated=entry.gated,
        non_commercial=entry.non_commercial,
    )


def _where(named: Named, source: str) -> str:
    return source if source.startswith(named.name) else f"{named.name} ({source})"


def _shown(named: str | None, name: str) -> str:
    """What evidence calls the source: no folder of this machine's in it."""
    return named if named and not named.startswith(("/", "~")) else name


def _nothing(_sentence: str) -> None:
    pass
