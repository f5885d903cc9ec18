"""What a client counts, per model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from vtdata.llm.answer import STATES, Answer
from vtdata.llm.ledger import Writer
from vtdata.llm.model import ModelSpec

CHARS_PER_TOKEN = 3
"""For answers without usage: cautious, so that a budget is not overspent (ours)."""


@dataclass(slots=True)
class Stats:
    """Counts of one model in one worker; plain numbers, so that workers can be added up."""

    sent: int = 0
    """Requests that were bought; tries again are in ``retried``, probes in ``preflight``."""
    retried: int = 0
    cached: int = 0
    """Requests that the store answered."""
    states: Counter[str] = field(default_factory=Counter)
    """Of all requests, bought or cached."""
    prompt_tokens: int = 0
    """Bought in this run, as are the next four."""
    completion_tokens: int = 0
    usd: float = 0.0
    usage_missing: int = 0
    """Answers without a token count; estimated for the budget."""
    cut_by_context: int = 0
    """Truncated before ``max_tokens``: the context was full."""
    turned_away: int = 0
    """Answers 429."""
    unknown_finish: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    """Kinds of failed tries."""

    def as_dict(self) -> dict[str, Any]:
        return {
            name: dict(value) if isinstance(value := getattr(self, name), Counter) else value
            for name in self.__slots__
        }

    def book(
        self, answer: Answer, spec: ModelSpec, writer: Writer, prompt_chars: int, max_tokens: int
    ) -> None:
        """Count what an answer cost, here and in the run's ledger."""
        prompt, completion = answer.prompt_tokens, answer.completion_tokens
        if prompt is None or completion is None:
            self.usage_missing += 1
            said = len(answer.content or "") + len(answer.reasoning or "")
            prompt = -(-prompt_chars // CHARS_PER_TOKEN) if prompt is None else prompt
            completion = -(-said // CHARS_PER_TOKEN) if completion is None else completion
        usd = dollars(spec, prompt, completion)
        writer.spend(usd=usd, prompt_tokens=prompt, completion_tokens=completion)
        self.prompt_tokens += prompt
        self.completion_tokens += completion
        self.usd += usd
        if answer.finish_reason not in STATES:
            self.unknown_finish[answer.finish_reason] += 1
        if answer.finish_reason == "length" and completion < max_tokens:
            self.cut_by_context += 1


def dollars(spec: ModelSpec, prompt_tokens: float, completion_tokens: float) -> float:
    """What tokens cost; 0 where the model has no price."""
    if spec.price is None:
        return 0.0
    return (spec.price.input * prompt_tokens + spec.price.output * completion_tokens) / 1e6
