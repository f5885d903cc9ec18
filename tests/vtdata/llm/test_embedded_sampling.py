from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch", reason='needs torch: pip install "vtdata[local]"')

import torch

from vtdata.llm.embedded.sampling import Draw, Sampling, pick

PROBS = [0.5, 0.25, 0.125, 0.0625, 0.0625]


def logits(*rows: list[float]) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.float32)


def drawn(rule: Sampling, probs: list[float], times: int = 400, prompt: tuple[int, ...] = ()):
    line = torch.tensor([probs]).log()
    row = Draw(rule, 7, list(prompt))
    return Counter(pick(line, [row])[0] for _ in range(times))


@pytest.mark.parametrize(
    ("rule", "allowed"),
    [
        (Sampling(9), {0, 1, 2, 3, 4}),
        (Sampling(9, temperature=0), {0}),
        (Sampling(9, top_k=2), {0, 1}),
        (Sampling(9, top_k=0), {0, 1, 2, 3, 4}),
        (Sampling(9, top_p=0.5), {0}),  # the smallest set that reaches top_p
        (Sampling(9, top_p=0.51), {0, 1}),
        (Sampling(9, min_p=0.5), {0, 1}),
        (Sampling(9, min_p=0.51), {0}),
        (Sampling(9, top_k=2, top_p=0.7), {0, 1}),  # of the 0.75 that are left, 0.5 is 0.67
        (Sampling(9, top_k=2, top_p=0.6), {0}),
    ],
)
def test_what_may_be_drawn(rule: Sampling, allowed: set[int]) -> None:
    assert set(drawn(rule, PROBS)) == allowed


def test_a_nucleus_wider_than_the_sorted_head() -> None:
    probs = [1 / 1000] * 1000
    assert len(drawn(Sampling(9, top_p=0.9), probs, 1500)) > 500
    assert len(drawn(Sampling(9, top_k=600), probs, 1500)) > 300


def test_frequencies_follow_the_probabilities_and_the_temperature() -> None:
    plain = drawn(Sampling(9), PROBS, 2000)
    assert [plain[i] / 2000 for i in range(5)] == pytest.approx(PROBS, abs=0.04)
    hot = drawn(Sampling(9, temperature=2.0), PROBS, 2000)
    weights = [p**0.5 for p in PROBS]
    assert hot[0] / 2000 == pytest.approx(weights[0] / sum(weights), abs=0.04)


def test_repetition_penalty_counts_the_prompt_and_the_response() -> None:
    line = logits([2.0, 1.5, -1.0])
    row = Draw(Sampling(9, temperature=0, repetition_penalty=2.0), 0, [0])
    assert [pick(line, [row])[0] for _ in range(3)] == [1, 0, 0]  # 2/2 < 1.5; then 1.0 > 0.75
    assert line.tolist() == [[2.0, 1.5, -1.0]]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6), st.integers(0, 2**63))
def test_a_row_does_not_depend_on_its_neighbors(kinds: list[int], seed: int) -> None:
    rules = [
        Sampling(9),
        Sampling(9, temperature=0),
        Sampling(9, temperature=0.7, top_p=0.8, top_k=40, min_p=0.01),
        Sampling(9, repetition_penalty=1.3),
    ]
    table = torch.randn(len(kinds), 500, generator=torch.Generator().manual_seed(1)) * 3
    together = pick(table, [Draw(rules[k], seed + i, [1, 2]) for i, k in enumerate(kinds)])
    alone = [
        pick(table[i : i + 1], [Draw(rules[k], seed + i, [1, 2])])[0] for i, k in enumerate(kinds)
    ]
    assert together == alone
