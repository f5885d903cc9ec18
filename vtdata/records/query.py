"""The two nouns: a Query, and the Rollouts that were sampled for it.

A query carries its rollouts from the moment they are sampled until the shards are cut: the group
is the unit that votes, has a pass rate and is selected from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal, get_args

from vtdata.errors import ConfigError, DataError
from vtdata.seeds import bucket_of
from vtdata.text import collapse

VerifierKind = Literal[
    "math", "choice", "code", "constraints", "rubric", "reasoning_gym", "vote", "none"
]
VERIFIER_KINDS: tuple[str, ...] = get_args(VerifierKind)


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a chat."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Verifier:
    """How an answer to a query is checked; ``spec`` is a JSON string that ``kind`` understands."""

    kind: str
    spec: str = "{}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verifier says: 1.0, 0.0, or None where nobody could judge.

    The model's fault is 0.0. A bad reference, a broken sandbox or a judge that timed out is None.

    >>> Verdict(None, "bad_reference")
    Verdict(reward=None, reason='bad_reference')
    """

    reward: float | None
    reason: str
    kind: str = field(default="", repr=False)
    answer: str | None = field(default=None, repr=False)
    """The answer as extracted from the response; None where there was none."""
    said: Mapping[str, str] | None = field(default=None, repr=False, compare=False)
    """What each stage of the verifier said, for the step that judges; it is not stored."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a question was found: one per source that holds it."""

    source: str
    row: str
    """File and row, or generator and index: enough for a person to find it again."""
    license: str
    date: str | None = None


@dataclass(slots=True)
class Provenance:
    """How a query came to be."""

    seed_id: str
    """Id of the seed query at the root of its lineage; its own id for a seed."""
    transform: str | None = None
    """The step and operation that made it; None for a seed."""
    parents: list[str] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PassRate:
    """Counts of one rollout set; a rate keeps its counts."""

    set: str
    model: str
    revision: str
    n: int
    correct: int
    wrong: int
    truncated: int
    unscored: int


@dataclass(frozen=True, slots=True)
class Vote:
    """The outcome of a majority vote over answer classes; ``answer`` is None without a winner."""

    set: str
    answer: str | None
    votes: int
    asked: int
    """Rollouts asked for: a share is votes over this, so abstentions count against it."""
    abstained: int
    margin: int
    reason: str
    answer_type: str | None = None
    """Type of the largest class's answer (``vtdata.verify.answer_type``), winner or not."""
    num_classes: int | None = None
    undecided: int | None = None
    """Pairs of spellings that nobody could tell apart or hold for the same."""
    conflicts: int | None = None
    """Spellings that are equal to two classes."""

    @property
    def share(self) -> float:
        """The agreement: votes over rollouts asked for, in [0, 1]."""
        return self.votes / self.asked if self.asked else 0.0


@dataclass(slots=True)
class Rollout:
    """One sampled response to a query."""

    set: str
    sample_idx: int
    seed: int
    model: str
    revision: str
    sampling: str
    """Canonical JSON of every sampling parameter that was sent."""
    reasoning: str | None
    content: str | None
    think_source: str
    """Where the reasoning stood: field, tags, closer, none."""
    finish_reason: str
    state: str
    """ok, truncated, looped, empty, refused or failed."""
    n_prompt_tokens: int | None
    n_completion_tokens: int | None
    verdict: Verdict | None = None
    answer_class: int | None = None
    """Index of its answer class in the query's vote, largest class first; Arrow name ``class``."""
    marks: list[str] = field(default_factory=list)
    dropped_by: str | None = None
    drop_reason: str | None = None

    @property
    def live(self) -> bool:
        return self.dropped_by is None

    def drop(self, by: str, reason: str) -> None:
        """Set the rollout aside; it stays in its query until the shards are cut."""
        if self.dropped_by is None:
            self.dropped_by, self.drop_reason = by, reason

    def leave_out(self, into: str) -> None:
        """Keep it out of the rows of one set, while it may stand in another's."""
        if not self.left_out_of(into):
            self.marks.append(f"out:{into}")

    def left_out_of(self, into: str) -> bool:
        """Whether a selection kept it out of the rows of this set."""
        return f"out:{into}" in self.marks


