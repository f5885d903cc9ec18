"""What is found out about a server before the first real request goes to it.

Which model it says it is, how long its context is, and which parameters it ignores: a server that
ignores the seed answers eight samples with one, and nothing else would tell.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from vtdata.errors import ConfigError, InfraError
from vtdata.llm.answer import Answer, read
from vtdata.llm.transport import Refusal
from vtdata.llm.wire import Wire
from vtdata.records import Turn
from vtdata.steps import Request

PROBE_TOKENS = 16
"""Length of a probe's answer (ours)."""
_PROMPT = (Turn("user", "Write a long list of unusual animals and colors, one word each."),)
_LONGEST_TOKEN = 16
"""Characters: an answer of more than this per token allowed was not cut (ours)."""

Send = Callable[[dict[str, Any]], Awaitable[Answer]]


@dataclass(slots=True)
class Findings:
    """What a preflight found. Each parameter is ``honored``, ``ignored`` or ``unclear``."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    served: str | None = None
    root: str | None = None
    context: int | None = None
    seed: str = "unclear"
    temperature: str = "unclear"
    stop: str = "unclear"
    max_tokens: str = "unclear"
    notes: list[str] = field(default_factory=list)

    def count(self, answer: Answer) -> None:
        self.served = self.served or answer.served
        self.prompt_tokens += answer.prompt_tokens or 0
        self.completion_tokens += answer.completion_tokens or 0


@dataclass(slots=True)
class Known:
    """What is known of a model's servers. A worker that makes one client after the other hands it
    on, so that each is asked once and a change between two clients is seen.
    """

    findings: Findings | None = None
    served: dict[str, str] = field(default_factory=dict)
    """The model that answers, under one key for all endpoints."""
    roots: dict[str, str] = field(default_factory=dict)
    """By endpoint, as the next."""
    fingerprints: dict[str, str] = field(default_factory=dict)


def identity_of(listing: Any, model: str) -> dict[str, Any] | None:
    """The model's entry in what GET /models says; None where it isn't there."""
    entries = listing.get("data") if isinstance(listing, dict) else None
    found = [e for e in entries or [] if isinstance(e, dict) and e.get("id") == model]
    return found[0] if found else None


def note_identity(findings: Findings, listing: Any, wire: Wire) -> None:
    """Keep what the listing says about the model.

    Raises:
        ConfigError: a response as long as ``max_tokens`` can't fit the served context.
    """
    entry = identity_of(listing, wire.spec.model)
    if entry is None:
        what = "has no GET /v1/models" if listing is None else "does not list the model"
        findings.notes.append(f"the server {what}: its identity and context are not known")
        return
    findings.root = entry.get("root") if isinstance(entry.get("root"), str) else None
    context = entry.get("max_model_len") or entry.get("context_length")
    findings.context = context if isinstance(context, int) else None
    if isinstance(limit := entry.get("max_model_len"), int) and wire.spec.max_tokens >= limit:
        raise ConfigError(
            f"model '{wire.name}': max_tokens={wire.spec.max_tokens} leaves no room for a prompt "
            f"in the served context of {limit} tokens: the server would refuse every request; "
            f"lower max_tokens or serve with a longer context"
        )


async def probe(findings: Findings, wire: Wire, send: Send) -> None:
    """Find out what the server ignores, in six calls of 16 tokens.

    Raises:
        ConfigError: the server refuses the form of our requests, so it would refuse them all.
    """

    async def ask(seed: int, temperature: float, stop: tuple[str, ...] = ()) -> Answer:
        changes = {"temperature": temperature, "max_tokens": PROBE_TOKENS, "top_p": 1.0}
        request = Request(
            wire.name, _PROMPT, seed, 0, tuple(sorted({**changes, "stop": list(stop)}.items()))
        )
        findings.calls += 1
        answer = await send(wire.body(request))
        findings.count(answer)
        return answer

    try:
        first, again, other, cold, colder = await asyncio.gather(
            ask(1, 1.0), ask(1, 1.0), ask(2, 1.0), ask(3, 0.0), ask(4, 0.0)
        )
        _judge(findings, first, again, other, cold, colder)
        if word := _middle_word(_text(cold)):
            stopped = await ask(3, 0.0, (word,))
            findings.stop = "ignored" if word in _text(stopped) else "honored"
    except Refusal as error:
        raise ConfigError(
            f"{error.message}: it refuses the form of our requests, so it would refuse them all; "
            "a parameter that it doesn't know is left out by extra_body: {NAME: null}"
        ) from None
    except InfraError as error:
        findings.notes.append(f"what the server ignores is not known: {error}")


def _judge(
    findings: Findings, first: Answer, again: Answer, other: Answer, cold: Answer, colder: Answer
) -> None:
    one, same, new = _text(first), _text(again), _text(other)
    if one and same and new:
        findings.seed = "honored" if one == same != new else "ignored"
    if _text(cold) and one:
        findings.temperature = "honored" if _text(cold) == _text(colder) else "ignored"
    longest = max(len(_text(a)) for a in (first, again, other, cold, colder))
    counted = max(a.completion_tokens or 0 for a in (first, again, other, cold, colder))
    over = counted > PROBE_TOKENS or longest > PROBE_TOKENS * _LONGEST_TOKEN
    if longest:
        findings.max_tokens = "ignored" if over else "honored"


def _text(answer: Answer) -> str:
    found = read(answer)
    return (found.reasoning or "") + (found.content or "")


def _middle_word(text: str) -> str | None:
    """A word that the answer surely holds, but does not begin with."""
    words = [word for word in text.split()[1:] if len(word) > 2]
    return words[len(words) // 2] if words else None
