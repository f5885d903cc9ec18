"""Names of benchmarks and where they come from: the list that ships, and the user's over it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator
from yaml.constructor import ConstructorError
from yaml.resolver import BaseResolver

from vtdata.decontam.dates import bounds
from vtdata.errors import ConfigError
from vtdata.text import nearest

FILE_NAME = "benchmarks.yaml"
"""The user's own list: in the project's folder, and in the user's config folder."""
UNPINNED = "unpinned"
SHIPPED = "vtdata"
"""The origin of the entries that ship."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_LOCAL = ("./", "../", "/")


def _day(value: Any) -> Any:
    if isinstance(value, date | int):  # what YAML makes of a date without quotes
        value = str(value)
    if isinstance(value, str):
        bounds(value)
    return value


class Entry(BaseModel):
    """One benchmark of a registry file; the keys are explained at the head of registry.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hub: str | None = None
    """``owner/name``, or a folder in the Hub's layout that starts with ``./``, ``../`` or ``/``."""
    file: str | None = None
    """A file; relative ones start at the registry file's folder."""
    sha256: str | None = None
    """Of the file: another content is an error."""
    revision: str | None = None
    config: str | None = None
    split: str | None = None
    files: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    key: str | None = None
    date_field: str | None = None
    rows: dict[str, Any] | None = None
    num_items: int | None = None
    aliases: tuple[str, ...] = ()
    license: str | None = None
    published: Annotated[str | None, BeforeValidator(_day)] = None
    published_from: str | None = None
    gated: bool = False
    non_commercial: bool = False
    homepage: str | None = None
    unverified: tuple[str, ...] = ()
    note: str | None = None

    @model_validator(mode="after")
    def _whole(self) -> Entry:
        if (self.hub is None) == (self.file is None):
            raise ValueError("name either a hub id or a file")
        if self.hub and not self.is_local and not re.fullmatch(r"[\w.-]+/[\w.-]+", self.hub):
            raise ValueError(
                f"hub '{self.hub}' is no owner/name, and no folder such as ./{self.hub}"
            )
        pinned = self.revision is not None and _COMMIT.fullmatch(self.revision)
        if self.hub and not self.is_local and self.revision != UNPINNED and not pinned:
            raise ValueError(
                f"revision '{self.revision}' is no commit: branches and tags move; give the "
                f"40 digits, or write {UNPINNED}"
            )
        for column, wanted in (self.rows or {}).items():
            if isinstance(wanted, list) and len(wanted) != 2:
                raise ValueError(f"rows: {column}: {wanted} is no [first, last]")
        return self

    @property
    def is_local(self) -> bool:
        """Whether everything lies on this machine."""
        return self.hub is None or self.hub.startswith(_LOCAL)

    @property
    def source(self) -> str:
        """What people call the place it comes from."""
        return self.hub or self.file or ""


@dataclass(frozen=True, slots=True)
class Named:
    """A benchmark's name, its entry, and which registry file has it."""

    name: str
    entry: Entry
    origin: str | None
    """The registry file, ``SHIPPED``, or None where no registry has it."""
    folder: Path = Path()
    """Where its relative paths start."""