@dataclass(slots=True)
class Query:
    """A question with its way of being verified, and its rollouts."""

    id: str
    prompt: list[Turn]
    """The turns of the chat; the last is the user's."""
    verifier: Verifier
    source: str
    license: str
    provenance: Provenance
    options: list[str] = field(default_factory=list)
    answer: str | None = None
    domain: str = "math"
    subdomain: str | None = None
    date: str | None = None
    pass_rates: list[PassRate] = field(default_factory=list)
    vote: Vote | None = None
    n_correct: int | None = None
    n_scored: int | None = None
    n_truncated: int | None = None
    max_tokens: int | None = None
    reasons: list[str] = field(default_factory=list)
    into: list[str] = field(default_factory=list)
    """The sets it was selected into: ``sft.stage1``, ``rl`` ..."""
    rollouts: list[Rollout] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    """Columns that steps declared in ``writes``."""
    dropped_by: str | None = None
    drop_reason: str | None = None
    drop_detail: str | None = None
    _bucket: int = field(default=-1, init=False, compare=False, repr=False)

    def renamed(self) -> None:
        """Say that ``id`` was set anew, as in a copy that became another query."""
        self._bucket = -1

    @property
    def bucket(self) -> int:
        """blake2b(id) mod 1024."""
        if self._bucket < 0:
            self._bucket = bucket_of(self.id)
        return self._bucket

    @property
    def live(self) -> bool:
        return self.dropped_by is None

    @property
    def question(self) -> str:
        """The last turn's text."""
        return self.prompt[-1].content if self.prompt else ""

    def drop(self, by: str, reason: str, detail: str | None = None) -> None:
        """Mark it rejected; the first reason stays."""
        if self.dropped_by is None:
            self.dropped_by, self.drop_reason, self.drop_detail = by, reason, detail

    def rollouts_of(self, of: str | None = None) -> list[Rollout]:
        """The live rollouts of one set, or of all."""
        return [r for r in self.rollouts if r.live and (of is None or r.set == of)]

    def only_set(self, of: str | None) -> str:
        """Return ``of``, or for None the one set that the rollouts are of.

        Raises:
            DataError: there are no rollouts (``no_rollouts``).
            ConfigError: there are several sets and ``of`` doesn't say which.
        """
        names = sorted({r.set for r in self.rollouts})
        if not names or (of is not None and of not in names):
            found = ", ".join(names) or "none"
            raise DataError("no_rollouts", f"asked for set '{of or 'any'}', there is: {found}")
        if of is None and len(names) > 1:
            raise ConfigError(
                f"query {self.id} has rollouts of several sets ({', '.join(names)}): say which "
                "with 'of'"
            )
        return of or names[0]


def query_id(prompt: list[Turn], options: list[str] | None = None, starter_code: str = "") -> str:
    r"""Return blake2b-128 of all turns, options and starter code, in NFC with collapsed spaces.

    Nothing else is normalised: with operators eaten, x+1 and x-1 would be one question.

    >>> a = query_id([Turn("user", "What is 2+2?")])
    >>> a == query_id([Turn("user", " What  is 2+2?\n")])
    True
    >>> a == query_id([Turn("user", "What is 2-2?")])
    False
    """
    digest = blake2b(digest_size=16)
    parts = [p for turn in prompt for p in (turn.role, turn.content)]
    for part in [*parts, "\x1e", *(options or []), "\x1e", starter_code]:
        text = part if part == "\x1e" else collapse(part)
        raw = text.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8))  # a length first, so that ("ab", "c") != ("a", "bc")
        digest.update(raw)
    return digest.hexdigest()
