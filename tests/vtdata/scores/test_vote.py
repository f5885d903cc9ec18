from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.factories import query, rate, rollout
from vtdata.errors import DataError
from vtdata.records import Query, Rollout, Verdict, Verifier
from vtdata.records import Vote as VoteRecord
from vtdata.scores.verify import Verify
from vtdata.scores.vote import Vote
from vtdata.steps import Context

CTX = Context(seed=1)


def said(answer: str | None, **changes: object) -> Rollout:
    content = "I give up." if answer is None else rf"\boxed{{{answer}}}"
    return rollout(content=content, **changes)


def open_query(*answers: str | None, **changes: object) -> Query:
    """A query whose label is to come, with its rollouts verified."""
    values = {"verifier": Verifier("vote"), "answer": None, **changes}
    rollouts = [said(answer, sample_idx=at, verdict=None) for at, answer in enumerate(answers)]
    question = query(rollouts=rollouts, **values)
    Verify().process(question, CTX)
    return question


def voted(question: Query, **settings: object) -> Query:
    assert Vote(**settings).process(question, CTX) == [question]
    return question


def test_the_winner_becomes_the_label() -> None:
    question = voted(open_query("4", "4.0", "8/2", "4", "5", "7", None, "4"))
    assert question.live
    assert question.answer == "4"
    assert question.verifier.kind == "vote"  # so that nobody takes it for a gold answer
    assert question.vote == VoteRecord(
        "teacher",
        "4",
        votes=5,
        asked=8,
        abstained=1,
        margin=4,
        reason="majority",
        answer_type="numeric",
        num_classes=3,
        undecided=question.vote.undecided if question.vote else None,
        conflicts=0,
    )
    assert [r.answer_class for r in question.rollouts] == [0, 0, 0, 0, 1, 2, None, 0]
    rewards = [r.verdict.reward for r in question.rollouts if r.verdict]
    assert rewards == [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    assert question.pass_rates == [rate(1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0)]
    assert (question.n_correct, question.n_scored) == (5, 8)


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (["4"] * 5 + ["5"] * 3, None),  # 0.625 of 8
        (["4"] * 6 + ["5"] * 4, None),  # 0.6 of 10, the default, just met
        (["4"] * 4 + ["5"] * 3, "too_low_share"),  # 0.571 of 7
        (["4"] * 4 + [None] * 2, None),
        (["4"] * 4 + [None] * 3, "too_low_share"),  # abstentions count against it
        (["4"] * 3, "too_few_votes"),
        (["4"] * 4 + ["5"] * 4, "tie"),
        ([None] * 4, "no_answers"),
        (["yes"] * 8, "binary_vote"),
        (["是"] * 8, "binary_vote"),
        (["Paris"] * 8, None),
    ],
)
def test_without_agreement_the_query_goes(answers: list[str | None], reason: str | None) -> None:
    question = voted(open_query(*answers))
    assert question.drop_reason == reason
    assert (question.answer is None) is (reason is not None)
    assert reason is None or reason in Vote.reasons


def test_options_get_no_label_by_default() -> None:
    assert voted(open_query(*"AAAAA", options=["4", "5"])).drop_reason == "choice_vote"
    labeled = voted(
        open_query("A", "4", "(a)", "A. 4", "B", options=["4", "5"]), min_share_by={"choice": 0.8}
    )
    assert (labeled.live, labeled.answer) == (True, "4")
    assert [r.answer_class for r in labeled.rollouts] == [0, 0, 0, 0, 1]
    assert (labeled.n_correct, labeled.n_scored) == (4, 5)


def test_binary_questions_get_a_label_where_the_recipe_says_so() -> None:
    assert voted(open_query(*["Yes"] * 4), min_share_by={"binary": 1.0}).answer == "Yes"


def test_a_share_of_its_own_for_a_type() -> None:
    words = ["Paris"] * 6 + ["Rome"] * 3
    assert voted(open_query(*words)).answer == "Paris"
    assert voted(open_query(*words), min_share_by={"text": 0.75}).drop_reason == "too_low_share"
    assert voted(open_query(*words), min_share_by={"text": None}).drop_reason == "text_vote"
    assert voted(open_query(*words), min_share_by={"numeric": 1.0}).answer == "Paris"


