"""Values of a source's columns as ours: text, dates, options, chats. What doesn't fit is DataError.

The reasons are those of a row: ``wrong_type``, ``bad_encoding``, ``bad_options``.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from vtdata.corpora.columns import MISSING
from vtdata.errors import DataError
from vtdata.records import Turn
from vtdata.text import collapse

AnswerFormat = Literal["letter", "index", "number", "text"]

_DATE = re.compile(r"\d{4}(-\d\d(-\d\d([T ].*)?)?)?")
_LABEL_MARKS = re.compile(r"\\text(?:bf)?\{([^{}]*)\}")
_ROLES = {"human": "user", "gpt": "assistant", "user": "user", "assistant": "assistant"}
_ROLES |= {"system": "system"}
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SHOWN_CHARS = 80


class Literally(float):
    """A JSON number that remembers how it was written: 0.10000000000000000555 isn't 0.1."""

    def __new__(cls, written: str) -> Literally:
        made = super().__new__(cls, written)
        made.written = written
        return made

    written: str


def shown(value: object) -> str:
    """Return a value for a message, cut where it is long.

    >>> shown("x" * 100) == "'" + "x" * 79 + "..."
    True
    """
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "..."


def text_of(value: Any, name: str) -> str | None:
    """Return a text or number as text, None for what is null, missing or blank.

    >>> text_of(42.0, "answer"), text_of(Literally("0.10"), "answer"), text_of(" ", "answer")
    ('42', '0.10', None)
    """
    if value is None or value is MISSING:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise DataError("wrong_type", f"{name} is {shown(value)}, need text or a number")
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))  # an integer column with a null in it reads as floats
    text = value.written if isinstance(value, Literally) else str(value)
    if isinstance(value, str):
        _encodable(text, name)
    elif not any(c.isdigit() for c in text):
        raise DataError("wrong_type", f"{name} is {text}, which is no number")
    return text if text.strip() else None


def _encodable(text: str, name: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:  # half of a surrogate pair, as in "\ud83d"
        raise DataError("bad_encoding", f"{name} can't be UTF-8 at {error.start}") from error


def only_text(value: Any, name: str) -> str | None:
    """Like ``text_of``, and a number is a wrong type."""
    if value is None or value is MISSING:
        return None
    if not isinstance(value, str):
        raise DataError("wrong_type", f"{name} is {shown(value)}, need text")
    return text_of(value, name)


def answer_of(value: Any) -> str | None:
    """Return an answer as text; a list of one is that one."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return text_of(value, "answer")


def date_of(value: Any) -> str | None:
    """Return a date so that the earlier one sorts first.

    >>> date_of(2024), date_of("2024-05-01"), date_of(datetime.date(2024, 5, 1))
    ('2024', '2024-05-01', '2024-05-01')
    """
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    text = text_of(value, "date")
    if text is not None and not _DATE.fullmatch(text):
        raise DataError("wrong_type", f"date is {shown(text)}, need YYYY, YYYY-MM or YYYY-MM-DD")
    return text


def from_json(value: Any, name: str) -> Any:
    """Return nested data; text that should be nested is read as JSON (CSV cells, many datasets)."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except (ValueError, RecursionError) as error:
        raise DataError("wrong_type", f"{name} is {shown(value)}, which isn't JSON") from error


def parse_json(text: str) -> Any:
    """Read strict JSON: NaN is an error, and a number keeps how it was written."""
    return _STRICT.decode(text)


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} isn't JSON")


_STRICT = json.JSONDecoder(parse_float=Literally, parse_constant=_no_constant)


