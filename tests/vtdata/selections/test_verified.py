from __future__ import annotations

from collections import Counter

import pytest
from pydantic import ValidationError

from tests.factories import query, rollout
from vtdata.errors import DataError
from vtdata.records import Query
from vtdata.selections.verified import Verified
from vtdata.steps import Context


def selected(question: Query, seed: int = 1, **settings: object) -> tuple[Query, Counter[str]]:
    notes: Counter[str] = Counter()
    ctx = Context(seed=seed, note=lambda name, count: notes.update({name: count}))
    step = Verified(into="sft", **settings)
    assert step.process(question, ctx) == [question]
    return question, notes


def chosen(question: Query, into: str = "sft") -> list[int]:
    return [r.sample_idx for r in question.rollouts if not r.left_out_of(into)]


def traces(*tokens: int | None) -> Query:
    rollouts = [rollout(sample_idx=at, n_completion_tokens=n) for at, n in enumerate(tokens)]
    return query(rollouts=rollouts)


@pytest.mark.parametrize(
    ("rewards", "min_correct", "member"),
    [
        ([1.0, 0.0], 1, True),
        ([0.0, 0.0], 1, False),
        ([None, None], 1, False),  # fail closed
        ([1.0, 1.0, 0.0], 2, True),
        ([1.0, None, None], 2, False),
    ],
)
def test_a_member_has_enough_right_rollouts(
    rewards: list[float | None], min_correct: int, member: bool
) -> None:
    question, notes = selected(query(*rewards), min_correct=min_correct)
    assert question.into == (["sft"] if member else [])
    assert question.live
    assert notes == {"selected" if member else "too_few_correct": 1}


def test_a_dropped_rollout_is_not_right() -> None:
    question = query(1.0, 0.0)
    question.rollouts[0].drop("decontaminate", "hit")
    assert selected(question)[0].into == []


def test_another_set_does_not_count() -> None:
    question = query(0.0)
    question.rollouts.append(rollout(1.0, set="reference"))
    assert selected(question, of="teacher")[0].into == []
    assert selected(question, of="reference")[0].into == ["sft"]


def test_bounds_on_tokens_hold_their_ends() -> None:
    question, notes = selected(traces(99, 100, 200, 201), min_tokens=100, max_tokens=200)
    assert chosen(question) == [1, 2]
    assert notes == {"selected": 1, "out_of_bounds": 2}
    assert all(r.live for r in question.rollouts)  # another set may want them


def test_bounds_may_leave_one_length() -> None:
    assert chosen(selected(traces(99, 100, 101), min_tokens=100, max_tokens=100)[0]) == [1]


def test_right_rollouts_out_of_bounds_do_not_make_a_member() -> None:
    question, notes = selected(traces(99, 201), min_tokens=100, max_tokens=200)
    assert (question.into, notes) == ([], {"too_few_correct": 1})


def test_an_unknown_length_is_an_error_where_it_matters() -> None:
    assert selected(traces(None))[0].into == ["sft"]
    with pytest.raises(DataError) as caught:
        selected(traces(None), min_tokens=1)
    assert caught.value.reason == "no_token_count"


def test_the_surplus_is_left_out() -> None:
    question, notes = selected(query(1.0, 1.0, 0.0, 1.0, 1.0), max_rollouts=2)
    right = [at for at in chosen(question) if at != 2]
    assert len(right) == 2
    assert notes == {"selected": 1, "surplus": 2}
    again, _ = selected(query(1.0, 1.0, 0.0, 1.0, 1.0), max_rollouts=2)
    assert chosen(again) == chosen(question)


def test_the_draw_depends_on_seed_and_set_and_is_fair() -> None:
    first = Counter(
        chosen(selected(query(1.0, 1.0, question=f"{n}?"), max_rollouts=1)[0])[0]
        for n in range(400)
    )
    assert 150 < first[0] < 250
    picks = {chosen(selected(query(*[1.0] * 8), seed, max_rollouts=1)[0])[0] for seed in range(20)}
    assert len(picks) > 3


def test_the_order_of_rollouts_does_not_matter() -> None:
    one, other = query(*[1.0] * 8), query(*[1.0] * 8)
    other.rollouts.reverse()
    selected(one, max_rollouts=3)
    selected(other, max_rollouts=3)
    assert chosen(one) == sorted(chosen(other))


def test_a_member_joins_once() -> None:
    question, _ = selected(query(1.0))
    assert selected(question)[0].into == ["sft"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_tokens": 2, "max_tokens": 1}, "need min_tokens <= max_tokens, got 2 and 1"),
        ({"min_correct": 3, "max_rollouts": 2}, "need max_rollouts >= min_correct, got 2 and 3"),
    ],
)
def test_settings_that_leave_nothing(settings: dict[str, int], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Verified(into="sft", **settings)
