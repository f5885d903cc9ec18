from __future__ import annotations

from collections import Counter

import pytest
from pydantic import ValidationError

from tests.factories import query, rate, rollout
from vtdata.errors import ConfigError, DataError
from vtdata.records import Query
from vtdata.selections.hard import Hard
from vtdata.steps import Context

HARD = [0.0] * 6 + [1.0] * 2


def mined(question: Query, **settings: object) -> tuple[Query, Counter[str]]:
    notes: Counter[str] = Counter()
    ctx = Context(seed=1, note=lambda name, count: notes.update({name: count}))
    step = Hard(**{"into": "sft.stage2", "of": "reference", **settings})
    assert step.process(question, ctx) == [question]
    return question, notes


def traced(*tokens: int | None, reference: list[float | None] | None = None) -> Query:
    rollouts = [rollout(sample_idx=at, n_completion_tokens=n) for at, n in enumerate(tokens)]
    rollouts += [
        rollout(r, set="reference", sample_idx=at) for at, r in enumerate(reference or HARD)
    ]
    rates = [rate(*[1.0] * len(tokens)), rate(*(reference or HARD), of="reference")]
    return query(rollouts=rollouts, pass_rates=rates)


@pytest.mark.parametrize(
    ("correct", "wrong", "truncated", "unscored", "verdict"),
    [
        (2, 6, 0, 0, "hard"),  # error 0.75, kept
        (3, 5, 0, 0, "not_hard"),  # error 0.625
        (0, 8, 0, 0, "hard"),
        (2, 5, 1, 0, "hard_uncertain"),  # 0.625 or 0.75
        (2, 5, 0, 1, "hard_uncertain"),  # nobody judged one of them
        (3, 4, 1, 0, "not_hard"),  # 0.5 or 0.625
        (1, 6, 1, 0, "hard"),  # 0.75 or 0.875
        (0, 0, 8, 0, "hard_uncertain"),
        (4, 12, 0, 0, "hard"),  # more than 8 are welcome
    ],
)
def test_the_rule_holds_with_truncated_right_and_wrong(
    correct: int, wrong: int, truncated: int, unscored: int, verdict: str
) -> None:
    rewards = [1.0] * correct + [0.0] * wrong + [None] * unscored
    counts = rate(*rewards, of="reference", truncated=truncated)
    assert Hard(into="x", of="reference").hardness(counts) == verdict


def test_missing_rollouts_are_an_error_and_not_wrong() -> None:
    with pytest.raises(DataError) as caught:
        mined(traced(6_000, reference=[0.0] * 7))
    assert caught.value.reason == "too_few_rollouts"
    assert caught.value.detail == "set 'reference' has 7 rollouts, the rule needs 8"


@pytest.mark.parametrize(("tokens", "member"), [(4_999, False), (5_000, True)])
def test_the_shortest_trace(tokens: int, member: bool) -> None:
    question, notes = mined(traced(tokens))
    assert question.into == (["sft.stage2"] if member else [])
    assert notes == {"selected" if member else "too_short": 1}


def test_short_traces_of_a_member_are_left_out_of_this_set_only() -> None:
    question, _ = mined(traced(5_000, 100))
    long, short = question.rollouts[:2]
    assert (long.left_out_of("sft.stage2"), short.left_out_of("sft.stage2")) == (False, True)
    assert (short.live, short.left_out_of("sft.stage1")) == (True, False)


def test_only_right_traces_count() -> None:
    question = traced(100)
    question.rollouts.append(rollout(0.0, sample_idx=1, n_completion_tokens=9_000))
    assert mined(question)[1] == {"too_short": 1}


@pytest.mark.parametrize(
    ("reference", "note"),
    [([0.0] * 5 + [1.0] * 3, "not_hard"), ([0.0] * 5 + [None] + [1.0] * 2, "hard_uncertain")],
)
def test_what_is_not_hard_stays_and_is_counted(reference: list[float | None], note: str) -> None:
    question, notes = mined(traced(6_000, reference=reference))
    assert (question.live, question.into, notes) == (True, [], {note: 1})


def test_an_unknown_length_is_an_error() -> None:
    with pytest.raises(DataError, match="no_token_count"):
        mined(traced(None))


def test_the_traces_need_a_name_among_several() -> None:
    question = traced(6_000)
    question.rollouts.append(rollout(set="policy"))
    with pytest.raises(ConfigError, match=r"\(policy, teacher\): say with 'traces'"):
        mined(question)
    assert mined(question, traces="teacher")[0].into == ["sft.stage2"]


@pytest.mark.parametrize(("of", "reason"), [("policy", "no_pass_rate"), ("teacher", "no_rollouts")])
def test_a_missing_set_is_an_error(of: str, reason: str) -> None:
    with pytest.raises(DataError) as caught:
        mined(query(1.0), of=of)
    assert caught.value.reason == reason


def test_the_reference_does_not_teach() -> None:
    with pytest.raises(ValidationError, match="the reference can't teach"):
        Hard(into="x", of="reference", traces="reference")
