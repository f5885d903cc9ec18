"""The window of a text in which most of an item stands, against trying all windows."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vtdata.decontam.compiled import compiled
from vtdata.decontam.windows import densest

N = 3


@dataclass(frozen=True)
class Groups:
    """Hits of several groups, as ``densest`` takes them."""

    tokens: list[list[int]]
    postings: list[list[int]]
    weight: list[float]
    limits: list[int]

    def run(self, loop=densest) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        borders = np.cumsum([0, *map(len, self.tokens)])
        found = np.zeros((len(self.tokens), 4), np.int64)
        score = np.zeros(len(self.tokens))
        seen = np.zeros(len(self.weight), np.int64)
        loop(
            borders,
            np.array([*chain(*self.tokens)], np.int64),
            np.array([*chain(*self.postings)], np.int64),
            np.array(self.weight),
            np.array(self.limits, np.int64),
            N,
            found,
            score,
            seen,
        )
        return found, score, seen


@st.composite
def groups(draw: st.DrawFn) -> Groups:
    tokens, postings, limits = [], [], []
    weight = draw(st.lists(st.integers(0, 8).map(lambda n: n / 4), min_size=1, max_size=5))
    for _ in range(draw(st.integers(0, 4))):
        own = sorted(draw(st.sets(st.integers(0, 40), min_size=1, max_size=12)))
        tokens.append(own)
        which = st.integers(0, len(weight) - 1)
        postings.append(draw(st.lists(which, min_size=len(own), max_size=len(own))))
        limits.append(draw(st.integers(N, 30)))
    return Groups(tokens, postings, weight, limits)


@given(groups())
def test_the_window_is_the_heaviest_of_all(given_groups: Groups) -> None:
    found, score, seen = given_groups.run()
    assert not seen.any()
    for g, (token, posting) in enumerate(
        zip(given_groups.tokens, given_groups.postings, strict=True)
    ):
        weights = {}
        for i in range(len(token)):
            for k in range(i, len(token)):
                if token[k] + N - token[i] <= given_groups.limits[g]:
                    weights[i, k] = sum(given_groups.weight[p] for p in set(posting[i : k + 1]))
        most = max(weights.values())
        assert score[g] == most
        before = sum(map(len, given_groups.tokens[:g]))
        first, last, distinct, run = found[g].tolist()
        own = first - before, last - before
        assert weights[own] == most
        assert distinct == len(set(posting[own[0] : own[1] + 1]))
        assert own[1] == min(k for (_, k), value in weights.items() if value == most)
        assert run == max(map(len, _runs(token))) + N - 1


def _runs(token: list[int]) -> list[list[int]]:
    runs = [[token[0]]]
    for own in token[1:]:
        if own == runs[-1][-1] + 1:
            runs[-1].append(own)
        else:
            runs.append([own])
    return runs


@pytest.mark.parametrize(
    ("limit", "score", "first", "last"),
    [
        (13, 3.0, 0, 2),  # three hits end at the limit
        (12, 2.0, 0, 1),  # and don't fit below it; the first of two equal windows counts
    ],
)
def test_a_window_may_be_as_long_as_its_limit(
    limit: int, score: float, first: int, last: int
) -> None:
    found, scores, _ = Groups([[0, 4, 10]], [[0, 1, 2]], [1.0, 1.0, 1.0], [limit]).run()
    assert (scores[0], found[0, 0], found[0, 1]) == (score, first, last)


def test_an_n_gram_that_is_there_twice_counts_once() -> None:
    found, scores, _ = Groups([[0, 1, 2, 3]], [[0, 1, 0, 1]], [1.0, 0.5], [30]).run()
    assert (scores[0], found[0, 2]) == (1.5, 2)


def test_no_hits_no_windows() -> None:
    found, scores, _ = Groups([], [], [1.0], []).run()
    assert len(found) == len(scores) == 0


@settings(max_examples=50)
@given(groups())
def test_compiled_code_finds_the_same(given_groups: Groups) -> None:
    import_module("vtdata.decontam.kernel.compiled")
    fast = compiled(densest)
    assert fast is not densest
    for plain, own in zip(given_groups.run(), given_groups.run(fast), strict=True):
        assert np.array_equal(plain, own)
