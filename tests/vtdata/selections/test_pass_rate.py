from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.factories import query, rate
from vtdata.errors import DataError
from vtdata.records import PassRate as Rate
from vtdata.selections.pass_rate import PassRate
from vtdata.steps import Context


def why_not(counts: Rate, **settings: object) -> str | None:
    return PassRate(**{"into": "rl", "truncated": "exclude", **settings}).why_not(counts)


@pytest.mark.parametrize(
    ("rewards", "settings", "reason"),
    [
        ([1, 0, 0, 0], {}, None),
        ([1, 1, 1, 0], {}, None),
        ([0, 0, 0, 0], {}, "too_hard"),  # 3B p.6 drops 0 and 1 exactly
        ([1, 1, 1, 1], {}, "too_easy"),
        ([0, 0, 0, 0], {"low": 0.0}, None),
        ([1, 1, 1, 1], {"high": 1.0}, None),
        ([1, 0, 0, 0], {"low": 0.25}, None),  # a bound that is set is in the band
        ([1, 0, 0, 0], {"low": 0.26}, "too_hard"),
        ([1, 1, 1, 0], {"high": 0.75}, None),
        ([1, 1, 1, 0], {"high": 0.74}, "too_easy"),
        ([1, 0, 0, None], {}, "too_few_scored"),  # unjudged is not wrong
        ([1, 0, 0, None], {"min_scored": 3}, None),
        ([1, 0, 0, 0, 0, 0, 0, 0, 0, 0], {"low": 0.1}, None),  # 0.1 is not a binary fraction
        ([1, 1, 1, 0, 0, 0, 0, 0, 0, 0], {"high": 0.3}, None),
        ([1, 0, 0], {"low": 1 / 3, "high": 1 / 3, "min_scored": 3}, None),
    ],
)
def test_both_ends_of_the_band(
    rewards: list[float | None], settings: dict[str, float], reason: str | None
) -> None:
    assert why_not(rate(*rewards), **settings) == reason


@pytest.mark.parametrize(
    ("truncated", "reason"),
    [("wrong", None), ("exclude", "too_easy")],
)
def test_truncated_counts_as_the_recipe_says(truncated: str, reason: str | None) -> None:
    assert why_not(rate(1, 1, 1, 1, truncated=4), truncated=truncated) == reason


@pytest.mark.parametrize(("truncated", "reason"), [("wrong", None), ("exclude", "too_few_scored")])
def test_truncated_is_tried_only_where_it_counts(truncated: str, reason: str | None) -> None:
    assert why_not(rate(1, 0, truncated=2), truncated=truncated) == reason


def test_what_truncated_means_has_no_default() -> None:
    with pytest.raises(ValidationError, match="truncated"):
        PassRate(into="rl")  # ty: ignore[missing-argument]


def test_a_query_outside_the_band_stays() -> None:
    notes: Counter[str] = Counter()
    ctx = Context(seed=1, note=lambda name, count: notes.update({name: count}))
    step = PassRate(into="rl", truncated="wrong")
    inside, outside = query(1, 0, 0, 0), query(0, 0, 0, 0)
    assert step.process(inside, ctx) == [inside]
    assert step.process(outside, ctx) == [outside]
    assert (inside.into, outside.into, outside.live) == (["rl"], [], True)
    assert notes == {"selected": 1, "too_hard": 1}


def test_the_rate_is_that_of_the_set() -> None:
    question = query(1, 1, 1, 1)
    question.pass_rates.append(rate(1, 0, 0, 0, of="policy"))
    PassRate(into="rl", truncated="wrong", of="policy").process(question, Context(seed=1))
    assert question.into == ["rl"]


def test_a_missing_rate_is_an_error() -> None:
    with pytest.raises(DataError) as caught:
        PassRate(into="rl", truncated="wrong", of="policy").process(query(1, 0), Context(seed=1))
    assert caught.value.reason == "no_pass_rate"
    assert "it has teacher" in caught.value.detail


@pytest.mark.parametrize("band", [{"low": 0.6, "high": 0.5}, {"low": 1.0}, {"high": 0.0}], ids=str)
def test_an_empty_band_is_refused(band: dict[str, float]) -> None:
    with pytest.raises(ValidationError, match="no rate is in the band"):
        PassRate(into="rl", truncated="wrong", **band)


@given(
    st.integers(0, 16), st.integers(0, 16), st.integers(0, 16), st.integers(0, 8), st.integers(0, 8)
)
def test_the_band_is_exact(correct: int, wrong: int, cut: int, low: int, more: int) -> None:
    high = min(8, low + more)
    counts = rate(*[1.0] * correct, *[0.0] * wrong, truncated=cut)
    reason = why_not(counts, low=low / 8, high=high / 8, min_scored=1, truncated="wrong")
    tried = correct + wrong + cut
    inside = tried > 0 and Fraction(low, 8) <= Fraction(correct, tried) <= Fraction(high, 8)
    assert (reason is None) is inside
