"""One question from several rows or sources becomes one query, or none where they contradict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import ClassVar

from vtdata.corpora.licenses import strictest
from vtdata.records import Origin, Query
from vtdata.steps import Step, step
from vtdata.text import collapse
from vtdata.verify import equal

NO_GOLD = ("none", "vote", "rubric")
"""Verifier kinds without a reference answer: they yield to one that has it."""
MAX_SHOWN = 5
"""Most answers that a conflict's detail lists (ours)."""
_SHOWN_CHARS = 80

Same = Callable[[str, str], bool]


@step
class Unite(Step):
    """Make one query of all with the same id; the runner gives them to ``unite``.

    The kept query is the one with the strongest way of checking, a seed before a derived one; it
    gets every origin, the strictest license and the earliest date. Holds the queries of one id.

    Drops: ``merged_duplicate``; all of them as ``gold_conflict`` where two reference answers
    differ, and as ``verifier_conflict`` where two kinds with a reference differ.
    """

    reasons: ClassVar[tuple[str, ...]] = ("gold_conflict", "merged_duplicate", "verifier_conflict")


def same_answer(a: str, b: str) -> bool:
    r"""Compare exactly, but for white space and how a number or formula is written.

    What can't be decided, ``\sqrt{12}`` and ``2\sqrt{3}``, is not the same: never first wins.

    >>> same_answer("1/2", "0.5"), same_answer("x  + 1", "x + 1"), same_answer("x + 1", "x - 1")
    (True, True, False)
    """
    return collapse(a) == collapse(b) or equal(a, b) is True


def unite(queries: list[Query], same: Same = same_answer) -> list[Query]:
    """Merge queries with one id; all come back, all but one at most dropped.

    The result does not depend on their order. A query that is dropped already is left alone. Kinds
    ``none``, ``vote`` and ``rubric`` yield to one that has a reference; of one kind the longest
    spec is kept, since more tests or constraints check more.

    Args:
        queries: queries with the same id.
        same: whether two reference answers are one.

    Returns:
        The same queries, in an order of their own.
    """
    if len({query.id for query in queries}) > 1:
        raise ValueError(f"unite needs one id, got {sorted({q.id for q in queries})}")
    live = sorted((query for query in queries if query.live), key=_key)
    if len(live) < 2:
        return queries
    dropped = [query for query in queries if not query.live]
    conflict = _conflict(live, same)
    if conflict:
        for query in live:
            query.drop("unite", *conflict)
        return live + dropped
    kept, *others = live
    _merge(kept, others)
    for query in others:
        query.drop("unite", "merged_duplicate", f"merged into {_place(kept)}")
    return live + dropped


def _key(query: Query) -> tuple[object, ...]:
    """Sort the query to be kept first, and all of them the same way every time."""
    origins = sorted((o.source, o.row, o.license, o.date or "") for o in query.provenance.origins)
    return (
        query.verifier.kind in NO_GOLD,
        NO_GOLD.index(query.verifier.kind) if query.verifier.kind in NO_GOLD else -1,
        query.answer is None,
        query.provenance.transform is not None,
        -len(query.verifier.spec),
        query.verifier.spec,
        query.source,
        origins,
        query.answer or "",
        [(turn.role, turn.content) for turn in query.prompt],
        query.options,
        query.domain,
        query.subdomain or "",
        query.date or "",
        query.license,
    )


def _conflict(live: Sequence[Query], same: Same) -> tuple[str, str] | None:
    kinds = {q.verifier.kind: q for q in live if q.verifier.kind not in NO_GOLD}
    if len(kinds) > 1:
        said = "; ".join(f"{kind} in {_place(kinds[kind])}" for kind in sorted(kinds))
        return "verifier_conflict", f"verified as {said}"
    answers: dict[str, list[str]] = {}
    for query in live:
        if query.answer is not None:
            answers.setdefault(collapse(query.answer), []).append(_place(query))
    if all(same(a, b) for a, b in combinations(answers, 2)):
        return None
    shown = [
        f"{answer[:_SHOWN_CHARS]!r} in {min(places)}" for answer, places in sorted(answers.items())
    ]
    more = f" and {len(shown) - MAX_SHOWN} more" if len(shown) > MAX_SHOWN else ""
    return "gold_conflict", "; ".join(shown[:MAX_SHOWN]) + more


def _place(query: Query) -> str:
    rows = sorted(f"{origin.source} ({origin.row})" for origin in query.provenance.origins)
    return rows[0] if rows else query.source


def _merge(kept: Query, others: Sequence[Query]) -> None:
    group = [kept, *others]
    origins = {origin for query in group for origin in query.provenance.origins}
    kept.provenance.origins = sorted(origins, key=_origin_key)
    kept.license = strictest(query.license for query in group)
    kept.date = min((query.date for query in group if query.date), default=None)
    if kept.provenance.transform is not None:
        kept.provenance.parents = sorted({p for q in group for p in q.provenance.parents})


def _origin_key(origin: Origin) -> tuple[str, str, str, str]:
    return origin.source, origin.row, origin.license, origin.date or ""
