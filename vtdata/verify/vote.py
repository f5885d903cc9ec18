"""Answers as classes, and the majority among them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from vtdata.errors import ConfigError
from vtdata.text import nearest
from vtdata.verify.choice import pick
from vtdata.verify.keys import key_of
from vtdata.verify.math import equal
from vtdata.verify.normal import normal

TYPES = ("numeric", "expression", "set", "text", "choice", "binary")
"""What an answer can be; see ``answer_type``."""
GUESSABLE = ("choice", "binary")
"""Types that get no label unless a share is named for them: guessing alone passes 5 of 8 in 11 %
of four-choice and 73 % of binary questions."""
MAX_LEADERS = 16
"""A class is compared with at most so many larger ones (ours)."""

Same = Callable[[str, str], bool | None]
"""Whether two answers mean the same; None where nobody can tell."""

_BINARY = frozenset({"yes", "no", "true", "false", "是", "否", "对", "错"})
_OPTION_LETTER = re.compile(r"\(?[A-E]\)?")
_PROSE = re.compile(r"[^\W\d_](?:[^\W\d_]|[ ,;.'’-])*")
_WORD = re.compile(r"[^\W\d_]{3}|[\u3040-\u9fff]")
_TYPE_BY_KEY = {
    **dict.fromkeys(("number", "base", "ratio"), "numeric"),
    **dict.fromkeys(("tuple", "bracket", "list", "set", "reals", "matrix"), "set"),
}


@dataclass(frozen=True, slots=True)
class Majority:
    """The outcome of a vote; ``answer`` is None where there is no label."""

    answer: str | None
    reason: str
    """majority, no_answers, tie, too_few_votes, too_low_share, or TYPE_vote (choice_vote,
    binary_vote): no share is named that would do for answers of that type."""
    votes: int
    """Votes of the largest class."""
    asked: int
    abstained: int
    margin: int
    """Votes of the largest class less those of the second."""
    classes: tuple[int | None, ...]
    """For each answer its class, largest first; None where it abstained."""
    num_classes: int
    undecided: int
    """Pairs of spellings that nobody could tell apart or hold for the same."""
    conflicts: int
    """Spellings that are equal to two leaders, or to a leader and not to what joined it before."""
    answer_type: str | None
    """Type of the largest class's answer, label or not; None where there are no answers."""

    @property
    def share(self) -> float:
        """The agreement: votes over rollouts asked for, in [0, 1]."""
        return self.votes / self.asked if self.asked else 0.0


@dataclass(slots=True)
class _Group:
    """Answers with one key, and once it leads a class, with every key of that class."""

    key: str
    answer: str
    votes: int


def key(answer: str, kind: str = "math", options: Sequence[str] = ()) -> str | None:
    r"""Return the class of an answer: two answers with one key are the same vote.

    By canonical form, numbers by exact value, choices by option. None where the answer names
    nothing, which is an abstention. A percent is neither of the numbers that it may stand for:
    which of them, the vote decides.

    Args:
        answer: as extracted.
        kind: the query's verifier kind; what matters is whether it is ``choice``.
        options: the query's options, in order.

    >>> key("0.50"), key(r"\dfrac12"), key(r"50\%")
    ('number 1/2', 'number 1/2', 'number 32/1 percent')
    >>> key("(b)", "choice", ["41", "42"]), key("42", "choice", ["41", "42"])
    ('option 1', 'option 1')
    """
    if kind == "choice":
        picked = sorted(pick(answer, options).indices)
        return f"option {','.join(map(str, picked))}" if picked else None
    found = key_of(answer)
    return None if found is None else found.text


