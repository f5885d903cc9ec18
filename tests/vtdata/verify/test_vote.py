from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtdata.errors import ConfigError
from vtdata.verify import Majority, key, majority


def vote(*answers: str | None, min_votes: int = 1, min_share: float = 0.5) -> Majority:
    return majority(answers, min_votes=min_votes, min_share=min_share)


@pytest.mark.parametrize(
    ("answers", "min_votes", "min_share", "reason"),
    [
        (["1", "1", "1", "2"], 3, 0.75, "majority"),  # both thresholds just met
        (["1", "1", "1", "2"], 4, 0.75, "too_few_votes"),
        (["1", "1", "1", "2"], 3, 0.76, "too_low_share"),
        (["1", "1", "1", None], 3, 0.75, "majority"),
        (["1", "1", "1", None, None], 3, 0.75, "too_low_share"),  # abstentions count against it
        (["1", "1", "2", "2"], 1, 0.1, "tie"),
        (["1", "1", "2", "2", "1"], 1, 0.6, "majority"),
        (["1", "2"], 3, 0.1, "tie"),
        ([None, None], 1, 0.1, "no_answers"),
        ([], 1, 0.1, "no_answers"),
        (["", "$ $"], 1, 0.1, "no_answers"),  # nothing is no answer
    ],
)
def test_no_label_without_agreement(
    answers: list[str | None], min_votes: int, min_share: float, reason: str
) -> None:
    result = vote(*answers, min_votes=min_votes, min_share=min_share)
    assert result.reason == reason
    assert (result.answer is not None) == (reason == "majority")


def test_the_share_is_of_those_asked() -> None:
    asked = {n: majority(["1"] * 3, min_votes=1, min_share=0.6, asked=n) for n in (3, 5, 6)}
    assert [asked[n].reason for n in (3, 5, 6)] == ["majority", "majority", "too_low_share"]
    assert [asked[n].abstained for n in (3, 5, 6)] == [0, 2, 3]


def test_fewer_asked_than_answered_is_an_error() -> None:
    with pytest.raises(ConfigError, match="a vote among 1 rollouts can't have 2 answers"):
        majority(["1", "2"], min_votes=1, min_share=0.5, asked=1)


def test_counts_and_classes() -> None:
    result = vote("2", "1", "1.0", None, "2/2", "x")
    assert (result.votes, result.asked, result.abstained, result.margin) == (3, 6, 1, 2)
    assert result.classes == (1, 0, 0, None, 0, 2)  # the largest first, equal ones by key


@pytest.mark.parametrize(
    ("answers", "shown"),
    [
        (["1/2", "0.5", "0.5"], "0.5"),  # most frequent
        (["1/2", "0.50"], "1/2"),  # then shortest
        (["2/4", "1/2"], "1/2"),  # then first by alphabet
    ],
)
def test_the_spelling_that_is_shown(answers: list[str], shown: str) -> None:
    assert vote(*answers).answer == shown
    assert vote(*reversed(answers)).answer == shown


SPELLINGS = ["1", "1.0", "2/2", "2", "02", "x", r"\text{x}", "y", "50%", "1/2", "", None]


@given(st.lists(st.sampled_from(SPELLINGS), max_size=12), st.randoms(use_true_random=False))
def test_a_permutation_changes_nothing(answers: list[str | None], random: object) -> None:
    order = list(range(len(answers)))
    random.shuffle(order)  # ty: ignore[unresolved-attribute]
    one, other = vote(*answers), vote(*(answers[at] for at in order))
    assert [one.classes[at] for at in order] == list(other.classes)
    assert (one.answer, one.reason, one.votes, one.margin, one.abstained) == (
        other.answer,
        other.reason,
        other.votes,
        other.margin,
        other.abstained,
    )


@given(st.lists(st.sampled_from(SPELLINGS), max_size=12))
def test_classes_are_numbered_from_the_largest(answers: list[str | None]) -> None:
    result = vote(*answers)
    sizes = Counter(index for index in result.classes if index is not None)
    assert sorted(sizes) == list(range(len(sizes)))
    assert [sizes[index] for index in sorted(sizes)] == sorted(sizes.values(), reverse=True)
    assert sum(sizes.values()) + result.abstained == result.asked
    if result.answer is not None:
        winner = [a for a, c in zip(answers, result.classes, strict=True) if c == 0]
        assert result.answer in winner
        assert len(winner) == result.votes


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("0.5", r"\frac12", True),
        ("50%", "0.5", True),
        ("-0", "0", True),
        ("(1,2)", "(1, 2)", True),
        ("1,2", "12", False),
        ("x=1", "1", False),
        ("2", "3", False),
    ],
)
def test_one_key_is_one_class(one: str, other: str, same: bool) -> None:
    assert (key(one) == key(other)) is same


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("b", "option 1"), ("42", "option 1"), ("A, B", "option 0,1"), ("C", None), ("7", None)],
)
def test_a_choice_is_keyed_by_option(answer: str, expected: str | None) -> None:
    assert key(answer, "choice", ["41", "42"]) == expected


def test_a_huge_number_has_a_key() -> None:
    assert key("1e3999") == key(r"10^{3999}") != key("1e3998")
