"""Verdicts: both sides of each threshold, one row at a time."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtdata.decontam.candidate import CANDIDATE, VERDICTS
from vtdata.decontam.profile import EVIDENCE, PAPER, Profile, judge, profile
from vtdata.errors import ConfigError

EXACT = {"n_equal": 20, "n_pieces": 20, "longest_run": 20, "alignment": 100.0, "density": 1.0}
NEAR = {"n_equal": 15, "n_pieces": 20, "longest_run": 6, "alignment": 75.0, "density": 0.6}
PART = {"n_equal": 10, "n_pieces": 30, "longest_run": 6, "alignment": 30.0, "density": 0.85,
        "weight": 10.0}  # fmt: skip
TINY = {"n_equal": 9, "n_pieces": 10, "longest_run": 5, "alignment": 90.0, "density": 1.0}
GLUED = {"n_equal": 8, "n_pieces": 20, "longest_run": 4, "alignment": 40.0, "density": 0.4,
         "characters": 0.85}  # fmt: skip
SWAPPED = {"n_equal": 13, "n_pieces": 20, "longest_run": 4, "alignment": 60.0, "density": 0.6,
           "template": 0.7, "numbers_changed": 2}  # fmt: skip
SHORT = {"rule": "short", "n_equal": 4, "n_pieces": 4, "coverage": 1.0}
PROMPT = {"rule": "prompt", "similarity": 0.47}


def row(**known: Any) -> dict[str, Any]:
    """A candidate that has what is named and nothing else."""
    rest = {field.name: None if field.nullable else 0 for field in CANDIDATE}
    return {**rest, "bench": "b", "item_field": "q", "rule": "grams", "n_pieces": 20, **known}


def table(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=CANDIDATE)


def verdict(known: dict[str, Any], chosen: Profile = EVIDENCE) -> tuple[str | None, float]:
    found = judge(table(row(**known)), chosen)
    return found["verdict"][0].as_py(), found["strength"][0].as_py()


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({}, None),
        (EXACT, "exact"),
        ({**EXACT, "n_pieces": 10, "longest_run": 10, "n_equal": 10}, "exact"),
        # Of nine pieces, too few to be told from chance, but near: nothing is missing.
        ({**EXACT, "n_pieces": 9, "longest_run": 9, "n_equal": 9}, "near"),
        ({**EXACT, "n_pieces": 6, "longest_run": 6, "n_equal": 6}, "near"),
        ({**EXACT, "n_pieces": 5, "longest_run": 5, "n_equal": 5}, None),
        ({**EXACT, "longest_run": 19}, "near"),
        (NEAR, "near"),
        ({**NEAR, "alignment": 74.9}, None),
        ({**NEAR, "n_equal": 12}, "near"),  # 0.8 of the share by count
        ({**NEAR, "n_equal": 11}, None),
        ({**NEAR, "numbers_changed": 1}, None),  # other numbers, and no figure for a template
        ({**NEAR, "numbers_changed": 1, "template": 0.8}, "template"),
        ({**NEAR, "n_pieces": 12, "n_equal": 9}, "near"),  # the smallest that isn't tiny
        ({**NEAR, "n_pieces": 11, "n_equal": 9}, None),
        (PART, "near"),
        ({**PART, "alignment": 29.9}, None),
        ({**PART, "density": 0.849}, None),
        ({**PART, "weight": 9.99}, None),
        ({**PART, "numbers_changed": 1}, None),
        (TINY, "near"),
        ({**TINY, "alignment": 89.0}, None),
        ({**TINY, "n_equal": 8}, None),
        ({**TINY, "density": 0.95}, "near"),
        ({**TINY, "density": 0.949}, None),
        ({**TINY, "numbers_changed": 1}, None),
        (GLUED, "near"),
        ({**GLUED, "alignment": 39.9}, None),
        ({**GLUED, "characters": 0.849}, None),
        ({**GLUED, "characters": None}, None),
        (SWAPPED, "template"),
        ({**SWAPPED, "template": 0.699}, None),
        ({**SWAPPED, "numbers_changed": 0}, None),
        ({**SWAPPED, "n_pieces": 6}, "template"),
        ({**SWAPPED, "n_pieces": 5}, None),
        ({**SWAPPED, "rule": "template"}, "template"),  # found with numbers masked
        ({**NEAR, "rule": "template"}, None),  # which brings nothing but templates
        ({**EXACT, "rule": "template"}, None),
        (SHORT, "short_exact"),
        ({**SHORT, "numbers_changed": 1}, "short_exact"),
        (PROMPT, "suspect"),
        ({**PROMPT, "similarity": 0.469}, None),
        ({**PROMPT, "similarity": 1.0}, "suspect"),
        ({"similarity": 0.1}, None),
    ],
)  # fmt: skip
def test_verdicts_under_evidence(known: dict[str, Any], expected: str | None) -> None:
    assert verdict(known)[0] == expected


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"n_shared": 1, "longest_run": 10, "n_tokens": 40}, "near"),
        ({"n_shared": 1, "longest_run": 39, "n_tokens": 40}, "near"),
        ({"n_shared": 31, "longest_run": 40, "n_tokens": 40}, "exact"),
        ({"n_shared": 40, "longest_run": 55, "n_tokens": 40}, "exact"),
        (SHORT, "short_exact"),
    ],
)
def test_verdicts_under_paper(known: dict[str, Any], expected: str) -> None:
    assert verdict(known, PAPER)[0] == expected


@pytest.mark.parametrize(
    ("known", "strength"),
    [
        (EXACT, 1.0),
        (SHORT, 1.0),
        (NEAR, 0.75),
        (GLUED, 0.85),  # the better of both measures
        (SWAPPED, 0.35),  # a template is half as strong as a copy
        (PROMPT, 0.235),
    ],
)
def test_strength_sorts_copies_before_templates_before_suspects(
    known: dict[str, Any], strength: float
) -> None:
    assert verdict(known)[1] == pytest.approx(strength, abs=1e-4)


def test_strength_under_paper_is_coverage() -> None:
    known = {"longest_run": 10, "n_tokens": 40, "coverage": 0.25}
    assert verdict(known, PAPER)[1] == 0.25


@pytest.mark.parametrize(
    ("threshold", "value", "known", "before", "after"),
    [
        ("near_share", 0.7, {**NEAR, "alignment": 71.0}, None, "near"),
        ("part_share", 0.4, {**PART, "alignment": 35.0}, "near", None),
        ("part_density", 0.9, PART, "near", None),
        ("part_weight", 9.0, {**PART, "weight": 9.5}, None, "near"),
        ("tiny_pieces", 10, TINY, "near", "near"),
        ("tiny_pieces", 10, {**TINY, "density": 0.5}, None, "near"),
        ("exact_pieces", 21, EXACT, "exact", "near"),
        ("glued_share", 0.5, GLUED, "near", None),
        ("glued_similarity", 0.9, GLUED, "near", None),
        ("template_share", 0.8, SWAPPED, "template", None),
        ("suspect_similarity", 0.6, PROMPT, "suspect", None),
    ],
)
def test_thresholds_are_settings(
    threshold: str, value: float, known: dict[str, Any], before: str | None, after: str | None
) -> None:
    changed = profile("evidence", **{threshold: value})
    assert (verdict(known)[0], verdict(known, changed)[0]) == (before, after)


SHARES = st.one_of(st.none(), st.sampled_from([0.0, 0.3, 0.4, 0.7, 0.75, 0.85, 0.9, 1.0]))
ROWS = st.fixed_dictionaries(
    {
        "rule": st.sampled_from(["grams", "short", "prompt", "template"]),
        "alignment": st.one_of(st.none(), st.sampled_from([0.0, 30.0, 40.0, 75.0, 90.0, 100.0])),
        "template": SHARES,
        "density": SHARES,
        "characters": SHARES,
        "similarity": SHARES,
        "weight": st.one_of(st.none(), st.sampled_from([0.0, 9.5, 10.0, 30.0])),
        "coverage": st.sampled_from([0.0, 0.12, 0.5, 1.0]),
        "n_equal": st.integers(0, 25),
        "n_pieces": st.integers(0, 25),
        "longest_run": st.integers(0, 25),
        "n_tokens": st.integers(0, 25),
        "numbers_changed": st.integers(0, 2),
    }
)


@given(st.lists(ROWS, max_size=8), st.sampled_from([EVIDENCE, PAPER]))
def test_each_row_is_judged_by_itself(rows: list[dict[str, Any]], chosen: Profile) -> None:
    whole = judge(table(*(row(**known) for known in rows)), chosen)
    alone = [verdict(known, chosen) for known in rows]
    found = zip(whole["verdict"].to_pylist(), whole["strength"].to_pylist(), strict=True)
    assert list(found) == alone
    assert all(0 <= strength <= 1 for _, strength in alone)
    assert {name for name, _ in alone} <= {*VERDICTS, None}
    assert whole.select(CANDIDATE.names) == table(*(row(**known) for known in rows))


@pytest.mark.parametrize(
    ("change", "scans"),
    [
        ({"n": 6}, True),
        ({"short_words": 8}, True),
        ({"min_coverage": 0.2}, True),
        ({"near_share": 0.8}, False),
        ({"template_share": 0.8}, False),
        ({"suspect_similarity": 0.6}, False),
    ],
)
def test_only_what_changes_candidates_asks_for_a_scan(
    change: dict[str, float], scans: bool
) -> None:
    assert (profile("evidence", **change).hash != EVIDENCE.hash) is scans


def test_the_profiles_have_names_and_versions() -> None:
    assert EVIDENCE.label.startswith("evidence-1.")
    assert PAPER.label.startswith("paper-1.")
    assert EVIDENCE.hash != PAPER.hash
    assert (PAPER.n, PAPER.form, PAPER.thresholds["n"]) == (10, "paper", 10)


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        profile("papr")
    assert str(caught.value) == "profile 'papr' is not in evidence, paper; did you mean 'paper'?"


def test_an_unknown_threshold_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        profile("evidence", near_shre=0.8)
    said = "profile 'evidence' has no 'near_shre'; did you mean 'near_share'?"
    assert str(caught.value) == said


def test_thresholds_of_verdicts_need_no_scan() -> None:
    assert profile("evidence", near_share=0.9, suspect_similarity=0.6).hash == EVIDENCE.hash
    assert profile("evidence", suspect_similarity=0.42, glued_share=0.3).hash == EVIDENCE.hash
    for change in ({"min_coverage": 0.2}, {"suspect_similarity": 0.41}, {"glued_share": 0.29}):
        assert profile("evidence", **change).hash != EVIDENCE.hash
