"""The books of a step: for queries and for rollouts, ``in + created = kept + rejected``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from vtdata.errors import RunError
from vtdata.records import Query, Rollout


@dataclass(slots=True)
class Books:
    """What went into a step and what became of it."""

    entered: int = 0
    created: int = 0
    kept: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    rollouts_entered: int = 0
    rollouts_created: int = 0
    rollouts_kept: int = 0
    rollouts_dropped: Counter[str] = field(default_factory=Counter)
    rollouts_rejected: int = 0
    """Live rollouts that went with a rejected query."""
    notes: Counter[str] = field(default_factory=Counter)

    def note(self, name: str, count: int) -> None:
        self.notes[name] += count

    def merge(self, other: Books) -> None:
        for name in ("entered", "created", "kept"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
            rollouts = f"rollouts_{name}"
            setattr(self, rollouts, getattr(self, rollouts) + getattr(other, rollouts))
        self.rollouts_rejected += other.rollouts_rejected
        self.rejected.update(other.rejected)
        self.rollouts_dropped.update(other.rollouts_dropped)
        self.notes.update(other.notes)

    def check(self, step: str) -> None:
        """Fail the run when a step's books don't balance.

        Raises:
            RunError: a query or a rollout was lost or doubled.
        """
        away = self.rejected.total()
        if self.entered + self.created != self.kept + away:
            raise RunError(
                f"step '{step}' lost or doubled queries: {self.entered} in + {self.created} created"
                f" != {self.kept} kept + {away} rejected; this is a bug in the step"
            )
        gone = self.rollouts_dropped.total() + self.rollouts_rejected
        if self.rollouts_entered + self.rollouts_created != self.rollouts_kept + gone:
            raise RunError(
                f"step '{step}' lost or doubled rollouts: {self.rollouts_entered} in + "
                f"{self.rollouts_created} created != {self.rollouts_kept} kept + {gone} dropped; "
                "this is a bug in the step"
            )

    def dump(self) -> dict[str, Any]:
        return {
            "queries": {
                "in": self.entered,
                "created": self.created,
                "kept": self.kept,
                "rejected": dict(sorted(self.rejected.items())),
            },
            "rollouts": {
                "in": self.rollouts_entered,
                "created": self.rollouts_created,
                "kept": self.rollouts_kept,
                "dropped": dict(sorted(self.rollouts_dropped.items())),
                "rejected_with_query": self.rollouts_rejected,
            },
            "notes": dict(sorted(self.notes.items())),
        }

    @classmethod
    def load(cls, data: dict[str, Any]) -> Books:
        queries, rollouts = data["queries"], data["rollouts"]
        return cls(
            entered=queries["in"],
            created=queries["created"],
            kept=queries["kept"],
            rejected=Counter(queries["rejected"]),
            rollouts_entered=rollouts["in"],
            rollouts_created=rollouts["created"],
            rollouts_kept=rollouts["kept"],
            rollouts_dropped=Counter(rollouts["dropped"]),
            rollouts_rejected=rollouts["rejected_with_query"],
            notes=Counter(data["notes"]),
        )


class Before(NamedTuple):
    """What a query held before a step saw it."""

    id: str
    total: int
    live: int
    dropped: frozenset[tuple[str, int]] = frozenset()
    """Rollouts that were dropped already, by set and index."""
    rollouts: tuple[Rollout, ...] = ()


_EMPTY: frozenset[tuple[str, int]] = frozenset()


def before(query: Query) -> Before:
    """Remember a query's rollouts, to be settled after the step."""
    rollouts = query.rollouts
    if not rollouts:
        return Before(query.id, 0, 0)
    live = sum([r.dropped_by is None for r in rollouts])
    if live == len(rollouts):
        return Before(query.id, live, live, _EMPTY, tuple(rollouts))
    return Before(query.id, len(rollouts), live, _dropped(query), tuple(rollouts))


def _dropped(query: Query) -> frozenset[tuple[str, int]]:
    return frozenset((r.set, r.sample_idx) for r in query.rollouts if r.dropped_by is not None)


def settle(books: Books, was: Sequence[Before], now: Sequence[Query], step: str) -> None:
    """Enter what a step made of the queries ``was`` into its books, and sign what it dropped.

    Raises:
        RunError: a query or rollout that went in did not come out.
    """
    if len(was) == len(now) == 1 and _settle_plain(books, was[0], now[0]):
        return
    books.entered += len(was)
    books.created += len(now) - len(was)
    _check_returned(was, now, step)
    total_before, live_before = sum(i.total for i in was), sum(i.live for i in was)
    total = live = 0
    for query in now:
        num_live = sum(r.dropped_by is None for r in query.rollouts) if query.rollouts else 0
        total += len(query.rollouts)
        live += num_live
        if query.dropped_by is None:
            books.kept += 1
            books.rollouts_kept += num_live
        else:
            query.dropped_by = step
            books.rejected[query.drop_reason or "unnamed"] += 1
            books.rollouts_rejected += num_live
    books.rollouts_entered += live_before
    books.rollouts_created += total - total_before
    if total < total_before:
        raise RunError(
            f"step '{step}' removed {total_before - total} rollouts of query {was[0].id}: mark "
            "them with rollout.drop(...)"
        )
    _check_rollouts(was, now, step)
    if total - live != total_before - live_before:
        _sign_dropped(books, was, now, step)


def _settle_plain(books: Books, was: Before, now: Query) -> bool:
    """Enter the usual case: one query in, the same one out, kept, nothing newly dropped."""
    if now.dropped_by is not None or now.id != was.id:
        return False
    total = len(now.rollouts)
    live = sum([r.dropped_by is None for r in now.rollouts]) if total else 0
    if total < was.total or total - live != was.total - was.live:
        return False
    if total and tuple(now.rollouts[: was.total]) != was.rollouts:  # by identity, mostly
        return False
    books.entered += 1
    books.kept += 1
    books.rollouts_entered += was.live
    books.rollouts_created += total - was.total
    books.rollouts_kept += live
    return True


def _check_returned(was: Sequence[Before], now: Sequence[Query], step: str) -> None:
    if len(was) == 1 and len(now) == 1:
        if now[0].id != was[0].id:
            raise RunError(f"step '{step}' returned {now[0].id} in place of query {was[0].id}")
        return
    missing = {item.id for item in was} - {query.id for query in now}
    if missing or len(now) < len(was):
        lost = ", ".join(sorted(missing)) or f"{len(was) - len(now)} of {was[0].id}"
        raise RunError(
            f"step '{step}' did not return query {lost}: return every query, "
            "marked with query.drop(...) where it is rejected"
        )


def _check_rollouts(was: Sequence[Before], now: Sequence[Query], step: str) -> None:
    """See that no rollout gave its place to another, which leaves the sums as they were."""
    there = {(q.id, r.set, r.sample_idx) for q in now for r in q.rollouts}
    for item in was:
        for rollout in item.rollouts:
            if (item.id, rollout.set, rollout.sample_idx) not in there:
                raise RunError(
                    f"step '{step}' removed rollout {rollout.sample_idx} of set '{rollout.set}' of "
                    f"query {item.id}: mark it with rollout.drop(...)"
                )


def _sign_dropped(books: Books, was: Sequence[Before], now: Sequence[Query], step: str) -> None:
    known = {item.id: item.dropped for item in was}
    for query in now:
        old = known.get(query.id, _EMPTY)
        for rollout in query.rollouts:
            if rollout.dropped_by is not None and (rollout.set, rollout.sample_idx) not in old:
                rollout.dropped_by = step
                books.rollouts_dropped[rollout.drop_reason or "unnamed"] += 1
