from __future__ import annotations

import polars as pl
import pytest

from tests.factories import query
from vtdata.records import Query
from vtdata.selections.cap import Cap
from vtdata.steps import Context


def members(domains: list[str | None], into: str = "rl") -> list[Query]:
    return [
        query(question=f"{at}?", domain="math", subdomain=domain, into=[into, "sft"])
        for at, domain in enumerate(domains)
    ]


def capped(queries: list[Query], seed: int = 1, limit: int = 2) -> set[str]:
    """Let the step decide as the runner does; return the ids that stay."""
    step, ctx = Cap(into="rl", max=limit, per="subdomain"), Context(seed=seed)
    rows = [(q.id, *seen) for q in queries if (seen := step.observe(q, ctx)) is not None]
    schema = {"id": pl.String, "value": pl.String, "draw": pl.Int64}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    decided = {row["id"]: row for row in step.decide(table, ctx).to_dicts()}
    assert len(decided) == len(rows)
    for question in queries:
        step.apply(question, decided.get(question.id), ctx)
    return {q.id for q in queries if "rl" in q.into}


def test_each_value_keeps_at_most_so_many() -> None:
    queries = members(["a"] * 5 + ["b"] * 2 + ["c"] + [None] * 3)
    stay = capped(queries)
    kept = [q.subdomain for q in queries if q.id in stay]
    assert sorted(map(str, kept)) == ["None", "None", "a", "a", "b", "b", "c"]
    assert all(q.live and "sft" in q.into for q in queries)  # its other sets are its own


@pytest.mark.parametrize("step", [1, 3, 7])
def test_the_order_of_rows_does_not_matter(step: int) -> None:
    domains: list[str | None] = ["a", "b"] * 10
    expected = capped(members(domains))
    shuffled = members(domains)
    assert capped([shuffled[(at * step) % 20] for at in range(20)]) == expected


def test_another_value_does_not_matter() -> None:
    some = capped(members(["a"] * 6))
    more = capped(members(["a"] * 6 + ["b"] * 6))
    assert some <= more


def test_the_seed_decides_who_stays() -> None:
    draws = {frozenset(capped(members(["a"] * 6), seed)) for seed in range(10)}
    assert len(draws) > 3


def test_who_is_no_member_is_not_seen() -> None:
    others = members(["a"] * 3, into="other")
    assert capped(others) == set()
    assert [q.into for q in others] == [["other", "sft"]] * 3