def answer_type(answer: str, kind: str = "math", options: Sequence[str] = ()) -> str:
    r"""Return what an answer is, one of ``TYPES``: how far a majority can be trusted depends on it.

    ``choice`` where the query has options, and for a lone letter A to E, whose options then stand
    in the question; ``binary`` for yes or no, true or false; ``numeric`` for a number, with a unit
    or a name (x=3) or without; ``set`` for lists, tuples, intervals, sets and matrices; ``text``
    for words; ``expression`` for the rest.

    >>> [answer_type(a) for a in ("1/2", "5 cm", r"2\sqrt{3}", "(1, 2)", "Paris", "B", "No.")]
    ['numeric', 'numeric', 'expression', 'set', 'text', 'choice', 'binary']
    """
    if kind == "choice" or options:
        return "choice"
    text, found = normal(answer), key_of(answer)
    if text.casefold() in _BINARY:
        return "binary"
    if _OPTION_LETTER.fullmatch(text):
        return "choice"
    words = found.text.split(" ") if found is not None else [""]
    sort = words[2] if words[0] == "named" and len(words) > 2 else words[0]
    if sort in _TYPE_BY_KEY:
        return _TYPE_BY_KEY[sort]
    return "text" if _PROSE.fullmatch(text) and _WORD.search(text) else "expression"


def majority(
    answers: Sequence[str | None],
    *,
    min_votes: int,
    min_share: float,
    min_share_by: Mapping[str, float | None] | None = None,
    asked: int | None = None,
    kind: str = "math",
    options: Sequence[str] = (),
    same: Same = equal,
) -> Majority:
    r"""Vote by class of answer; an abstention counts against the share.

    Answers with one key are one vote. Keys are then taken by their votes, the largest first, and
    by the key itself where votes are equal; each joins the first class before it whose first key,
    the leader, is the ``same``, unless a key that joined before is not the same, else it leads a
    class of its own. So the classes depend on which answers there are and not on the order they
    came in, even where ``same`` is not transitive, nor symmetric, and what can mean two things
    means one of them in one vote: where 28 % led, and 28 joined it, 0.28 can't, and no answer
    joins a class because it equals a mere member. A pair that can't be decided is not joined. Each
    pair is asked about at most once; a key is compared with the first ``MAX_LEADERS`` leaders and
    members of a class only, and is undecided towards leaders beyond. What is the same as two
    leaders, which differ, goes to the larger one; where they are equally large it decides nothing
    between them, and leads a class of its own.

    The answer shown is the leader's most frequent spelling, then the shortest, then the first in
    alphabetical order.

    Args:
        answers: one per rollout, as extracted; None abstains.
        min_votes: fewest votes for a label.
        min_share: smallest share of ``asked`` for a label, in [0, 1].
        min_share_by: the same for single types of answer (see ``answer_type``), in place of
            ``min_share``; None gives no label to that type, which is what the types in
            ``GUESSABLE`` get unless they are named here.
        asked: how many rollouts were asked for; at least ``len(answers)``, its default.
        kind: see ``key``; answers of kind ``choice`` are told apart by their keys alone.
        options: see ``key``.
        same: says whether two answers with different keys mean the same.

    Raises:
        ConfigError: ``asked`` is smaller than the number of answers, or there is no such type.

    Source: research on math-verify found 40 non-transitive triples among 66 answers, and 25 to 28
    clusters of one list by its order; the leaders are ours.

    >>> vote = majority(["1/2", "0.5", "0.5", "3", None], min_votes=3, min_share=0.6)
    >>> vote.answer, vote.reason, vote.votes, vote.asked, vote.abstained, vote.margin, vote.classes
    ('0.5', 'majority', 3, 5, 1, 2, (0, 0, 0, 1, None))
    >>> majority(["1", "2"], min_votes=1, min_share=0.5).reason
    'tie'
    >>> majority(["yes"] * 8, min_votes=4, min_share=0.6).reason
    'binary_vote'
    """
    asked = len(answers) if asked is None else asked
    if asked < len(answers):
        raise ConfigError(f"a vote among {asked} rollouts can't have {len(answers)} answers")
    known = {answer: key(answer, kind, options) for answer in answers if answer is not None}
    keys = [None if answer is None else known[answer] for answer in answers]
    groups = _groups(answers, keys)
    voted = sum(group.votes for group in groups)
    led = _lead(groups, _differ if kind == "choice" else same)
    votes = [group.votes for group in led.ranked[:2]] + [0, 0]
    found = led.ranked[0].answer if led.ranked else None
    what = answer_type(found, kind, options) if found is not None else None
    least = least_share(what, min_share, min_share_by)
    reason = _reason(votes, asked, min_votes, least, what)
    return Majority(
        answer=found if reason == "majority" else None,
        reason=reason,
        votes=votes[0],
        asked=asked,
        abstained=asked - voted,
        margin=votes[0] - votes[1],
        classes=tuple(None if k is None else led.index[k] for k in keys),
        num_classes=len(led.ranked),
        undecided=0 if kind == "choice" else led.undecided,
        conflicts=led.conflicts,
        answer_type=what,
    )


