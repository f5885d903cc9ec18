from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.factories import query, rate, rollout
from vtdata.errors import ConfigError, DataError
from vtdata.records import Query, Rollout, Verdict, Verifier
from vtdata.scores.verify import Verify, judge
from vtdata.steps import Context

RIGHT, WRONG = r"\boxed{4}", r"\boxed{5}"


def asked(*rollouts: Rollout, **changes: object) -> Query:
    for at, sample in enumerate(rollouts):
        sample.sample_idx = at
        sample.verdict = None
    return query(rollouts=list(rollouts), **changes)


def verified(question: Query, of: str | None = None) -> tuple[Query, Counter[str]]:
    notes: Counter[str] = Counter()
    ctx = Context(seed=1, note=lambda name, count: notes.update({name: count}))
    assert Verify(of=of).process(question, ctx) == [question]
    return question, notes


@pytest.mark.parametrize(
    ("state", "content", "reward", "reason"),
    [
        ("ok", RIGHT, 1.0, "correct"),
        ("ok", WRONG, 0.0, "wrong"),
        ("ok", "dunno", 0.0, "no_answer"),
        ("ok", r"\boxed{the sum of both}", None, "not_comparable"),
        ("ok", "  ", 0.0, "empty"),
        ("ok", None, 0.0, "empty"),
        ("empty", None, 0.0, "empty"),
        ("truncated", RIGHT, None, "truncated"),  # content is trusted only when it is finished
        ("truncated", None, None, "truncated"),
        ("looped", RIGHT, None, "looped"),
        ("refused", None, None, "refused"),
        ("failed", None, None, "failed"),
        ("new", RIGHT, None, "unknown_state"),
    ],
)
def test_only_a_finished_response_is_judged(
    state: str, content: str | None, reward: float | None, reason: str
) -> None:
    verdict = judge(rollout(state=state, content=content), query())
    assert (verdict.reward, verdict.reason, verdict.kind) == (reward, reason, "math")


def test_the_reasoning_is_not_the_answer() -> None:
    assert judge(rollout(reasoning=RIGHT, content="So it is."), query()).reason == "no_answer"


def test_a_set_is_counted_and_summarized() -> None:
    question, notes = verified(
        asked(
            rollout(content=RIGHT, n_completion_tokens=10),
            rollout(content=WRONG, n_completion_tokens=30),
            rollout(content="dunno", n_completion_tokens=None),
            rollout(state="truncated", n_completion_tokens=64),
            rollout(state="looped", n_completion_tokens=20),
            rollout(state="failed", content=None),
        )
    )
    (found,) = question.pass_rates
    assert found == rate(1.0, 0.0, 0.0, None, truncated=2)
    assert (question.n_correct, question.n_scored, question.n_truncated) == (1, 3, 2)
    assert question.max_tokens == 64
    reasons = ["correct", "failed", "looped", "no_answer", "truncated", "wrong"]
    assert question.reasons == reasons
    assert notes == {"correct": 1, "wrong": 2, "truncated": 2, "unscored": 1}


def test_a_dropped_rollout_is_asked_for_but_not_judged() -> None:
    gone, cut = rollout(content=RIGHT), rollout(state="truncated")
    gone.drop("hygiene", "gibberish")
    cut.drop("hygiene", "truncated")
    question, _ = verified(asked(rollout(content=RIGHT), gone, cut))
    assert question.pass_rates == [rate(1.0, None, truncated=1)]
    assert gone.verdict is None


def test_each_set_keeps_its_own_rate() -> None:
    question = asked(rollout(content=RIGHT), rollout(set="reference", content=WRONG))
    verified(question, of="teacher")
    verified(question, of="reference")
    assert question.pass_rates == [rate(1.0), rate(0.0, of="reference")]
    assert (question.n_correct, question.n_scored) == (0, 1)  # of the set judged last
    question.rollouts[0].content = WRONG
    verified(question, of="teacher")
    assert question.pass_rates == [rate(0.0, of="reference"), rate(0.0)]


def test_several_models_in_one_set_are_all_named() -> None:
    question, _ = verified(asked(rollout(), rollout(model="a/b", revision="c"), rollout()))
    assert question.pass_rates[0].model == "a/b,our/teacher"
    assert question.pass_rates[0].revision == "c,unpinned"


def test_several_sets_need_a_name() -> None:
    question = asked(rollout(), rollout(set="reference"))
    message = r"has rollouts of several sets \(reference, teacher\): say which with 'of'"
    with pytest.raises(ConfigError, match=message):
        verified(question)


@pytest.mark.parametrize("of", [None, "reference"])
def test_missing_rollouts_are_an_error(of: str | None) -> None:
    question = asked(*([rollout()] if of else []))
    with pytest.raises(DataError) as caught:
        verified(question, of)
    assert caught.value.reason == "no_rollouts"


def test_a_vote_to_come_is_unscored() -> None:
    question, _ = verified(asked(rollout(content=RIGHT), verifier=Verifier("vote"), answer=None))
    assert question.rollouts[0].verdict == Verdict(None, "label_to_come", "vote", "4")
    assert question.pass_rates == [rate(None)]


STATES = st.sampled_from(["ok", "truncated", "looped", "empty", "refused", "failed"])
CONTENTS = st.sampled_from([RIGHT, WRONG, r"\boxed{x}", "", "dunno"])


@given(st.lists(st.tuples(STATES, CONTENTS, st.booleans()), min_size=1, max_size=8))
def test_the_counts_add_up_to_those_asked(samples: list[tuple[str, str, bool]]) -> None:
    rollouts = [rollout(state=state, content=content) for state, content, _ in samples]
    for sample, (_, _, dropped) in zip(rollouts, samples, strict=True):
        if dropped:
            sample.drop("hygiene", "gibberish")
    question, notes = verified(asked(*rollouts))
    (found,) = question.pass_rates
    assert found.n == len(samples) == notes.total()
    assert found.correct + found.wrong + found.truncated + found.unscored == found.n
    assert found.truncated == sum(state in ("truncated", "looped") for state, _, _ in samples)
    assert question.n_scored == found.correct + found.wrong
    assert all((sample.verdict is None) is not sample.live for sample in rollouts)
