"""What an answer means: its state, and which part of it was thought and which was said.

The store keeps what the server sent; the meaning is worked out anew each time it is read, so a
better reading needs no new purchase.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from vtdata.errors import InfraError

STATES = {
    "stop": "ok",
    "length": "truncated",
    "repetition": "looped",
    "content_filter": "refused",
}
"""By finish_reason; any other is ``failed``, and shown."""
FINAL = frozenset({"ok", "truncated", "looped", "empty", "refused"})
"""States that are stored for good; ``failed`` is tried again by the next run."""
REFUSED = "http_4"
"""How the finish_reason of a request begins that the server would not have."""
_encode = json.JSONEncoder(separators=(",", ":")).encode
OPENER, CLOSER = "<think>", "</think>"


class Unread(InfraError):
    """What came back can't be read as a chat completion."""


@dataclass(slots=True)
class Answer:
    """What came back, as it came back. This is what the store holds."""

    finish_reason: str
    content: str | None = None
    reasoning: str | None = None
    """From a field of its own."""
    refusal: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    served: str | None = None
    """The model that the server says has answered."""
    fingerprint: str | None = None
    """The server's system_fingerprint."""
    error: str | None = None

    def to_bytes(self, model: str, revision: str) -> bytes:
        """JSON without what is empty, with the model that was asked for."""
        kept: dict[str, Any] = {"model": model, "revision": revision}
        for name in self.__slots__:
            if (value := getattr(self, name)) is not None:
                kept[name] = value
        return _encode(kept).encode()

    @classmethod
    def from_bytes(cls, raw: bytes) -> Answer:
        kept = json.loads(raw)
        del kept["model"], kept["revision"]
        return cls(**kept)


@dataclass(frozen=True, slots=True)
class Reading:
    """The meaning of an answer."""

    state: str
    reasoning: str | None
    content: str | None
    think_source: str


def read(answer: Answer) -> Reading:
    r"""Work out state, reasoning and content.

    >>> read(Answer("stop", "<think>2+2</think>\n4"))
    Reading(state='ok', reasoning='2+2', content='4', think_source='tags')
    >>> read(Answer("stop", "2+2</think>4")).think_source
    'closer'
    >>> read(Answer("length", "<think>two and"))
    Reading(state='truncated', reasoning='two and', content=None, think_source='tags')
    """
    reasoning, content, source = _split(answer.content, answer.reasoning)
    state = STATES.get(answer.finish_reason, "failed")
    if answer.refusal and state == "ok":
        state = "refused"
    if answer.error is not None:
        state = "refused" if answer.finish_reason.startswith(REFUSED) else "failed"
    if state == "ok" and not (content and content.strip()):
        state = "empty"
    return Reading(state, reasoning, content, source)


def _split(content: str | None, field: str | None) -> tuple[str | None, str | None, str]:
    """Thought, answer, and where the thought stood."""
    if field and field.strip():
        rest = (content or "").lstrip()
        return field, rest.removeprefix(CLOSER).lstrip() if rest[:8] == CLOSER else content, "field"
    if content is None:
        return None, None, "none"
    start = content.lstrip()
    opened = start.startswith(OPENER)
    thought, closer, said = start.removeprefix(OPENER).rpartition(CLOSER)
    if closer:
        return thought.strip(), said.strip(), "tags" if opened else "closer"
    if opened:  # an unfinished thought is no answer
        return start.removeprefix(OPENER).strip(), None, "tags"
    return None, content, "none"


def from_json(data: Any) -> Answer:
    """Read a chat completion, with whatever a server adds to it or leaves out.

    Raises:
        Unread: it is not a chat completion, or it has no finish_reason.
    """
    choice = _first_choice(data)
    message = choice.get("message") or {}
    finish = choice.get("finish_reason")
    if not isinstance(message, dict) or not finish:
        raise Unread(f"the answer has no message or finish_reason: {_show(data)}")
    content, thought = _text(message.get("content"))
    usage = data.get("usage") or {}
    return Answer(
        finish_reason=str(finish),
        content=content,
        reasoning=_str(message.get("reasoning_content"))
        or _str(message.get("reasoning"))
        or thought,
        refusal=_str(message.get("refusal")),
        prompt_tokens=_count(usage, "prompt_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
        served=_str(data.get("model")),
        fingerprint=_str(data.get("system_fingerprint")),
    )


class Stream:
    """Puts the pieces of a streamed completion together into one that was sent whole."""

    def __init__(self) -> None:
        self._parts: dict[str, list[str]] = {}
        self._top: dict[str, Any] = {}
        self._finish: str | None = None

    def feed(self, line: bytes) -> None:
        """Take one line of the event stream.

        Raises:
            Unread: the server sent an error, or something that isn't JSON.
        """
        if not line.startswith(b"data:"):
            return  # a comment that keeps the connection awake, or an event's name
        raw = line[5:].strip()
        if raw in (b"", b"[DONE]"):
            return
        data = parse_json(raw)
        if not isinstance(data, dict) or data.get("error"):
            raise Unread(f"the stream broke off: {_show(data)}")
        self._top |= {k: v for k, v in data.items() if v is not None and k != "choices"}
        for choice in data.get("choices") or []:
            for name, text in (choice.get("delta") or {}).items():
                if isinstance(text, str) and name != "role":
                    self._parts.setdefault(name, []).append(text)
            self._finish = choice.get("finish_reason") or self._finish

    def whole(self) -> dict[str, Any]:
        """The completion; without a finish_reason the connection was lost half way."""
        message = {name: "".join(parts) for name, parts in self._parts.items()}
        choice = {"message": message, "finish_reason": self._finish}
        return {**self._top, "choices": [choice]}


def parse_json(raw: bytes) -> Any:
    """Read JSON that a server sent.

    Raises:
        Unread: it is something else.
    """
    try:
        return json.loads(raw)
    except ValueError as error:
        raise Unread(f"the answer is not JSON ({error}): {raw[:200]!r}") from error


def _first_choice(data: Any) -> dict[str, Any]:
    choices = data.get("choices") if isinstance(data, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Unread(f"the answer has no choices: {_show(data)}")
    return choices[0]


def _text(content: Any) -> tuple[str | None, str | None]:
    """Text and thought of a content, which some servers send as a list of parts."""
    if not isinstance(content, list):
        return _str(content), None
    parts = [part for part in content if isinstance(part, dict)]
    said = "".join(p["text"] for p in parts if isinstance(p.get("text"), str))
    thought = "".join(p["thinking"] for p in parts if isinstance(p.get("thinking"), str))
    return said, thought or None


def _str(value: Any) -> str | None:
    """Text that UTF-8 can hold: half of a surrogate pair, as JSON can have it, is replaced."""
    if not isinstance(value, str):
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def _count(usage: Any, name: str) -> int | None:
    value = usage.get(name) if isinstance(usage, dict) else None
    return int(value) if isinstance(value, int | float) and value >= 0 else None


def _show(data: Any) -> str:
    return json.dumps(data)[:300]
