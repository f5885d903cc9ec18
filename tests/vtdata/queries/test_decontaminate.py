"""What the step makes of one batch: which texts it sees, what it drops, and what it writes down."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.factories import query, rollout
from tests.runs import write_rows
from tests.vtdata.queries.contaminated import (
    BUOY,
    CARPETS,
    CHEST,
    FACTOR,
    IN_OTHER_WORDS,
    ITEMS,
    LOW,
    OTHER_NUMBERS,
    UNRELATED,
    register,
    write_bench,
)
from vtdata.errors import ConfigError
from vtdata.queries.decontaminate import Decontaminate
from vtdata.records import Origin, Provenance, Query, Turn, Verdict, Verifier
from vtdata.steps import Context


def scan(
    folder: Path, *queries: Query, against: str | None = None, **settings: Any
) -> list[dict[str, Any]]:
    """Let the step see a batch, and return what it logged."""
    rows: list[dict[str, Any]] = []
    step = Decontaminate(against=[against or write_bench(folder)], **settings)
    ctx = Context(seed=1, folder=folder, log=lambda _table, row: rows.append(row))
    step.open(ctx)
    step.process(queries, ctx)
    return rows


def verdicts(one: Query) -> list[tuple[int, str, str]]:
    return [(m["item"], m["verdict"], m["field"]) for m in one.extra["contamination"]]


@pytest.mark.parametrize(
    ("changes", "item", "verdict", "field"),
    [
        ({"question": CHEST}, 2, "exact", "prompt[0].content"),
        ({"question": f"Solve it. {CHEST} Thank you!"}, 2, "exact", "prompt[0].content"),
        ({"question": FACTOR.upper()}, 3, "short_exact", "prompt[0].content"),
        (
            {"question": CHEST.replace("what is left", "what remains")},
            2,
            "near",
            "prompt[0].content",
        ),
        (
            {"prompt": [Turn("user", BUOY), Turn("assistant", "42 s."), Turn("user", "Why?")]},
            1,
            "exact",
            "prompt[0].content",
        ),
        (
            {"question": "Which of these is hard?", "options": ["None.", CARPETS]},
            0,
            "exact",
            "prompt[0].content with options",
        ),
        (
            {
                "question": "Complete the function.",
                "verifier": Verifier("code", json.dumps({"starter_code": f'"""{CHEST}"""\n'})),
            },
            2,
            "exact",
            "starter_code",
        ),
    ],
)
def test_an_item_anywhere_in_the_prompt_drops_the_query(
    tmp_path: Path, changes: dict[str, Any], item: int, verdict: str, field: str
) -> None:
    asked, other = query(1.0, **changes), query(1.0, question=UNRELATED)
    (row,) = scan(tmp_path, asked, other)
    assert asked.drop_reason == "contaminated"
    assert asked.drop_detail == f"{verdict}: item {item} of mine, in {field}"
    assert verdicts(asked) == [(item, verdict, field)]
    assert asked.rollouts[0].live
    assert (row["query_id"], row["outcome"], row["item"]) == (asked.id, "query dropped", item)
    assert other.live
    assert other.extra["contamination"] == []


@pytest.mark.parametrize("where", ["reasoning", "content"])
def test_an_item_in_a_response_drops_that_rollout(tmp_path: Path, where: str) -> None:
    leaking = rollout(sample_idx=1, **{where: f"I know this one: {CHEST} It is 343."})
    gone = rollout(sample_idx=2, content=BUOY, dropped_by="hygiene", drop_reason="gibberish")
    asked = query(question=UNRELATED, rollouts=[rollout(), leaking, gone])
    (row,) = scan(tmp_path, asked)
    assert asked.live
    assert [r.drop_reason for r in asked.rollouts] == [None, "contaminated", "gibberish"]
    (mark,) = asked.extra["contamination"]
    assert (mark["set"], mark["sample_idx"], mark["item"]) == ("teacher", 1, 2)
    assert (row["outcome"], row["field"]) == ("rollout dropped", f"rollouts[1].{where}")
    assert (row["set"], row["sample_idx"]) == ("teacher", 1)


def test_responses_of_a_dropped_query_are_not_looked_at(tmp_path: Path) -> None:
    asked = query(question=CHEST, rollouts=[rollout(content=f"You ask: {CHEST}")])
    (row,) = scan(tmp_path, asked)
    assert row["field"] == "prompt[0].content"
    assert asked.rollouts[0].live


@pytest.mark.parametrize(
    ("question", "verdict"), [(OTHER_NUMBERS, "template"), (IN_OTHER_WORDS, "suspect")]
)
def test_templates_and_suspects_are_reported_and_dropped_where_asked(
    tmp_path: Path, question: str, verdict: str
) -> None:
    reported, dropped = query(question=question), query(question=question)
    (row,) = scan(tmp_path, reported, thresholds=LOW)
    assert reported.live
    assert [found for _, found, _ in verdicts(reported)] == [verdict]
    assert row["outcome"] == "reported"
    scan(tmp_path, dropped, thresholds=LOW, drop=[verdict])
    assert dropped.drop_reason == "contaminated"


def test_nothing_is_dropped_where_only_marks_are_wanted(tmp_path: Path) -> None:
    asked = query(question=CHEST, rollouts=[rollout(content=BUOY)])
    rows = scan(tmp_path, asked, drop=[])
    assert asked.live
    assert asked.rollouts[0].live
    assert sorted(row["outcome"] for row in rows) == ["reported"] * 2
    assert sorted(verdicts(asked)) == [
        (1, "exact", "rollouts[0].content"),
        (2, "exact", "prompt[0].content"),
    ]


def test_a_second_scan_keeps_what_the_first_found_and_a_judge_said(tmp_path: Path) -> None:
    asked = query(question=IN_OTHER_WORDS)
    scan(tmp_path, asked, thresholds=LOW)
    asked.extra["contamination"][0]["judged"] = "different"
    old = {**asked.extra["contamination"][0], "benchmark": "elder", "judged": None}
    asked.extra["contamination"].append(old)
    scan(tmp_path, asked, thresholds=LOW)
    found = {(m["benchmark"], m["judged"]) for m in asked.extra["contamination"]}
    assert found == {("mine", "different"), ("elder", None)}


def test_what_becomes_of_a_query_does_not_hang_on_its_batch(tmp_path: Path) -> None:
    def asked() -> list[Query]:
        texts = [*ITEMS, OTHER_NUMBERS, IN_OTHER_WORDS, UNRELATED]
        return [query(question=text, rollouts=[rollout(content=CHEST)]) for text in texts]

    together, alone = asked(), asked()
    scan(tmp_path, *together, thresholds=LOW)
    for one in reversed(alone):
        scan(tmp_path, one, thresholds=LOW)
    assert together == alone


def test_a_person_can_see_why(tmp_path: Path) -> None:
    asked = query(question=f"Please: {CHEST}")
    (row,) = scan(tmp_path, asked)
    assert (row["doc_text"], row["item_text"]) == (CHEST[:-1], CHEST[:-1])
    assert (row["start"], row["end"]) == (8, 8 + len(CHEST) - 1)
    assert (row["before"], row["after"]) == ("Please: ", "?")
    assert (row["coverage"], row["alignment"]) == (1.0, 100.0)
    assert "seven sailors share a chest | sailors share a chest of" in row["grams"]
    assert row["profile"].startswith("evidence-")


def test_text_of_a_gated_item_is_written_nowhere(tmp_path: Path) -> None:
    asked = query(question=f"Please: {CHEST}")
    (row,) = scan(tmp_path, asked, against=register(tmp_path, gated=True, key="question"))
    assert (row["item_text"], row["grams"], row["before"], row["item_key"]) == (None,) * 4
    assert len(row["item_hash"]) == 64
    assert asked.drop_detail == "exact: item 2 of ours, in prompt[0].content"


@pytest.mark.parametrize(
    ("changes", "response", "dates"),
    [
        ({"date": "2024-05-01"}, None, "predates"),
        ({"date": "2025-03-01"}, None, "postdates"),
        ({"date": "2025"}, None, "undated"),
        ({}, None, "undated"),
        (
            {"provenance": Provenance("s", origins=[Origin("a", "1", "MIT", "2023")])},
            None,
            "predates",
        ),
        ({"date": "2023", "provenance": Provenance("s", transform="rewrite")}, None, "undated"),
        ({"date": "2023"}, {"model": "Qwen/Qwen2.5-7B-Instruct"}, "predates"),
        ({"date": "2023"}, {"model": "Qwen/Qwen3-8B"}, "postdates"),
        ({"date": "2023"}, {"model": "our/teacher"}, "undated"),
        ({"date": "2023"}, {"model": "our/other"}, "predates"),
        (
            {"date": "2023"},
            {"model": "our/other", "verdict": Verdict(1.0, "judged_equal", "math")},
            "undated",
        ),
    ],
)
def test_a_row_is_as_young_as_its_youngest_source(
    tmp_path: Path, changes: dict[str, Any], response: dict[str, Any] | None, dates: str
) -> None:
    named = register(tmp_path, published="2025-02-06")
    text = CHEST if response is None else UNRELATED
    rollouts = [] if response is None else [rollout(content=CHEST, **response)]
    asked = query(question=text, rollouts=rollouts, **changes)
    (row,) = scan(tmp_path, asked, against=named, released={"our/other": "2024-12"})
    assert (row["dates"], asked.extra["contamination"][0]["dates"]) == (dates, dates)
    assert row["item_date"] == "2025-02-06"


def test_the_paper_profile_takes_any_ten_words(tmp_path: Path) -> None:
    asked = query(question=f"Hm: {CHEST.split('.')[0]}? And then they sail home.")
    (row,) = scan(tmp_path, asked, profile="paper")
    assert row["verdict"] == "near"
    assert row["profile"].startswith("paper-")
    assert not asked.live


def test_a_step_that_was_used_still_pickles_and_holds_no_index(tmp_path: Path) -> None:
    step = Decontaminate(against=[write_bench(tmp_path)])
    fresh = pickle.dumps(step)
    ctx = Context(seed=1, folder=tmp_path)
    step.open(ctx)
    step.process([query(question=CHEST)], ctx)
    assert pickle.dumps(step) == fresh
    assert pickle.loads(fresh) == step


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    step = Decontaminate(against=[write_bench(tmp_path)])
    before = step.resolved(tmp_path)
    assert step.resolved(tmp_path) == before
    (tmp_path / "mine.jsonl").write_text(json.dumps({"question": UNRELATED}) + "\n")
    after = step.resolved(tmp_path)
    assert before["benchmarks"][0]["sha256"] != after["benchmarks"][0]["sha256"]
    assert (before["benchmarks"][0]["items"], after["benchmarks"][0]["items"]) == (4, 1)
    asked = query(question=UNRELATED)
    ctx = Context(seed=1, folder=tmp_path)
    step.open(ctx)
    step.process([asked], ctx)
    assert not asked.live


def test_an_entry_that_changes_is_read_again(tmp_path: Path) -> None:
    step = Decontaminate(against=[register(tmp_path, gated=False)])
    assert step.resolved(tmp_path)["benchmarks"][0]["gated"] is False
    register(tmp_path, gated=True)
    assert step.resolved(tmp_path)["benchmarks"][0]["gated"] is True


def test_a_folder_in_the_layout_of_the_hub(tmp_path: Path) -> None:
    (tmp_path / "hubby" / "data").mkdir(parents=True)
    file = tmp_path / "hubby" / "data" / "test-00000-of-00001.parquet"
    pq.write_table(pa.table({"question": list(ITEMS)}), file)
    asked = query(question=CHEST)
    scan(tmp_path, asked, against="./hubby")
    assert asked.drop_detail == "exact: item 2 of hubby, in prompt[0].content"
    assert Decontaminate(against=["./hubby"]).files(tmp_path) == [file]


@pytest.mark.parametrize(
    ("named", "error"),
    [
        ("./nine.jsonl", r"benchmark ./nine.jsonl is not there; did you mean 'mine.jsonl'\?"),
        ("./mine.jsonl:problem", "mine.*has no 'problem'"),
        ("./empty.jsonl", "no rows"),
        ("aime1924", "no benchmark is called 'aime1924'"),
    ],
)
def test_a_benchmark_that_can_not_be_loaded_is_an_error(
    tmp_path: Path, named: str, error: str
) -> None:
    write_bench(tmp_path)
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(ConfigError, match=error):
        Decontaminate(against=[named]).resolved(tmp_path)


def test_a_hub_that_can_not_be_reached_is_no_way_around(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ConfigError, match="aime26: MathArena/aime_2026 can't be fetched"):
        Decontaminate(against=["aime26"]).resolved(tmp_path)


def test_a_file_stands_in_for_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there").mkdir()
    rows = [{"problem": text} for text in ITEMS]
    write_rows(tmp_path / "there" / "aime26.jsonl", rows)
    monkeypatch.setenv("VTDATA_BENCHMARKS", str(tmp_path / "there"))
    step = Decontaminate(against=["AIME-2026"])
    (bench,) = step.resolved(tmp_path)["benchmarks"]
    assert (bench["name"], bench["items"], bench["non_commercial"]) == ("aime26", 4, True)
    assert step.files(tmp_path) == [tmp_path / "there" / "aime26.jsonl"]
