"""The generator of answers that benchmarks share says the truth about them."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.bench.mix import KINDS, pairs, polls
from vtdata.verify import key

NUM = 4_000


def test_the_pairs_are_a_vote_mix() -> None:
    found = pairs(NUM, seed=3)
    assert len({(pair.gold, pair.pred) for pair in found}) == len(found) == NUM
    kinds = Counter(pair.kind for pair in found)
    for kind, (share, _) in KINDS.items():
        assert kinds[kind] / NUM == pytest.approx(share, abs=0.03), kind
    assert sum(pair.equal for pair in found) / NUM == pytest.approx(0.4, abs=0.03)
    assert all(pair.gold != pair.pred for pair in found)
    assert found == pairs(NUM, seed=3) != pairs(NUM, seed=4)


def test_numbers_are_equal_where_it_says_so() -> None:
    for pair in pairs(NUM, seed=5):
        if pair.kind in ("integer", "fraction", "decimal"):
            assert (key(pair.gold) or "").startswith("number "), pair
            assert (key(pair.gold) == key(pair.pred)) is pair.equal, pair


def test_polls_know_what_their_answers_mean() -> None:
    found = list(polls(300, seed=2, asked=16))
    assert found == list(polls(300, seed=2, asked=16))
    for poll in found:
        assert [answer is None for answer in poll.answers] == [t is None for t in poll.truth]
        meant: dict[str, set[int | None]] = {}
        for answer, truth in zip(poll.answers, poll.truth, strict=True):
            if answer is not None:
                meant.setdefault(answer, set()).add(truth)
        assert all(len(found) == 1 for found in meant.values())
    right = [poll.truth.count(0) for poll in found]
    assert 8 < sum(right) / len(right) < 13
