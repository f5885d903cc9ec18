"""The files that a source's ``path`` names, each with a name that shows no machine's folders."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass
from pathlib import Path

from vtdata.corpora.lines import stem
from vtdata.errors import ConfigError
from vtdata.text import nearest


@dataclass(frozen=True, slots=True)
class File:
    """A file to read."""

    path: Path
    shown: str
    """Its path below the folder that all files of the source share; what an origin names."""


def find(path: str | list[str], folder: Path) -> list[File]:
    """Return the files that ``path`` names, each once, patterns in sorted order.

    Args:
        path: a file, a pattern (``*``, ``**``, ``?``, ``[ab]``), or a list of these; relative
            ones start in ``folder``.
        folder: the recipe's own folder.

    Raises:
        ConfigError: nothing is named, a file is not there or a folder, a pattern matches none.
    """
    named = [path] if isinstance(path, str) else path
    if not named:
        raise ConfigError("path is an empty list; name a file or a pattern")
    paths = list(dict.fromkeys(one for name in named for one in _expand(name, folder)))
    shared = os.path.commonpath([p.parent for p in paths])
    return [File(p, p.relative_to(shared).as_posix()) for p in paths]


def source_name(files: list[File], declared: str | None) -> str:
    """Return the declared name of a source, or its only file's name without the ending.

    Raises:
        ConfigError: several files and no name.
    """
    if declared:
        return declared
    if len(files) > 1:
        raise ConfigError(
            f"{len(files)} files ({files[0].shown}, {files[1].shown} ...) are one source: "
            "name it with source: NAME"
        )
    return stem(files[0].path)


def _expand(name: str, folder: Path) -> list[Path]:
    whole = Path(os.path.normpath(folder.absolute() / name))
    if whole.is_file():  # a name with brackets is a name first
        return [whole]
    if whole.is_dir():
        raise ConfigError(
            f"{name} is a folder; name its files, for example {name}/*{_ending(whole)}"
        )
    if not glob.has_magic(name):
        there = sorted(p.name for p in whole.parent.iterdir()) if whole.parent.is_dir() else []
        raise ConfigError(
            f"{name} is not there;{nearest(whole.name, there)} paths start at the recipe's folder"
        )
    anchor = Path(name).anchor
    start, pattern = (Path(anchor), name[len(anchor) :]) if anchor else (folder.absolute(), name)
    files = sorted({Path(os.path.normpath(p)) for p in start.glob(pattern) if p.is_file()})
    if not files:
        raise ConfigError(f"{name} matches no file; paths start at the recipe's folder")
    return files


def _ending(folder: Path) -> str:
    endings = sorted({p.suffix for p in folder.iterdir() if p.is_file() and p.suffix})
    return endings[0] if endings else ".jsonl"