def spec_of(value: Any, starter_code: str | None) -> str:
    """Return a verifier's spec as JSON text, with the starter code in it."""
    if value in (None, MISSING, "") and starter_code is None:
        return "{}"
    found = from_json(None if value in (MISSING, "") else value, "spec")
    if found is not None and not isinstance(found, Mapping):
        raise DataError("wrong_type", f"spec is {shown(found)}, need an object")
    if isinstance(value, str) and starter_code is None:
        _encodable(value, "spec")
        return value  # as written, with every digit
    whole = dict(found or {}) | ({} if starter_code is None else {"starter_code": starter_code})
    try:
        text = json.dumps(whole, ensure_ascii=False, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise DataError("wrong_type", f"spec can't be JSON: {error}") from error
    _encodable(text, "spec")
    return text


def chat_of(value: Any) -> tuple[list[Turn], str | None]:
    """Return the turns up to the last of the user, and the response that follows, if any."""
    found = from_json(value, "messages")
    if not isinstance(found, list):
        raise DataError("wrong_type", f"messages is {shown(found)}, need a list of turns")
    turns = [_turn(item) for item in found]
    users = [at for at, turn in enumerate(turns) if turn.role == "user"]
    if not users:
        return [], None
    after = turns[users[-1] + 1 :]
    return turns[: users[-1] + 1], after[-1].content if after else None


def _turn(item: Any) -> Turn:
    if not isinstance(item, Mapping):
        raise DataError("wrong_type", f"a message is {shown(item)}, need role and content")
    said = item.get("role", item.get("from"))
    role = _ROLES.get(said) if isinstance(said, str) else None
    if role is None:
        raise DataError("wrong_type", f"a message's role is {shown(said)}, need one of {[*_ROLES]}")
    content = item.get("content", item.get("value"))
    if isinstance(content, list):
        content = "".join(_part(part) for part in content)
    return Turn(role, only_text(content, "a message's content") or "")


def _part(part: Any) -> str:
    if isinstance(part, Mapping) and part.get("type") == "text":
        return only_text(part.get("text"), "a message's text") or ""
    raise DataError("wrong_type", f"a part of a message is {shown(part)}, need text")


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a choice question, and the labels its source gives them."""

    labels: list[str]
    texts: list[str]

    def letter(self, answer: str, form: AnswerFormat) -> str:
        r"""Return the letter of the option that ``answer`` names; the first option is A.

        >>> Options(["1", "2"], ["red", "blue"]).letter("(2)", "letter")
        'B'
        """
        if form == "text":
            hits = [i for i, text in enumerate(self.texts) if collapse(text) == collapse(answer)]
        elif form == "letter":
            bare = _LABEL_MARKS.sub(r"\1", answer).strip(" ()[].:$*\n\t").casefold()
            hits = [i for i, label in enumerate(self.labels) if label.casefold() == bare]
        else:
            at = int(answer) - (form == "number") if re.fullmatch(r"[0-9]{1,9}", answer) else -1
            hits = [at] if 0 <= at < len(self.texts) else []
        if len(hits) != 1:
            allowed = ", ".join(self.labels) if form == "letter" else f"{len(self.texts)} options"
            raise DataError(
                "bad_options", f"answer {shown(answer)} as a {form} is not one of {allowed}"
            )
        return _LETTERS[hits[0]]


def options_of(value: Any) -> Options:
    """Return the options: a list, a ``{label: text}``, or a ``{label: [...], text: [...]}``."""
    found = from_json(value, "options")
    if found is None or found is MISSING:
        return Options([], [])
    labels: list[Any] | None = None
    if isinstance(found, Mapping):
        if isinstance(found.get("text"), list) and isinstance(found.get("label"), list):
            labels, found = found["label"], found["text"]
        else:  # a struct column has every label, null where a row has fewer options
            held = {label: text for label, text in found.items() if text is not None}
            labels, found = list(held), list(held.values())
    if not isinstance(found, list) or len(found) > len(_LETTERS):
        raise DataError("wrong_type", f"options is {shown(found)}, need a list of at most 26")
    texts = [text_of(item, "an option") or "" for item in found]
    names = list(_LETTERS[: len(texts)]) if labels is None else [str(x) for x in labels]
    if len(names) != len(texts):
        raise DataError("wrong_type", f"options have {len(names)} labels and {len(texts)} texts")
    return Options(names, texts)
