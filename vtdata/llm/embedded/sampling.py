"""Pick the next token of every row of a batch, each by its own rules and its own generator.

B rows, V tokens in the vocabulary. Order as in vLLM: repetition penalty, temperature, min_p,
top_k, top_p.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import Tensor

_HEAD = 256
"""Most likely tokens that are sorted at first; a nucleus that is wider sorts the whole row."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How one response is drawn."""

    max_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = -1
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False
    logprobs: int | None = None
    """Alternatives to report beside each token's log probability; None reports nothing."""
    prompt_logprobs: int | None = None
    """The same for the prompt's tokens."""


class Draw:
    """One row's rules, generator, and the tokens that its repetition penalty looks at."""

    def __init__(self, sampling: Sampling, seed: int, prompt: list[int]) -> None:
        self.sampling = sampling
        self.random = random.Random(seed)
        self.seen = set(prompt) if sampling.repetition_penalty != 1.0 else set()


def pick(logits_BV: Tensor, rows: list[Draw]) -> list[int]:  # noqa: N803
    """Return one token per row.

    A row's token depends on its own logits, rules and generator alone, never on its neighbors.

    Args:
        logits_BV: float32 (B, V), left as they are.
        rows: B of them.
    """
    logits = _penalized(logits_BV, rows)
    tokens = logits.argmax(-1).tolist()
    drawn = [i for i, row in enumerate(rows) if row.sampling.temperature > 0]
    if drawn:
        chosen = _draw(
            logits if len(drawn) == len(rows) else logits[drawn], [rows[i] for i in drawn]
        )
        for i, token in zip(drawn, chosen, strict=True):
            tokens[i] = token
    for row, token in zip(rows, tokens, strict=True):
        if row.sampling.repetition_penalty != 1.0:
            row.seen.add(token)
    return tokens


def _penalized(logits: Tensor, rows: list[Draw]) -> Tensor:
    if not any(row.seen for row in rows):
        return logits
    logits = logits.clone()
    for line, row in zip(logits, rows, strict=True):
        if row.seen:
            at = torch.tensor(sorted(row.seen))
            penalty = row.sampling.repetition_penalty
            line[at] = torch.where(line[at] > 0, line[at] / penalty, line[at] * penalty)
    return logits


def _draw(logits: Tensor, rows: list[Draw]) -> list[int]:
    heat = torch.tensor([[row.sampling.temperature] for row in rows])
    probs = torch.softmax(logits / heat, dim=-1)
    floor = _floors(probs, [row.sampling for row in rows])
    if floor is not None:
        probs = torch.where(probs < floor[:, None], 0.0, probs)
    cdf = probs.cumsum(-1)
    draws = torch.tensor([row.random.random() for row in rows])
    # a draw that rounds to 1 must still fall below the total
    target = torch.minimum(draws * cdf[:, -1], torch.nextafter(cdf[:, -1], torch.tensor(0.0)))
    return torch.searchsorted(cdf, target[:, None], right=True)[:, 0].tolist()


def _floors(probs: Tensor, rules: list[Sampling]) -> Tensor | None:
    """Return per row the smallest probability that stays, or None where every token stays."""
    cut = [i for i, rule in enumerate(rules) if rule.top_p < 1 or rule.top_k > 0 or rule.min_p > 0]
    if not cut:
        return None
    floor = torch.zeros(len(rules))
    head, _ = probs[cut].topk(min(_HEAD, probs.shape[-1]))
    for i, ranked in zip(cut, head, strict=True):
        floor[i] = _floor(probs[i], ranked, rules[i])
    return floor


def _floor(probs: Tensor, ranked: Tensor, rule: Sampling) -> Tensor:
    """Return the cut of one row, whose most likely probabilities stand in ``ranked``."""
    lowest = ranked[0] * rule.min_p
    whole = rule.top_k <= 0 and rule.min_p <= 0
    enough = (
        0 < rule.top_k <= len(ranked)
        or bool(ranked[-1] < lowest)
        or (whole and float(ranked.sum()) >= rule.top_p)
    )
    if not enough:
        ranked = probs.sort(descending=True).values
    kept = ranked[ranked >= lowest]
    if rule.top_k > 0:
        kept = kept[: rule.top_k]
    if rule.top_p < 1:
        before = kept.cumsum(-1) - kept
        total = 1.0 if whole else kept.sum()
        kept = kept[before < rule.top_p * total]
    return kept[-1]