def least_share(
    what: str | None, min_share: float, min_share_by: Mapping[str, float | None] | None
) -> float | None:
    """Return the smallest share for a label of this type; None where there is no label.

    Raises:
        ConfigError: ``min_share_by`` names a type that isn't there.
    """
    named = min_share_by or {}
    for name in named:
        if name not in TYPES:
            raise ConfigError(
                f"min_share_by: no answer type '{name}';{nearest(name, TYPES)} there is: "
                f"{', '.join(TYPES)}"
            )
    if what is not None and what in named:
        return named[what]
    return None if what in GUESSABLE else min_share


def _groups(answers: Sequence[str | None], keys: Sequence[str | None]) -> list[_Group]:
    """Count by key; the most votes first, equal ones by key."""
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for answer, k in zip(answers, keys, strict=True):
        if k is not None and answer is not None:
            spellings[k][answer] += 1
    groups = [
        _Group(k, min(found, key=lambda s: (-found[s], len(s), s)), found.total())
        for k, found in spellings.items()
    ]
    return sorted(groups, key=lambda group: (-group.votes, group.key))


@dataclass(slots=True)
class _Led:
    ranked: list[_Group]
    index: dict[str, int]
    """The class of each key."""
    undecided: int
    conflicts: int


class _Leaders:
    """Classes in the making; ``members`` holds the answers that joined each leader."""

    def __init__(self, same: Same) -> None:
        self._same = same
        self._members: dict[str, list[str]] = {}
        self.leaders: list[_Group] = []
        self.undecided = self.conflicts = 0

    def place(self, group: _Group) -> str:
        """Let a group join the first class that it belongs to, or lead one; return its key."""
        said = [self._ask(leader.answer, group) for leader in self.leaders[:MAX_LEADERS]]
        equals = [leader for leader, yes in zip(self.leaders, said, strict=False) if yes]
        fitting = [leader for leader in equals if self._fits(leader, group)]
        self.conflicts += len(equals) > 1 or len(fitting) < len(equals)
        torn = len(equals) > 1 and equals[0].votes == equals[1].votes
        if fitting and not torn:
            fitting[0].votes += group.votes
            self._members[fitting[0].key].append(group.answer)
            return fitting[0].key
        self.undecided += len(self.leaders) - len(said)
        self.leaders.append(group)
        self._members[group.key] = []
        return group.key

    def _fits(self, leader: _Group, group: _Group) -> bool:
        members = self._members[leader.key][:MAX_LEADERS]
        return all(self._ask(member, group) is not False for member in members)

    def _ask(self, answer: str, group: _Group) -> bool | None:
        found = self._same(answer, group.answer)
        self.undecided += found is None
        return found


def _lead(groups: Sequence[_Group], same: Same) -> _Led:
    leaders = _Leaders(same)
    leader_of = {group.key: leaders.place(group) for group in groups}
    ranked = sorted(leaders.leaders, key=lambda leader: (-leader.votes, leader.key))
    at = {leader.key: index for index, leader in enumerate(ranked)}
    index = {k: at[leader] for k, leader in leader_of.items()}
    return _Led(ranked, index, leaders.undecided, leaders.conflicts)


def _differ(_a: str, _b: str) -> bool:
    """What two choices with different keys always do."""
    return False


def _reason(
    votes: Sequence[int], asked: int, min_votes: int, least: float | None, what: str | None
) -> str:
    first, second = votes[:2]
    if first == 0:
        return "no_answers"
    if first == second:
        return "tie"
    if least is None:
        return f"{what}_vote"
    if first < min_votes:
        return "too_few_votes"
    if Fraction(first, asked) < Fraction(least).limit_denominator(1_000_000):
        return "too_low_share"
    return "majority"
