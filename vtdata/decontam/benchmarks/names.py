"""What a word names: an entry of the registry, a file, a folder or a dataset of the Hub."""

from __future__ import annotations

import os
import re
from pathlib import Path

from vtdata.decontam.benchmarks.readers import ENDINGS, ending, stem
from vtdata.decontam.benchmarks.registry import UNPINNED, Entry, Named, Registry, fold
from vtdata.errors import ConfigError
from vtdata.text import nearest

STAND_INS = "VTDATA_BENCHMARKS"
"""Environment variable: a folder whose NAME.jsonl or NAME.parquet stands in for the Hub."""

_HUB = re.compile(
    r"(?P<hub>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w.-]+))?(?::(?P<config>[^/]+))?(?:/(?P<split>.+))?"
)
_COMMIT = re.compile(r"[0-9a-f]{40}")


def resolve(word: str, registry: Registry, folder: Path) -> Named:
    """Return what a word names: an entry of the registry, or one made up for a file or Hub id.

    Raises:
        ConfigError: nothing, or a file that isn't there.
    """
    is_path = word.startswith(("./", "../", "/", "~"))
    if "/" not in word and (found := registry.get(word)):
        return found
    path, fields = _path_and_fields(word, folder)
    if path.is_file():
        return Named(stem(path), Entry(file=str(path.absolute()), fields=fields), None)
    if is_path and path.is_dir():
        return Named(path.name, Entry(hub=str(path.absolute())), None)
    if is_path or ending(path) in ENDINGS:
        there = sorted(p.name for p in path.parent.iterdir()) if path.parent.is_dir() else []
        raise ConfigError(
            f"benchmark {word} is not there;{nearest(path.name, there)} looked in {path.parent}"
        )
    hub = _HUB.fullmatch(word)
    return _on_the_hub(hub, word) if hub else registry.find(word)


def _on_the_hub(hub: re.Match[str], word: str) -> Named:
    if hub["revision"] and not _COMMIT.fullmatch(hub["revision"]):
        raise ConfigError(
            f"{word}: revision '{hub['revision']}' is no commit: branches and tags move; give the "
            "40 digits, or none to read the newest"
        )
    revision = hub["revision"] or UNPINNED
    entry = Entry(hub=hub["hub"], revision=revision, config=hub["config"], split=hub["split"])
    return Named(hub["hub"], entry, None)


def _path_and_fields(word: str, folder: Path) -> tuple[Path, tuple[str, ...]]:
    whole = folder / Path(word).expanduser()
    before, colon, after = word.rpartition(":")
    if whole.exists() or not colon:
        return whole, ()
    path = folder / Path(before).expanduser()
    return (path, (after,)) if path.is_file() else (whole, ())


def stand_in_folder(given: Path | None) -> Path | None:
    """Return the folder of stand-ins: the given one, or the environment's; None for none.

    Raises:
        ConfigError: it is no folder.
    """
    named = given or (Path(os.environ[STAND_INS]) if os.environ.get(STAND_INS) else None)
    if named is not None and not named.is_dir():
        where = "--benchmarks" if given else STAND_INS
        raise ConfigError(f"{where} {named} is no folder; it holds files such as aime24.jsonl")
    return named


def stand_in(named: Named, folder: Path | None) -> Path | None:
    """Return the file that stands in for a benchmark, by its name or else an alias.

    Raises:
        ConfigError: two files would.
    """
    if folder is None:
        return None
    words = {fold(named.name), *(fold(alias) for alias in named.entry.aliases)}
    found = sorted(
        path for path in folder.iterdir() if ending(path) in ENDINGS and fold(stem(path)) in words
    )
    own = [path for path in found if stem(path) == named.name] or found
    if len(own) > 1:
        raise ConfigError(
            f"{named.name}: {' and '.join(path.name for path in own)} in {folder} would both stand "
            "in for it; keep one there"
        )
    return own[0] if own else None
