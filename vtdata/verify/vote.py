"""Answers as classes, and the majority among them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from vtdata.errors import ConfigError
from vtdata.verify.choice import pick
from vtdata.verify.exact import number
from vtdata.verify.normal import normal


@dataclass(frozen=True, slots=True)
class Majority:
    """The outcome of a vote; ``answer`` is None where there is no winner."""

    answer: str | None
    reason: str
    """majority, no_answers, tie, too_few_votes or too_low_share."""
    votes: int
    """Votes of the largest class."""
    asked: int
    abstained: int
    margin: int
    """Votes of the largest class less those of the second."""
    classes: tuple[int | None, ...]
    """For each answer its class, largest first; None where it abstained."""


def key(answer: str, kind: str = "math", options: Sequence[str] = ()) -> str | None:
    r"""Return the class of an answer: two answers with one key are the same vote.

    Numbers by exact value, choices by option, everything else by canonical spelling. None where
    the answer names nothing, which is an abstention.

    Args:
        answer: as extracted.
        kind: the query's verifier kind; what matters is whether it is ``choice``.
        options: the query's options, in order.

    >>> key("0.50"), key(r"\dfrac12"), key(r"50\%")
    ('number 1/2', 'number 1/2', 'number 1/2')
    >>> key("(b)", "choice", ["41", "42"]), key("42", "choice", ["41", "42"])
    ('option 1', 'option 1')
    """
    if kind == "choice":
        picked = sorted(pick(answer, options).indices)
        return f"option {','.join(map(str, picked))}" if picked else None
    value = number(answer)
    if value is not None:
        # Hexadecimal, since Python refuses to write more than 4,300 decimal digits.
        return f"number {value.value.numerator:x}/{value.value.denominator:x}"
    text = normal(answer)
    return f"text {text}" if text else None


def majority(
    answers: Sequence[str | None],
    *,
    min_votes: int,
    min_share: float,
    asked: int | None = None,
    kind: str = "math",
    options: Sequence[str] = (),
) -> Majority:
    """Vote by class of answer; an abstention counts against the share.

    Any permutation of the answers gives the same classes and the same winner. The answer shown
    is the most frequent spelling of the winning class, then the shortest, then the first in
    alphabetical order.

    Args:
        answers: one per rollout, as extracted; None abstains.
        min_votes: fewest votes for a winner.
        min_share: smallest share of ``asked`` for a winner, in [0, 1].
        asked: how many rollouts were asked for; at least ``len(answers)``, its default.
        kind: see ``key``.
        options: see ``key``.

    Raises:
        ConfigError: ``asked`` is smaller than the number of answers.

    >>> majority(["1/2", "0.5", "0.5", "3", None], min_votes=3, min_share=0.6)
    ... # doctest: +NORMALIZE_WHITESPACE
    Majority(answer='0.5', reason='majority', votes=3, asked=5, abstained=1, margin=2,
             classes=(0, 0, 0, 1, None))
    >>> majority(["1", "2"], min_votes=1, min_share=0.5).reason
    'tie'
    """
    asked = len(answers) if asked is None else asked
    if asked < len(answers):
        raise ConfigError(f"a vote among {asked} rollouts can't have {len(answers)} answers")
    keys = [None if answer is None else key(answer, kind, options) for answer in answers]
    sizes = Counter(k for k in keys if k is not None)
    ranked = sorted(sizes, key=lambda k: (-sizes[k], k))
    index = {k: i for i, k in enumerate(ranked)}
    votes = [sizes[k] for k in ranked[:2]] + [0, 0]
    reason = _reason(votes[0], votes[1], asked, min_votes, min_share)
    winner = ranked[0] if reason == "majority" else None
    return Majority(
        answer=_shown(answers, keys, winner),
        reason=reason,
        votes=votes[0],
        asked=asked,
        abstained=asked - sum(sizes.values()),
        margin=votes[0] - votes[1],
        classes=tuple(None if k is None else index[k] for k in keys),
    )


def _reason(first: int, second: int, asked: int, min_votes: int, min_share: float) -> str:
    if first == 0:
        return "no_answers"
    if first == second:
        return "tie"
    if first < min_votes:
        return "too_few_votes"
    if Fraction(first, asked) < Fraction(min_share).limit_denominator(1_000_000):
        return "too_low_share"
    return "majority"


def _shown(
    answers: Sequence[str | None], keys: Sequence[str | None], winner: str | None
) -> str | None:
    spellings: dict[str, int] = defaultdict(int)
    for answer, k in zip(answers, keys, strict=True):
        if winner is not None and k == winner and answer is not None:
            spellings[answer] += 1
    return min(spellings, key=lambda s: (-spellings[s], len(s), s), default=None)
