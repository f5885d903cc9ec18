"""The rows of a JSON Lines file of cases, read strictly: what is malformed says where and why."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vtdata.errors import ConfigError

Id = str | int | float | bool | None
Line = tuple[int, bytes]
"""The number of a line, from 1, and what stands in it."""
_SHOWN = 60


def read_lines(path: Path, example: str) -> Iterator[Line]:
    """Yield the lines of a file that are not blank.

    Args:
        path: the file.
        example: a line as it should be, for errors.

    Raises:
        ConfigError: the file can't be read.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line
    except OSError as error:
        found = "a folder" if path.is_dir() else error.strerror or "unreadable"
        found = "not there" if isinstance(error, FileNotFoundError) else found
        raise ConfigError(
            f"{path} is {found}: give a JSON Lines file with lines such as {example}"
        ) from error


def must_be_a_file(path: Path) -> None:
    """Refuse a pipe: cases are read twice, so that no work starts on a bad one.

    Raises:
        ConfigError: it is a pipe or a device.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ConfigError(f"{path} is a pipe or device, and cases are read twice: give a file")


def row_of(line: bytes, where: str, example: str) -> dict[str, Any]:
    """Read a line as an object in which no key stands twice.

    Args:
        line: its bytes.
        where: what an error calls it.
        example: a line as it should be, for errors.

    Raises:
        ConfigError: it is none.
    """
    try:
        row = _DECODER.decode(line.decode("utf-8-sig").strip())
    except UnicodeDecodeError as error:
        raise ConfigError(f"{where}: {error.reason} at byte {error.start}: write UTF-8") from error
    except _Twice as error:
        raise ConfigError(f"{where}: {error} stands there twice: write it once") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{where}: no JSON ({error}) in {shown(line.decode(errors='replace').strip())}: "
            f"write one object a line, {example}"
        ) from error
    if not isinstance(row, dict):
        raise ConfigError(f"{where}: {found(row)}: write one object a line, {example}")
    return row


def must_have(row: dict[str, Any], names: tuple[str, ...], where: str, example: str) -> None:
    """Refuse a row without these keys.

    Raises:
        ConfigError: one is missing.
    """
    missing = [name for name in names if name not in row]
    if missing:
        raise ConfigError(
            f"{where}: no {', '.join(map(repr, missing))} among {shown(', '.join(row))}: "
            f"write {example}"
        )


def id_of(value: Any, where: str) -> Id:
    """A case's id: any JSON value but an object, a list or infinity."""
    if isinstance(value, (dict, list)) or value in (float("inf"), float("-inf")):
        raise ConfigError(
            f"{where}: 'id' is {found(value)}: write a text, a finite number, true, false or null"
        )
    return value


def text_of(value: Any, name: str, where: str) -> str:
    """A value that must be a text."""
    if isinstance(value, str):
        return value
    way_out = "write a text"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        way_out = f'write it as it was spelled, in quotes: "{value}"'
    raise ConfigError(f"{where}: '{name}' is {found(value)}: {way_out}")


def one_of(value: Any, name: str, allowed: tuple[Any, ...], where: str) -> Any:
    """A value that must be one of a few."""
    if any(value is one or (isinstance(one, str) and value == one) for one in allowed):
        return value
    words = " or ".join(json.dumps(one) for one in allowed if one is not None)
    raise ConfigError(f"{where}: '{name}' is {found(value)}: write {words}, or leave it out")


def found(value: Any) -> str:
    """What a value is, and its beginning."""
    kind = {dict: "an object", list: "a list", str: "a text", bool: "a truth value"}
    word = "null" if value is None else kind.get(type(value), "a number")
    return word if value is None else f"{word}, {shown(json.dumps(value, ensure_ascii=False))}"


def shown(text: str) -> str:
    """The beginning of a text.

    >>> shown("short"), len(shown("x" * 100))
    ('short', 63)
    """
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


class _Twice(ValueError):
    """A key that an object has twice: which of the two counts is nobody's to guess."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Twice(repr(shown(next(name for name in row if names.count(name) > 1))))
    return row


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_once)
