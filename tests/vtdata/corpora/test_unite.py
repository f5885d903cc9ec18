from __future__ import annotations

import copy
import random
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtdata.corpora.licenses import BY_STRICTNESS, strictest
from vtdata.corpora.unite import same_answer, unite
from vtdata.records import Origin, Provenance, Query, Turn, Verifier, query_id


def query(
    answer: str | None = "42",
    source: str = "a",
    row: str = "a.jsonl:1",
    kind: str = "math",
    license: str = "MIT",
    date: str | None = None,
    **more: Any,
) -> Query:
    prompt = [Turn("user", "What is 6 * 7?")]
    name = query_id(prompt)
    spec = more.pop("spec", "{}")
    transform = more.pop("transform", None)
    return Query(
        id=name,
        prompt=prompt,
        verifier=Verifier(kind, spec),
        source=source,
        license=license,
        provenance=Provenance(
            name, transform=transform, origins=[Origin(source, row, license, date)]
        ),
        answer=answer,
        date=date,
        **more,
    )


def outcomes(queries: list[Query]) -> list[tuple[str, str]]:
    return sorted((q.source, q.drop_reason or "kept") for q in queries)


def test_one_question_from_two_sources_is_one_query() -> None:
    found = unite(
        [
            query(source="b", row="b:9", license="CC-BY-SA-4.0", date="2023-01"),
            query(source="a", row="a:1", license="MIT", date="2024"),
            query(source="a", row="a:1", license="MIT", date="2024"),
        ]
    )
    (kept,) = [q for q in found if q.live]
    assert len(found) == 3
    assert (kept.source, kept.license, kept.date) == ("a", "CC-BY-SA-4.0", "2023-01")
    assert kept.provenance.origins == [
        Origin("a", "a:1", "MIT", "2024"),
        Origin("b", "b:9", "CC-BY-SA-4.0", "2023-01"),
    ]
    assert outcomes(found) == [("a", "kept"), ("a", "merged_duplicate"), ("b", "merged_duplicate")]
    assert {q.drop_detail for q in found if not q.live} == {"merged into a (a:1)"}


@pytest.mark.parametrize(
    ("answers", "conflict"),
    [
        (["42", "42"], False),
        (["42", " 42\n"], False),
        (["1/2", "0.5"], False),
        (["$0.50$", "1/2"], False),
        (["1/2", "0.5", "2/4"], False),
        (["x + 1", "x  + 1"], False),
        (["42", None], False),
        ([None, None], False),
        (["42", "43"], True),
        (["x + 1", "x - 1"], True),
        (["42", "42", "43"], True),
        (["1,000", "1000", "1e3"], False),
        ([r"\frac{1}{2}", "$0.5$"], False),
        ([r"\sqrt{12}", r"2\sqrt{3}"], False),
        (["the first", "the one before"], True),  # undecided is not the same: never a guess
        (["1/0", "1/0 "], False),
        (["1/0", "2/0"], True),
    ],
)
def test_different_answers_drop_all(answers: list[str | None], conflict: bool) -> None:
    found = unite([query(a, source=f"s{i}") for i, a in enumerate(answers)])
    assert len(found) == len(answers)
    if conflict:
        assert {q.drop_reason for q in found} == {"gold_conflict"}
    else:
        assert [q.drop_reason for q in found].count(None) == 1


def test_a_conflict_says_both_answers_and_where_they_are() -> None:
    found = unite([query("43", source="b", row="b.csv:2"), query("42", row="a.jsonl:1")])
    assert {q.drop_detail for q in found} == {"'42' in a (a.jsonl:1); '43' in b (b.csv:2)"}
    many = unite([query(str(n), source=f"s{n}", row="x:1") for n in range(8)])
    assert many[0].drop_detail is not None
    assert many[0].drop_detail.startswith("'0' in s0 (x:1); '1' in s1 (x:1)")
    assert many[0].drop_detail.endswith("'4' in s4 (x:1) and 3 more")


