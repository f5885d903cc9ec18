"""What a row's cells say: the text of a question, nested or not, a name, and which rows count."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vtdata.decontam.dates import bounds, iso
from vtdata.errors import ConfigError
from vtdata.text import nearest

QUESTION_FIELDS = (
    "problem",
    "question",
    "prompt",
    "question_content",
    "problem_statement",
    "instruction",
    "query",
    "text",
    "input",
    "messages",
    "conversations",
)
"""Where a question is looked for when nobody says it, in this order, in any case (ours)."""

KEY_FIELDS = ("id", "task_id", "question_id", "problem_id", "unique_id", "key", "problem_idx")
"""Where a row's name is looked for, in this order, in any case (ours)."""

_USER = ("user", "human")
_MISSING = object()


def question_field(columns: list[str], where: str) -> str:
    """Return the column that holds the question, by its name.

    Raises:
        ConfigError: no column has such a name, two have the same but for case, or a question
            stands in two columns.
    """
    for name in QUESTION_FIELDS:
        found = [column for column in columns if column.casefold() == name]
        if len(found) > 1:
            raise ConfigError(
                f"{where} has the columns {' and '.join(found)}: say which one holds the question, "
                f"--field {found[0]}"
            )
        if not found:
            continue
        if name == "instruction" and "input" in columns:
            raise ConfigError(
                f"{where} has an instruction and an input, and a question may stand in both: "
                "name one, or both as --field instruction --field input"
            )
        return found[0]
    raise ConfigError(
        f"{where} has no column that is called like a question; name one with --field: its columns "
        f"are {', '.join(columns) or 'none'}"
    )


def key_field(columns: list[str]) -> str | None:
    """Return the column that holds a row's own name, None where none is called so."""
    by_name = {column.casefold(): column for column in reversed(columns)}
    return next((by_name[name] for name in KEY_FIELDS if name in by_name), None)


def pick(row: dict[str, Any], path: str) -> Any:
    """Return a row's cell, or a part of it (``extra_info.question``); KeyError where it isn't."""
    found = row.get(path, _MISSING)
    if found is not _MISSING:
        return found
    head, dot, rest = path.partition(".")
    inner = row.get(head)
    if not dot or not isinstance(inner, dict):
        raise KeyError(path)
    return pick(inner, rest)


def text_of(value: Any, where: str) -> str:
    r"""Return a cell's text as it stands: user turns of a dialogue joined by a blank line.

    >>> text_of([{"role": "system", "content": "s"}, {"role": "user", "content": "q"}], "row 0")
    'q'

    Raises:
        ConfigError: it is neither text, nor a dialogue, nor a list of texts.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and ("content" in value or "text" in value):
        return text_of(value.get("content", value.get("text")), where)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "\n\n".join(value)
    if isinstance(value, list) and all(isinstance(part, dict) for part in value):
        return "\n\n".join(_turns(value, where))
    raise ConfigError(f"{where} holds a {type(value).__name__}, need text or a list of turns")


def _turns(turns: list[dict[str, Any]], where: str) -> Iterable[str]:
    for turn in turns:
        role = turn.get("role", turn.get("from"))
        if role is None and turn.get("type", "text") != "text":  # an image among parts of a turn
            continue
        if role is None or role in _USER:
            content = turn.get("content", turn.get("value", turn.get("text")))
            yield text_of(content, where)


def wanted(row: dict[str, Any], rules: dict[str, Any] | None, where: str) -> bool:
    """Say whether a row is one of those that an entry's ``rows`` names.

    >>> wanted({"task_id": 510}, {"task_id": [11, 510]}, "row 0")
    True

    Raises:
        ConfigError: the row has no such column, or another kind of value in it.
    """
    for column, rule in (rules or {}).items():
        try:
            value = pick(row, column)
        except KeyError:
            raise ConfigError(
                f"{where} has no '{column}', by which rows are chosen;"
                f"{nearest(column, row)} it has {', '.join(row)}"
            ) from None
        if isinstance(rule, list):
            if not _between(value, rule, f"{where}: {column}"):
                return False
        elif value != rule and str(value) != str(rule):
            return False
    return True


def _between(value: Any, span: list[Any], where: str) -> bool:
    first, last = span
    if not isinstance(first, int | float):
        return _within(value, str(first), str(last), where)
    try:
        number = float(value)  # CSV has text alone
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where} is {value!r}, need a number from {span}") from error
    return bool(first <= number <= last)


def _within(value: Any, first: str, last: str, where: str) -> bool:
    if iso(first) is None or iso(last) is None:
        return first <= str(value) <= last
    day = iso(value)  # without its time, by which a last day would end as it begins
    if day is None:
        raise ConfigError(f"{where} is {value!r}, need a date from {first} to {last}")
    return bounds(first)[0] <= bounds(day)[0] and bounds(day)[1] <= bounds(last)[1]
