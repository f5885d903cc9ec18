from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtdata.errors import ConfigError
from vtdata.verify import Majority, key, majority
from vtdata.verify.vote import MAX_LEADERS, TYPES, answer_type


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
    result = vote("2", "1", "1.0", None, "2/2", "7")
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
        ("50%", "0.5", False),  # nor 50: which it is, is settled among all answers
        ("50%", r"50.0\%", True),
        ("-0", "0", True),
        ("(1,2)", "(1, 2)", True),
        ("1,2", "12", False),
        ("x=1", "1", False),
        (r"\sqrt{12}", r"2\sqrt{3}", True),
        ("(x+1)(x-1)", "x^2-1", True),
        ("(1,2)", "(2,1)", False),
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


def pairs(*found: str) -> Callable[[str, str], bool | None]:
    """Equal where named as "a=b", undecided where named as "a?b", in this order only."""
    told = {tuple(pair.split(sign)): yes for pair in found for sign, yes in SIGNS if sign in pair}
    return lambda a, b: told.get((a, b), False)


SIGNS = (("=", True), ("?", None))


@pytest.mark.parametrize(
    ("answers", "told", "classes", "conflicts", "undecided"),
    [
        ("aab", ["a=b"], (0, 0, 0), 0, 0),
        ("aab", ["b=a"], (0, 0, 1), 0, 0),  # the leader is asked first, and once
        ("aab", ["a?b"], (0, 0, 1), 0, 1),  # what nobody can decide is not joined
        ("aaabbc", ["a=b", "b=c"], (0, 0, 0, 0, 0, 1), 0, 0),  # c equals a member, no leader
        ("aaabbc", ["a=c", "b=c"], (0, 0, 0, 1, 1, 0), 1, 0),  # two leaders: the larger, flagged
        ("aabbc", ["a=c", "b=c"], (0, 0, 1, 1, 2), 1, 0),  # equally large ones: it decides nothing
        ("aaabbc", ["a=b", "a=c", "b=c"], (0, 0, 0, 0, 0, 0), 0, 0),
        ("aaabbc", ["a=b", "a=c"], (0, 0, 0, 0, 0, 1), 1, 0),  # c is not b, which joined before
        ("aaabbc", ["a=b", "a=c", "b?c"], (0, 0, 0, 0, 0, 0), 0, 1),
        ("aaaabbbccd", ["a=c", "a=d", "b=d"], (0, 0, 0, 0, 1, 1, 1, 0, 0, 1), 1, 0),
        ("aaabbcc", ["b=c"], (1, 1, 1, 0, 0, 0, 0), 0, 0),  # the largest after joining
        ("ab", ["a=b"], (0, 0), 0, 0),
        ("ba", ["a=b"], (0, 0), 0, 0),  # equal votes: the key decides who leads
    ],
)
def test_a_key_joins_the_first_leader(
    answers: str, told: list[str], classes: tuple[int, ...], conflicts: int, undecided: int
) -> None:
    result = majority(list(answers), min_votes=1, min_share=0.1, same=pairs(*told))
    assert result.classes == classes
    assert (result.conflicts, result.undecided) == (conflicts, undecided)
    assert result.num_classes == len(set(classes))


@pytest.mark.parametrize(
    ("answers", "shown", "votes"),
    [
        (["28"] * 3 + ["28%"] * 2 + ["0.28"] * 2, "28", [5, 2]),
        (["0.28"] * 3 + ["28%"] * 2 + ["28"] * 2, "0.28", [5, 2]),
        (["28%"] * 3 + ["0.28"] * 2 + ["28"], "28%", [5, 1]),  # a percent is one of the two
        (["28%"] * 3 + ["28"] * 2 + ["0.28"], "28%", [5, 1]),
    ],
)
def test_a_percent_means_one_thing_in_a_vote(
    answers: list[str], shown: str, votes: list[int]
) -> None:
    either = pairs("28=28%", "28%=28", "0.28=28%", "28%=0.28")
    result = majority(answers, min_votes=1, min_share=0.1, same=either)
    sizes = Counter(result.classes)
    assert (result.answer, [sizes[0], sizes[1]]) == (shown, votes)


