"""Validation errors as sentences: file, line, key, what was found, what is allowed."""

from __future__ import annotations

from typing import Any, TypeVar, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from vtdata.errors import ConfigError
from vtdata.recipe.source import Path_, Source
from vtdata.text import nearest

T = TypeVar("T")


def explain(source: Source, path: Path_, cls: type[T], data: Any) -> T:
    """Build ``cls`` from the mapping at ``path`` of a recipe.

    Raises:
        ConfigError: one line per mistake.
    """
    if not isinstance(data, dict):
        raise ConfigError(f"{source.where(path)}: expected a mapping, found {data!r}")
    try:
        return cls(**data)
    except ValidationError as error:
        lines = [_sentence(source, path, cls, detail) for detail in error.errors()]
        raise ConfigError("\n".join(lines)) from None


def _sentence(source: Source, path: Path_, cls: type, detail: ErrorDetails) -> str:
    loc = tuple(part for part in detail["loc"] if not _is_branch(part))
    here = (*path, *loc)
    kind, found = detail["type"], detail.get("input")
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        allowed = fields_at(cls, loc[:-1])
        hint = nearest(str(loc[-1]), allowed) or f" allowed: {', '.join(allowed)}"
        return f"{source.where(here)}: unknown key '{loc[-1]}';{hint}"
    if kind in ("missing", "missing_keyword_only_argument", "missing_argument"):
        return f"{source.where(here)}: is missing"
    if kind == "value_error":
        return f"{source.where(here)}: {detail['msg'].removeprefix('Value error, ')}"
    if kind == "string_pattern_mismatch":
        pattern = detail.get("ctx", {}).get("pattern")
        return f"{source.where(here)}: found {_short(found)}, expected text that matches {pattern}"
    message = detail["msg"].removeprefix("Input should be ")
    return f"{source.where(here)}: found {_short(found)}, expected {message}"


def _is_branch(part: str | int) -> bool:
    """Pydantic names the branch of a union in a location; a recipe has no such key."""
    return isinstance(part, str) and (part in ("str", "int", "float", "bool") or "[" in part)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def fields_at(cls: Any, loc: Path_) -> list[str]:
    """Return the keys that are allowed at a place inside ``cls``."""
    for part in loc:
        if isinstance(part, int):
            continue
        fields = _fields(cls)
        if part in fields:
            cls = fields[part].annotation
        cls = next((arg for arg in get_args(cls)[::-1] if _fields(arg)), cls)
    return [field.alias or name for name, field in _fields(cls).items()]


def _fields(cls: Any) -> dict[str, Any]:
    return getattr(cls, "__pydantic_fields__", {}) if isinstance(cls, type) else {}