def test_the_comparison_can_be_replaced() -> None:
    pair = [query("the first", source="a"), query("the one before", source="b")]
    assert outcomes(unite(copy.deepcopy(pair)))[0] == ("a", "gold_conflict")
    found = unite(pair, same=lambda a, b: {a, b} == {"the first", "the one before"})
    assert outcomes(found) == [("a", "kept"), ("b", "merged_duplicate")]


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ({"kind": "math"}, {"kind": "none", "answer": None}, "first"),
        ({"kind": "rubric"}, {"kind": "math"}, "second"),
        ({"kind": "vote", "answer": None}, {"kind": "math"}, "second"),
        ({"kind": "none"}, {"kind": "vote"}, "first"),
        ({"kind": "code", "spec": '{"t": 1}'}, {"kind": "code", "spec": '{"t": 12}'}, "second"),
        ({"transform": "expand"}, {"transform": None}, "second"),  # a seed before a derived one
        ({"answer": None, "kind": "code"}, {"answer": "1", "kind": "code"}, "second"),
        ({"kind": "math"}, {"kind": "choice"}, None),
        ({"kind": "math"}, {"kind": "reasoning_gym"}, None),
    ],
)
def test_which_way_of_checking_is_kept(
    first: dict[str, Any], second: dict[str, Any], kept: str | None
) -> None:
    found = unite([query(source="first", **first), query(source="second", **second)])
    assert [q.source for q in found if q.live] == ([kept] if kept else [])
    if kept is None:
        assert {q.drop_reason for q in found} == {"verifier_conflict"}
        assert "math in first (a.jsonl:1)" in (found[0].drop_detail or "")


def test_what_is_dropped_already_is_left_alone() -> None:
    gone = query("43", source="b")
    gone.drop("check", "bad_reference")
    found = unite([gone, query("42"), query("42", source="c")])
    assert outcomes(found) == [("a", "kept"), ("b", "bad_reference"), ("c", "merged_duplicate")]
    alone = [gone, query("42")]
    assert unite(alone) == alone
    assert alone[1].live
    assert unite([]) == []


def test_unite_needs_one_id() -> None:
    other = query()
    other.id = "other"
    with pytest.raises(ValueError, match="unite needs one id, got"):
        unite([query(), other])


queries = st.builds(
    query,
    answer=st.sampled_from(["42", "42.0", "84/2", None, "43"]),
    source=st.sampled_from("abc"),
    row=st.sampled_from(["x:1", "x:2"]),
    kind=st.sampled_from(["math", "math", "none", "choice"]),
    license=st.sampled_from(["MIT", "CC-BY-4.0", "custom", "other"]),
    date=st.sampled_from([None, "2023", "2024-05"]),
    domain=st.sampled_from(["math", "logic"]),
)


@given(st.lists(queries, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_the_result_does_not_depend_on_the_order(group: list[Query], dice: random.Random) -> None:
    other = copy.deepcopy(group)
    dice.shuffle(other)
    first, second = unite(copy.deepcopy(group)), unite(other)
    assert sorted(map(str, map(asdict, first))) == sorted(map(str, map(asdict, second)))
    assert len(first) == len(group)
    assert sum(q.live for q in first) <= 1
    origins = {o for q in group for o in q.provenance.origins}
    assert all({*q.provenance.origins} == origins for q in first if q.live)


@pytest.mark.parametrize(
    "differs",
    [
        {"answer": "42.0"},
        {"domain": "logic"},
        {"subdomain": "sums"},
        {"date": "2024"},
        {"license": "CC-BY-4.0"},
        {"row": "a.jsonl:2"},
        {"source": "b"},
        {"spec": '{"a":1}'},
    ],
)
def test_no_single_difference_makes_the_order_count(differs: dict[str, Any]) -> None:
    first = unite([query(), query(**differs)])
    second = unite([query(**differs), query()])
    assert [asdict(q) for q in first if q.live] == [asdict(q) for q in second if q.live]


@given(st.text(max_size=20), st.text(max_size=20))
def test_sameness_is_symmetric_and_reflexive(a: str, b: str) -> None:
    assert same_answer(a, a)
    assert same_answer(a, b) == same_answer(b, a)


@pytest.mark.parametrize(
    ("licenses", "kept"),
    [
        (["MIT", "Apache-2.0"], "Apache-2.0"),
        (["CC0-1.0", "MIT"], "MIT"),
        (["CC-BY-4.0", "CC-BY-SA-4.0"], "CC-BY-SA-4.0"),
        (["AGPL-3.0-only", "CC-BY-NC-4.0"], "CC-BY-NC-4.0"),
        (["CC-BY-NC-SA-4.0", "CC-BY-ND-4.0"], "CC-BY-ND-4.0"),
        (["CC-BY-NC-ND-4.0", "unknown"], "unknown"),
        (["mit", "MIT"], "mit"),
        (["z terms", "a terms", "MIT"], "a terms AND z terms"),
    ],
)
def test_the_stricter_license_wins(licenses: list[str], kept: str) -> None:
    assert strictest(licenses) == strictest(licenses[::-1]) == kept


def test_every_license_is_listed_once() -> None:
    assert len({name.casefold() for name in BY_STRICTNESS}) == len(BY_STRICTNESS)
