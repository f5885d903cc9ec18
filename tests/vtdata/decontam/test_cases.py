"""Planted contamination, real benchmarks: what each profile has to find, and what it must leave.

The table itself: `tests.bench.bench_decontam_cases`, which also says what is wrong with the truth.
"""

from __future__ import annotations

import pytest

from tests.bench.bench_decontam_cases import (
    CASES,
    FILES,
    SAME,
    SHARED,
    Judged,
    benchmark,
    by_kind,
    cases,
    items_right,
    judged,
    share_of,
    share_with,
)
from vtdata.decontam.candidate import DROPPED
from vtdata.decontam.index import build
from vtdata.decontam.profile import profile

pytestmark = pytest.mark.skipif(
    not (CASES / "corpus.parquet").is_file() or not (SHARED / "benchmarks").is_dir(),
    reason="the planted corpus and the benchmarks of ../shared are not here",
)

Kinds = dict[str, list[Judged]]


@pytest.fixture(scope="module")
def found() -> dict[str, Kinds]:
    """Documents by kind, under each profile."""
    benchmarks = tuple(benchmark(name) for name in FILES)
    corpus = cases(benchmarks)
    return {
        name: by_kind(judged(build(benchmarks, profile(name)), corpus))
        for name in ("evidence", "paper")
    }


@pytest.mark.parametrize(
    ("kind", "least"),
    [
        ("verbatim", 1.0),
        ("case_punct", 1.0),
        ("latex_fmt", 1.0),
        ("embedded", 1.0),
        ("short_10_12", 1.0),
        ("cjk_verbatim", 1.0),
        ("light_edit", 0.99),
        ("unicode_math", 0.99),
        ("cross_copy", 0.97),
        ("heavy_edit", 0.95),
        ("truncated", 0.94),
        ("short_lt10", 0.95),
        (SAME, 1.0),
    ],
)
def test_evidence_drops_what_is_the_item(found: dict[str, Kinds], kind: str, least: float) -> None:
    documents = found["evidence"][kind]
    missed = [one.case.id for one in documents if not one.is_dropped]
    assert share_of(documents, *DROPPED) >= least, missed


def test_evidence_calls_other_numbers_a_template(found: dict[str, Kinds]) -> None:
    assert share_of(found["evidence"]["number_swap"], "template") >= 0.95


def test_evidence_suspects_paraphrases_and_few_clean_prompts(found: dict[str, Kinds]) -> None:
    kinds = found["evidence"]
    assert share_with(kinds["paraphrase"], "suspect") >= 0.5
    assert share_with(kinds["clean"], "suspect") <= 0.08
    # Chinese translations are known by their numbers alone, of which few have enough.
    assert share_with(kinds["translated_zh"], "suspect") >= 0.25


def test_evidence_drops_hardly_any_clean_document(found: dict[str, Kinds]) -> None:
    assert share_of(found["evidence"]["clean"], *DROPPED) <= 0.015


def test_evidence_names_the_true_item(found: dict[str, Kinds]) -> None:
    among, first = items_right(found["evidence"])
    assert among >= 0.97
    assert first >= 0.92


def test_an_embedded_item_is_found_in_the_response(found: dict[str, Kinds]) -> None:
    sides = {
        hit["side"]
        for one in found["evidence"]["embedded"]
        for hit in one.hits
        if (hit["bench"], hit["item"]) in one.case.items and hit["verdict"] in DROPPED
    }
    assert sides == {"response"}


@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [
        ("verbatim", 1.0, 1.0),
        ("case_punct", 1.0, 1.0),
        ("embedded", 0.99, 1.0),
        ("cjk_verbatim", 1.0, 1.0),
        ("short_10_12", 1.0, 1.0),
        ("short_lt10", 0.95, 1.0),  # by our rule for items of less than ten words
        ("truncated", 0.95, 1.0),
        ("cross_copy", 0.95, 1.0),
        # What a 10-gram can't see, and why there is another profile:
        ("heavy_edit", 0.0, 0.3),
        ("paraphrase", 0.0, 0.05),
        ("clean", 0.015, 0.05),
    ],
)
def test_paper_finds_what_shares_ten_words(
    found: dict[str, Kinds], kind: str, least: float, most: float
) -> None:
    assert least <= share_of(found["paper"][kind], *DROPPED) <= most


def test_paper_has_no_template_and_no_suspect(found: dict[str, Kinds]) -> None:
    documents = [one for kind in found["paper"].values() for one in kind]
    assert share_with(documents, "template") == share_with(documents, "suspect") == 0