class Registry:
    """All benchmarks with a name. A later file's entry hides an earlier one of the same name."""

    def __init__(self, named: Iterable[Named]) -> None:
        self._by_name = {one.name: one for one in named}
        self._words: dict[str, str] = {}
        for one in self._by_name.values():
            self._words.update((fold(alias), one.name) for alias in one.entry.aliases)
        self._words.update((fold(name), name) for name in self._by_name)  # a name beats an alias

    @classmethod
    def read(cls, folder: Path = Path()) -> Registry:
        """Read what ships, then the user's config folder, then ``folder``; the last one wins.

        Raises:
            ConfigError: a file isn't YAML, or an entry has a key or value that can't be.
        """
        shipped = files("vtdata.decontam.benchmarks").joinpath("registry.yaml")
        named = list(_entries(shipped.read_text(encoding="utf-8"), None, "the registry"))
        for path in dict.fromkeys((user_file(), folder.absolute() / FILE_NAME)):
            named += entries_of(path)
        return cls(named)

    def __iter__(self) -> Iterator[Named]:
        return iter(sorted(self._by_name.values(), key=lambda one: one.name))

    def get(self, word: str) -> Named | None:
        """Return the benchmark of this name or alias, whatever its case, dots and dashes."""
        name = self._words.get(fold(word))
        return self._by_name[name] if name else None

    def find(self, word: str) -> Named:
        """Return the benchmark of this name or alias.

        Raises:
            ConfigError: there is none.
        """
        found = self.get(word)
        if found is None:
            raise ConfigError(
                f"no benchmark is called '{word}';{self.near(word)} vtdata benchmarks list shows "
                "all; a file is named by its path, such as ./my_bench.jsonl"
            )
        return found

    def near(self, word: str) -> str:
        """Return `` did you mean 'x'?`` for the nearest name or alias, or nothing."""
        spoken = {fold(name): name for name in self._by_name}
        for one in self._by_name.values():
            for alias in one.entry.aliases:
                spoken.setdefault(fold(alias), alias)
        hint = nearest(fold(word), spoken)
        return next((f" did you mean '{spoken[w]}'?" for w in spoken if f"'{w}'" in hint), "")


def fold(word: str) -> str:
    """Return a name without what people write in different ways.

    >>> fold("MATH-500") == fold("math_500") == "math500"
    True
    """
    return re.sub(r"[^a-z0-9]", "", word.casefold())


def user_file() -> Path:
    """Return the user's own registry, for all projects: ``~/.config/vtdata/benchmarks.yaml``."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "vtdata" / FILE_NAME


def entries_of(path: Path) -> list[Named]:
    """Read a registry file; none where it isn't there.

    Raises:
        ConfigError: it isn't YAML, or an entry has a key or value that can't be.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} can't be read: {error}") from error
    return list(_entries(text, path, str(path)))


def check_name(name: str) -> None:
    """Refuse a name that can't be told from a path, or can't be a file's name.

    Raises:
        ConfigError: it has other signs than small letters, digits, dots and dashes.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"name '{name}': use small letters, digits, '.', '_' and '-', such as aime27"
        )


def checked(name: str, values: dict[str, Any], where: str) -> Entry:
    """Return an entry made from plain data.

    Raises:
        ConfigError: a key or a value can't be.
    """
    try:
        return Entry.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        said = first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            said = f"there is no such key;{nearest(key, Entry.model_fields)}"
        raise ConfigError(f"{where}: {name}{f'.{key}' if key else ''}: {said}") from error
    except ConfigError as error:
        raise ConfigError(f"{where}: {name}: {error}") from error


class _Loader(yaml.SafeLoader):
    """Refuses a key that is written twice."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    for at, key in enumerate(keys):
        if key in keys[:at]:
            raise ConstructorError(None, None, f"key '{key}' is written twice", node.start_mark)
    values = [loader.construct_object(value, deep=True) for _, value in node.value]
    return dict(zip(keys, values, strict=True))


_Loader.add_constructor(BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def _entries(text: str, origin: Path | None, where: str) -> Iterator[Named]:
    try:
        data = yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        raise ConfigError(f"{where} is no YAML: {' '.join(str(error).split())}") from error
    if data is None:
        return
    if not isinstance(data, dict):
        raise ConfigError(f"{where} holds a {type(data).__name__}; write NAME: {{file: ...}}")
    for name, values in data.items():
        check_name(str(name))
        if not isinstance(values, dict):
            raise ConfigError(f"{where}: {name} is {values!r}; write {{file: ...}} or {{hub: ...}}")
        entry = checked(str(name), values, where)
        if origin is None:
            yield Named(str(name), entry, SHIPPED)
        else:
            yield Named(str(name), entry, str(origin), origin.parent)
