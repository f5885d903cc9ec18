"""Which of a file's columns is which of ours: declared, checked before the first row, looked up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from vtdata.errors import ConfigError
from vtdata.text import nearest

MISSING = object()
"""What ``lookup`` returns where a row has no such column."""


class Columns(BaseModel):
    """The mapping from our fields to the names of a source's columns.

    A dotted path goes into nested columns (``extra_info.answer``); a column whose own name has
    dots is found first. A trailing ``?`` says that only some rows have the column.
    """

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True
    )

    question: str | None = None
    """Text of the question; this or ``messages``."""
    messages: str | None = None
    """A chat: a list of ``{role, content}`` or ``{from, value}``. What follows the last user turn
    is a response; it counts as the solution if no other is mapped."""
    answer: str | None = None
    """The reference answer, text or number."""
    solution: str | None = None
    """A solving rationale; its final answer is taken where a row has no ``answer``."""
    options: str | list[str] | None = None
    """The options of a choice question: one column with a list, a ``{label: text}`` or a ``{label:
    [...], text: [...]}``, or one column per option."""
    domain: str | None = None
    """math, code, science ...; a row without it gets the source's."""
    subdomain: str | None = None
    """Topic within the domain."""
    date: str | None = None
    """When the question was published: ``YYYY``, ``YYYY-MM``, ``YYYY-MM-DD`` or a timestamp."""
    license: str | None = None
    """License of the row, instead of one for the source."""
    starter_code: str | None = None
    """Code that the answer has to go on from; goes into the spec and the id."""
    verifier: str | None = None
    """Kind of verifier per row, instead of one for the source."""
    spec: str | None = None
    """What the verifier needs, a JSON object or a nested column; tests, constraints, a rubric."""
    id_in_source: str | None = None
    """The source's own id of a row; shown in the origin."""

    def paths(self) -> list[str]:
        """Return every mapped path, as written, in the order of the fields."""
        found: list[str] = []
        for name in type(self).model_fields:
            value = getattr(self, name)
            found += value if isinstance(value, list) else [value] if value else []
        return found


def split(path: str) -> tuple[str, bool]:
    """Return a path without its ``?``, and whether it must be there.

    >>> split("meta.date?"), split("question")
    (('meta.date', False), ('question', True))
    """
    return (path[:-1], False) if path.endswith("?") else (path, True)


def lookup(row: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path, or MISSING.

    >>> lookup({"a": {"b": 1}, "c.d": 2}, "a.b"), lookup({"c.d": 2}, "c.d?")
    (1, 2)
    >>> lookup({"a": None}, "a.b") is MISSING
    True
    """
    name, _ = split(path)
    if name in row:
        return row[name]
    head, dot, rest = name.partition(".")
    inner = row.get(head) if dot else None
    return lookup(inner, rest) if isinstance(inner, Mapping) else MISSING


def all_paths(row: Mapping[str, Any], below: str = "") -> set[str]:
    """Return the path of every column of a row, nested ones too.

    >>> sorted(all_paths({"a": {"b": 1}, "c": [2]}))
    ['a', 'a.b', 'c']
    """
    found: set[str] = set()
    for name, value in row.items():
        found.add(f"{below}{name}")
        if isinstance(value, Mapping):
            found |= all_paths(value, f"{below}{name}.")
    return found


def require(columns: Columns, there: Iterable[str], shown: str, hint: str = "") -> None:
    """Check that every mapped column is among those that are there.

    Args:
        columns: the declared mapping.
        there: every path that can be looked up.
        shown: the file's name.
        hint: what the reader should know about how ``there`` was found.

    Raises:
        ConfigError: one isn't, with the file, what is there and the nearest spelling.
    """
    names = sorted(set(there))
    for path in columns.paths():
        name, needed = split(path)
        if needed and name not in names:
            raise ConfigError(
                f"{shown} has no column '{name}':{nearest(name, names)} it has "
                f"{', '.join(names) or 'none'}{hint}"
            )


def top_level(columns: Columns, there: Iterable[str]) -> list[str]:
    """Return the outermost columns that the mapping reads, for readers that can skip others.

    >>> top_level(Columns(question="q", answer="info.answer"), ["q", "info", "text"])
    ['q', 'info']
    """
    names = set(there)
    wanted = (split(path)[0] for path in columns.paths())
    outer = [name if name in names else name.partition(".")[0] for name in wanted]
    return [name for name in dict.fromkeys(outer) if name in names]
