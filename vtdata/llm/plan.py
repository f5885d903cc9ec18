"""What a run would ask and what that would cost, without sending anything."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from vtdata.llm.ledger import Budget
from vtdata.llm.model import ModelSpec
from vtdata.llm.stats import dollars
from vtdata.llm.store import Store
from vtdata.llm.wire import Wire, wire_for, wires_of
from vtdata.steps import Request

PROMPT_CHARS_PER_TOKEN = 3.5
"""Characters of English prose and mathematics per token (ours; a rough one, and said so)."""
SAMPLE = 2000
"""Stored answers that are looked at for the mean length (ours)."""
_TOGETHER = 512


@dataclass(slots=True)
class ModelPlan:
    """What one model would be asked."""

    name: str
    model: str
    requests: int = 0
    """Different requests; two that are the same are one."""
    stored: int = 0
    """Of these, answered by the store."""
    prompt_tokens: int = 0
    """Of those to send, estimated from their characters."""
    most_completion_tokens: int = 0
    """Of those to send, if each answer is as long as max_tokens allows."""
    mean_completion_tokens: float | None = None
    """Of the answers that the store holds of this model; None where it holds none."""
    usd_most: float | None = None
    """None where the model has no price."""
    usd_expected: float | None = None
    """None where there is no price, or no stored answer to tell the length."""

    @property
    def to_send(self) -> int:
        return self.requests - self.stored


@dataclass(slots=True)
class Plan:
    """The whole dry run."""

    models: list[ModelPlan] = field(default_factory=list)
    budget: Budget = field(default_factory=Budget)

    @property
    def to_send(self) -> int:
        return sum(model.to_send for model in self.models)

    def lines(self) -> list[str]:
        """What a person reads, one line per model."""
        return [_line(model) for model in self.models]


def estimate(
    requests: Iterable[Request],
    models: Mapping[str, ModelSpec],
    store: Store | None,
    *,
    revisions: Mapping[str, str] | None = None,
    budget: Budget | None = None,
) -> Plan:
    """Count requests, tokens and dollars per model.

    Prompt tokens are estimated from characters. Completion tokens are bounded by ``max_tokens``;
    what is expected is the mean of the model's answers in the store, if there are any.

    Reads the store. Memory: the keys of all requests, 32 bytes each.

    Args:
        requests: what the steps would surely ask.
        models: the recipe's entries.
        store: open for reading; None where there is none yet.
        revisions: of the models whose entries have none.
        budget: carried along for the report.

    Raises:
        ConfigError: a request names no model of the recipe.
    """
    wires = wires_of(models, revisions)
    plans = {name: ModelPlan(name, spec.model) for name, spec in models.items()}
    seen: set[bytes] = set()
    waiting: dict[int, dict[str, Request]] = defaultdict(dict)
    for request in requests:
        wire = wire_for(wires, request)
        key = wire.key(request)
        if (raw := bytes.fromhex(key)) in seen:
            continue
        seen.add(raw)
        plans[request.model].requests += 1
        group = waiting[request.bucket]
        group[key] = request
        if len(group) >= _TOGETHER:
            _look_up(waiting.pop(request.bucket), store, wires, plans, request.bucket)
    for bucket, group in waiting.items():
        _look_up(group, store, wires, plans, bucket)
    _price(plans, wires, store)
    return Plan([plan for plan in plans.values() if plan.requests], budget or Budget())


def _look_up(
    group: dict[str, Request],
    store: Store | None,
    wires: dict[str, Wire],
    plans: dict[str, ModelPlan],
    bucket: int,
) -> None:
    stored = store.peek(bucket, group) if store else set()
    for key, request in group.items():
        plan = plans[request.model]
        if key in stored:
            plan.stored += 1
            continue
        chars = sum(len(turn.content) for turn in request.messages)
        plan.prompt_tokens += round(chars / PROMPT_CHARS_PER_TOKEN)
        plan.most_completion_tokens += wires[request.model].max_tokens(request)


def _price(plans: dict[str, ModelPlan], wires: dict[str, Wire], store: Store | None) -> None:
    lengths = _stored_lengths(store) if store else {}
    for name, plan in plans.items():
        wire = wires[name]
        found = lengths.get((wire.spec.model, wire.revision))
        if found:
            plan.mean_completion_tokens = sum(found) / len(found)
        if wire.spec.price is None:
            continue
        plan.usd_most = dollars(wire.spec, plan.prompt_tokens, plan.most_completion_tokens)
        if plan.mean_completion_tokens is not None:
            expected = plan.mean_completion_tokens * plan.to_send
            plan.usd_expected = dollars(wire.spec, plan.prompt_tokens, expected)


def _stored_lengths(store: Store) -> dict[tuple[str, str], list[int]]:
    """Completion tokens of some stored answers, by model and revision."""
    lengths: dict[tuple[str, str], list[int]] = defaultdict(list)
    for payload in store.some(SAMPLE):
        answer: dict[str, Any] = json.loads(payload)
        if isinstance(count := answer.get("completion_tokens"), int):
            lengths[answer["model"], answer["revision"]].append(count)
    return lengths


def _line(plan: ModelPlan) -> str:
    text = (
        f"{plan.name} ({plan.model}): {plan.requests} requests, {plan.stored} in the store, "
        f"{plan.to_send} to send; about {plan.prompt_tokens} prompt tokens (from characters), "
        f"at most {plan.most_completion_tokens} completion tokens"
    )
    if plan.mean_completion_tokens is not None:
        expected = round(plan.mean_completion_tokens * plan.to_send)
        text += f", about {expected} by the mean of the stored answers"
    if plan.usd_most is not None:
        text += f"; at most {plan.usd_most:.2f} USD"
    if plan.usd_expected is not None:
        text += f", about {plan.usd_expected:.2f}"
    return text