def test_algebra_joins_what_keys_hold_apart() -> None:
    roots = ["sqrt"] * 3 + ["root"] * 2 + ["5"]
    apart = majority(roots, min_votes=4, min_share=0.6, same=lambda _a, _b: None)
    joined = majority(roots, min_votes=4, min_share=0.6, same=pairs("sqrt=root"))
    assert (apart.reason, apart.answer, apart.undecided) == ("too_few_votes", None, 3)
    assert (joined.reason, joined.answer, joined.votes, joined.margin) == ("majority", "sqrt", 5, 4)
    assert (apart.share, joined.share) == (0.5, 5 / 6)


def test_choices_are_told_apart_by_their_keys_alone() -> None:
    def never(_a: str, _b: str) -> bool | None:
        raise AssertionError("asked about two options")

    by = {"choice": 0.5}
    options = ["41", "42"]
    result = majority(
        ["a", "41", "(A)", "b"],
        min_votes=1,
        min_share=1.0,
        min_share_by=by,
        kind="choice",
        options=options,
        same=never,
    )
    assert (result.votes, result.reason, result.answer_type) == (3, "majority", "choice")


def test_the_questions_about_pairs_are_bounded() -> None:
    asked: Counter[tuple[str, str]] = Counter()

    def same(a: str, b: str) -> bool:
        asked[a, b] += 1
        return False

    num = MAX_LEADERS + 4
    names = [f"word{'abcdefghijklmnopqrstuvwxyz'[at]}" for at in range(num)]
    result = majority(names * 2, min_votes=1, min_share=0.01, same=same)
    assert max(asked.values()) == 1
    assert asked.total() == MAX_LEADERS * (MAX_LEADERS - 1) // 2 + 4 * MAX_LEADERS
    assert result.num_classes == num
    assert result.undecided == 0 + 1 + 2 + 3  # those beyond the bound


def test_choices_are_never_undecided() -> None:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    result = majority(
        list(letters),
        min_votes=1,
        min_share=0.01,
        kind="choice",
        options=[f"option {number}" for number in range(len(letters))],
    )
    assert (result.num_classes, result.undecided) == (len(letters), 0)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("-3", "numeric"),
        (r"50\%", "numeric"),
        ("1,234.5", "numeric"),
        (r"12\text{ cm}", "numeric"),
        (r"30^\circ", "numeric"),
        ("5 m/s^2", "numeric"),
        (r"2\sqrt{3}", "expression"),
        ("2x", "expression"),
        ("xy", "expression"),
        (r"\infty", "expression"),
        ("x=3", "numeric"),
        ("f(x)=2x", "expression"),
        ("x^2+1=0", "expression"),
        ("3:30", "numeric"),
        ("101_2", "numeric"),
        ("1, 2", "set"),
        ("[0,1)", "set"),
        (r"\{1,2\}", "set"),
        (r"\begin{pmatrix}1\end{pmatrix}", "set"),
        ("Paris", "text"),
        ("the second one", "text"),
        ("巴黎", "text"),
        ("New York", "text"),
        ("C", "choice"),
        ("(B)", "choice"),
        ("x", "expression"),
        ("True", "binary"),
        (r"\text{No}", "binary"),
        ("错", "binary"),
    ],
)
def test_the_type_of_an_answer(answer: str, expected: str) -> None:
    assert answer_type(answer) == expected
    assert answer_type(answer, "choice") == answer_type(answer, "math", ["1", "2"]) == "choice"


