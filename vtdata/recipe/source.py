"""A YAML file with the line of every key, so that an error can point at it."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from vtdata.errors import ConfigError

Path_ = tuple[str | int, ...]
_ENV = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(slots=True)
class Source:
    """Parsed YAML and where each of its values stands."""

    file: str
    data: Any
    lines: dict[Path_, int] = field(default_factory=dict)

    def where(self, path: Path_) -> str:
        """Return ``file:line: a.b[2].c`` for the nearest place that is known."""
        at = path
        while at and at not in self.lines:
            at = at[:-1]
        line = self.lines.get(at)
        place = f"{self.file}:{line}" if line else self.file
        return f"{place}: {spell(path)}" if path else place


def spell(path: Iterable[str | int]) -> str:
    """Return a path as people write it.

    >>> spell(("stages", 2, "sample", "n"))
    'stages[2].sample.n'
    """
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


class _Loader(yaml.SafeLoader):
    """SafeLoader that reads ``1e-3`` as the number it is, and a date as the text it is.

    YAML 1.1 asks for a dot in a number, and makes of ``2024-01-31`` what JSON can't hold.
    """


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if not tag.endswith(":timestamp")]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)$"),
    list("-+0123456789."),
)


def load_yaml(path: Path) -> Source:
    """Read a YAML file.

    Raises:
        ConfigError: it is not there, is no UTF-8 or no YAML, or holds a key twice.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"recipe {path} is not there: give the path of a .yaml file") from None
    except IsADirectoryError:
        raise ConfigError(f"recipe {path} is a folder: give the path of a .yaml file") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"recipe {path} is not UTF-8 (byte {error.start}): save it so") from None
    return parse_yaml(text, str(path))


def parse_yaml(text: str, file: str) -> Source:
    """Parse YAML text; ``file`` is the name used in errors."""
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        source = Source(file, None)
        if node is not None:
            _no_loops(node, file, [])
            source.data = _build(loader, node, (), source)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{file}:{mark.line + 1}" if mark else file
        problem = getattr(error, "problem", None) or str(error)
        raise ConfigError(f"{place}: not valid YAML: {problem}") from None
    finally:
        loader.dispose()
    return source


def _no_loops(node: yaml.Node, file: str, above: list[yaml.Node]) -> None:
    """Refuse an alias that stands inside what it names: it would have no end."""
    if not isinstance(node, yaml.CollectionNode):
        return
    if any(node is one for one in above):
        line = node.start_mark.line + 1 if node.start_mark else 1
        raise ConfigError(f"{file}:{line}: an alias stands inside what it names: write it out")
    for item in node.value:
        for child in item if isinstance(item, tuple) else (item,):
            _no_loops(child, file, [*above, node])


def _build(loader: yaml.SafeLoader, node: yaml.Node, path: Path_, source: Source) -> Any:
    source.lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        built: dict[Hashable, Any] = {}
        for key, key_node, value_node in _pairs(loader, node, source):
            source.lines[(*path, key)] = key_node.start_mark.line + 1
            built[key] = _build(loader, value_node, (*path, key), source)
        return built
    if isinstance(node, yaml.SequenceNode):
        return [
            _build(loader, item, (*path, index), source) for index, item in enumerate(node.value)
        ]
    return loader.construct_object(node, deep=True)


def _pairs(
    loader: yaml.SafeLoader, node: yaml.MappingNode, source: Source
) -> list[tuple[str, yaml.Node, yaml.Node]]:
    """A mapping's keys and values; its own keys win over those that ``<<`` brings in."""
    own = [key for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
    loader.flatten_mapping(node)
    found: dict[str, tuple[str, yaml.Node, yaml.Node]] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        line = key_node.start_mark.line + 1
        if not isinstance(key, str):
            raise ConfigError(f"{source.file}:{line}: key {key!r} is no text: quote it")
        if key in found and any(found[key][1] is one for one in own):
            first = found[key][1].start_mark.line + 1
            raise ConfigError(
                f"{source.file}:{line}: key '{key}' stands here and in line {first}: "
                "keep one of them"
            )
        found[key] = (key, key_node, value_node)
    node.value = [(key_node, value_node) for _, key_node, value_node in found.values()]
    return list(found.values())


def override(source: Source, settings: Iterable[str]) -> None:
    """Apply ``--set a.b=c`` assignments; a list item is found by its index or by its only key.

    Raises:
        ConfigError: no ``=``, or a step of the path that is not there.
    """
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name:
            raise ConfigError(f"--set {setting}: write it as key.path=value")
        value = parse_yaml(text, f"--set {setting}").data
        _assign(source, name.split("."), value, setting)


def _assign(source: Source, names: list[str], value: Any, setting: str) -> None:
    at = source.data
    for position, name in enumerate(names[:-1]):
        following = _child(at, name)
        if following is None and isinstance(at, dict) and position:
            following = at[name] = {}
        if following is None:
            raise ConfigError(f"--set {setting}: '{name}' is not in the recipe; {_there(at)}")
        at = following
    if isinstance(at, list) and names[-1].isdigit() and int(names[-1]) < len(at):
        at[int(names[-1])] = value
    elif isinstance(at, dict):
        at[names[-1]] = value
    else:
        raise ConfigError(f"--set {setting}: '{names[-1]}' can't be set there; {_there(at)}")


def _child(at: Any, name: str) -> Any:
    if isinstance(at, dict):
        return at.get(name)
    if isinstance(at, list):
        if name.isdigit() and int(name) < len(at):
            return at[int(name)]
        for index, item in enumerate(at):
            if item == name:
                at[index] = {name: {}}
                return at[index][name]
            if isinstance(item, dict) and name in item:
                if item[name] is None:
                    item[name] = {}
                return item[name]
    return None


def _there(at: Any) -> str:
    if isinstance(at, dict):
        return "there is: " + ", ".join(map(str, at))
    if isinstance(at, list):
        names = [next(iter(item)) if isinstance(item, dict) else str(item) for item in at]
        return "there is: " + ", ".join(names)
    return f"there is only the value {at!r}"


def expand_env(text: str, where: str) -> str:
    """Fill in ``${env:NAME}``.

    Raises:
        ConfigError: the variable is not set.
    """

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if found is None:
            raise ConfigError(f"{where}: environment variable {match[1]} is not set: export it")
        return found

    return _ENV.sub(value, text)