@pytest.mark.parametrize("by", [{"number": 0.5}, {"text": 0.0}, {"text": 1.5}, {"text": "most"}])
def test_what_no_share_can_be_is_an_error(by: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Vote(min_share_by=by)  # ty: ignore[invalid-argument-type] - that is the point


def test_who_voted_for_something_else_is_not_right() -> None:
    question = voted(open_query(*["5"] * 4, "5 cm", "5 cm", "5 m"))
    assert (question.answer, question.vote.votes if question.vote else 0) == ("5", 6)
    verdicts = [r.verdict for r in question.rollouts if r.verdict]
    assert [verdict.reward for verdict in verdicts] == [1.0] * 6 + [None]
    assert verdicts[-1].reason == "other_class"


def test_undecided_pairs_and_conflicts_are_kept() -> None:
    notes: Counter[str] = Counter()
    question = open_query(*["4"] * 4, "x+y*z", "a-b*c")
    Vote().process(question, Context(seed=1, note=lambda name, n: notes.update({name: n})))
    assert question.vote is not None
    assert question.vote.num_classes == 3
    assert (question.vote.share, question.vote.conflicts) == (4 / 6, 0)
    assert notes["undecided_pairs"] == (question.vote.undecided or 0)


@pytest.mark.parametrize("state", ["truncated", "looped", "failed", "empty", "refused"])
def test_an_unfinished_rollout_never_votes(state: str) -> None:
    question = open_query("4", "4", "4", "4")
    cut = said("4", state=state, sample_idx=4, verdict=Verdict(None, state, "vote", "4"))
    question.rollouts.append(cut)
    vote = voted(question).vote
    assert vote is not None
    assert (vote.votes, vote.asked, vote.abstained) == (4, 5, 1)
    assert cut.answer_class is None


def test_a_dropped_rollout_abstains() -> None:
    question = open_query(*["4"] * 5)
    question.rollouts[0].drop("hygiene", "gibberish")
    vote = voted(question).vote
    assert vote is not None
    assert (vote.votes, vote.asked, vote.abstained) == (4, 5, 1)


@pytest.mark.parametrize("answer", ["yes", "B"])
def test_a_record_of_agreement_needs_no_label(answer: str) -> None:
    question = voted(open_query(*[answer] * 8, verifier=Verifier("math"), answer=answer))
    assert question.vote is not None
    assert (question.vote.answer, question.vote.reason) == (answer, "majority")


def test_a_record_of_agreement_keeps_to_the_share_of_its_type() -> None:
    known = {"verifier": Verifier("math"), "answer": "Rome"}
    question = voted(open_query(*["Rome"] * 7, "Oslo", **known), min_share_by={"text": 0.9})
    assert question.vote is not None
    assert (question.vote.answer, question.vote.reason) == (None, "too_low_share")


def test_a_gold_answer_is_not_outvoted() -> None:
    question = open_query(*["5"] * 8, verifier=Verifier("math"), answer="4")
    voted(question)
    assert (question.live, question.answer) == (True, "4")
    assert question.vote is not None
    assert question.vote.answer == "5"
    assert question.pass_rates == [rate(*[0.0] * 8)]


@pytest.mark.parametrize("answers", [["4"] * 3, ["4"] * 4 + ["5"] * 4, ["yes"] * 8])
def test_a_query_with_a_gold_answer_stays_without_agreement(answers: list[str]) -> None:
    assert voted(open_query(*answers, verifier=Verifier("math"), answer="4")).live


def test_a_label_stays_when_another_set_votes() -> None:
    question = voted(open_query(*["4"] * 4))
    question.rollouts += [said("5", set="reference", sample_idx=at) for at in range(8)]
    Verify(of="reference").process(question, CTX)
    voted(question, of="reference")
    assert question.answer == "4"
    assert question.pass_rates[-1] == rate(*[0.0] * 8, of="reference")


@pytest.mark.parametrize("kind", ["code", "constraints", "rubric", "none"])
def test_programs_and_essays_do_not_vote(kind: str) -> None:
    notes: Counter[str] = Counter()
    question = query(1.0, 0.0, verifier=Verifier(kind))
    Vote().process(question, Context(seed=1, note=lambda name, n: notes.update({name: n})))
    assert (question.live, question.vote, notes) == (True, None, {"not_votable": 1})


def test_unverified_rollouts_are_an_error() -> None:
    question = query(1.0, None)
    question.rollouts[1].verdict = None
    with pytest.raises(DataError) as caught:
        voted(question)
    assert caught.value.reason == "not_verified"


ANSWERS = st.lists(st.sampled_from(["4", "4.0", "5", "x", None]), min_size=1, max_size=8)


@given(ANSWERS, st.randoms(use_true_random=False))
def test_the_order_of_rollouts_changes_nothing(answers: list[str | None], random: object) -> None:
    shuffled = list(answers)
    random.shuffle(shuffled)  # ty: ignore[unresolved-attribute]
    one, other = voted(open_query(*answers)), voted(open_query(*shuffled))
    assert (one.answer, one.vote, one.drop_reason) == (other.answer, other.vote, other.drop_reason)
    assert one.pass_rates == other.pass_rates


def test_the_vote_keeps_the_conventions_of_its_query() -> None:
    strict = Verifier("math", '{"policy": {"percent": "hundredth"}}')
    for verifier, classes in ((Verifier("math"), [0, 0, 1]), (strict, [0, 1, 2])):
        rollouts = [
            rollout(sample_idx=at, verdict=Verdict(1.0, "correct", "math", answer=text))
            for at, text in enumerate(("28", "28%", "29"))
        ]
        voted = query(rollouts=rollouts, verifier=verifier, answer="28")
        Vote(min_votes=1, min_share=0.1).process(voted, Context(seed=1))
        found = [r.answer_class for r in voted.rollouts]
        assert len(set(found)) == len(set(classes)), found