@pytest.mark.parametrize(
    ("answers", "by", "reason"),
    [
        (["yes"] * 8, None, "binary_vote"),
        (["B"] * 8, {}, "choice_vote"),
        (["yes"] * 8, {"binary": 1.0}, "majority"),
        (["yes"] * 7 + ["no"], {"binary": 1.0}, "too_low_share"),
        (["yes"] * 8, {"choice": 0.5}, "binary_vote"),
        (["Paris"] * 6 + ["Rome"] * 2, {"text": 0.75}, "majority"),
        (["Paris"] * 6 + ["Rome"] * 2, {"text": 0.76}, "too_low_share"),
        (["7"] * 6 + ["8"] * 2, {"text": 0.76}, "majority"),
        (["7"] * 8, {"numeric": None}, "numeric_vote"),
        (["yes"] * 4 + ["no"] * 4, None, "tie"),
        (["yes"] * 3, {"binary": 0.5}, "too_few_votes"),
    ],
)
def test_a_share_for_each_type(
    answers: list[str], by: dict[str, float | None] | None, reason: str
) -> None:
    result = majority(answers, min_votes=4, min_share=0.6, min_share_by=by)
    assert result.reason == reason
    assert (result.answer is None) is (reason != "majority")


def test_an_unknown_type_is_an_error() -> None:
    with pytest.raises(ConfigError) as caught:
        majority(["1"], min_votes=1, min_share=0.5, min_share_by={"number": 0.5})
    assert str(caught.value).startswith("min_share_by: no answer type 'number';")
    assert str(caught.value).endswith(", ".join(TYPES))


def noise(seed: int) -> Callable[[str, str], bool | None]:
    """An arbitrary relation: neither transitive nor symmetric, the same for the same pair."""

    def same(a: str, b: str) -> bool | None:
        raw = f"{seed}|{a}|{b}".encode("utf-8", "surrogatepass")
        return (True, False, False, None)[hashlib.blake2b(raw).digest()[0] % 4]

    return same


ANY = st.lists(st.none() | st.text(max_size=6) | st.sampled_from(SPELLINGS), max_size=24)


@given(ANY, st.randoms(use_true_random=False), st.integers(0, 10_000))
def test_any_order_gives_the_same_classes_whatever_is_equal(
    answers: list[str | None], random: Random, seed: int
) -> None:
    order = list(range(len(answers)))
    random.shuffle(order)
    shuffled = [answers[at] for at in order]
    one, other = (
        majority(found, min_votes=2, min_share=0.3, same=noise(seed))
        for found in (answers, shuffled)
    )
    assert [one.classes[at] for at in order] == list(other.classes)
    told = [getattr(one, name) for name in Majority.__slots__ if name != "classes"]
    assert told == [getattr(other, name) for name in Majority.__slots__ if name != "classes"]
    assert one.abstained >= answers.count(None)
    assert one.abstained + sum(index is not None for index in one.classes) == len(answers)


@given(ANY, st.sampled_from(["math", "choice"]), st.lists(st.text(max_size=4), max_size=4))
def test_no_text_is_too_odd_to_vote(
    answers: list[str | None], kind: str, options: list[str]
) -> None:
    result = majority(answers, min_votes=1, min_share=0.1, kind=kind, options=options)
    assert result.answer_type in (*TYPES, None)
    assert (result.answer_type is None) is (result.num_classes == 0)


# Triples of which math-verify holds the first two and the last two for the same, but not the ends.
TRIPLES = [
    ("28", r"28\%", "0.28"),
    ("x=3", "3", "y=3"),
    ("1<x<2", "(1,2)", "1<y<2"),
    ("(1,2)", "1,2", "(2,1)"),
    (r"1/2^{99}", "0.0000004", r"1/2^{40}"),
    ("5 cm", "5", "5 m"),
]


@pytest.mark.parametrize("triple", TRIPLES)
def test_no_order_of_a_non_transitive_triple_changes_the_vote(triple: tuple[str, str, str]) -> None:
    for counts in ((3, 2, 1), (2, 3, 1), (1, 1, 1), (1, 2, 2)):
        answers = [a for a, count in zip(triple, counts, strict=True) for _ in range(count)]
        found = set()
        for seed in range(6):
            shuffled = list(answers)
            Random(seed).shuffle(shuffled)
            result = majority(shuffled, min_votes=1, min_share=0.1)
            classes = dict(zip(shuffled, result.classes, strict=True))
            found.add((tuple(sorted(classes.items())), result.answer, result.votes))
            assert classes[triple[0]] != classes[triple[2]]  # what differs is never one class
        assert len(found) == 1
