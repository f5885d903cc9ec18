"""The judge of suspects: what it drops, what it leaves undecided, and what it may not be sent."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fake_server import Handle, start_fake
from tests.runs import (
    FULL,
    MODEL,
    URL,
    block_rows,
    folder_of,
    manifest_of,
    run_here,
    sent,
    write_recipe,
    write_rows,
)
from tests.vtdata.queries.contaminated import (
    CARPETS,
    IN_OTHER_WORDS,
    LOW,
    OTHER_NUMBERS,
    UNRELATED,
    register,
    write_bench,
)
from vtdata import api
from vtdata.errors import ConfigError, RunError, TooManyFailures
from vtdata.run.dry import dry_run

CASES: dict[str, tuple[str, int]] = {
    # a word of the question, and perhaps a fault: outcome, calls
    "SAME": ("same", 2),
    "OTHER": ("different", 2),
    "SPLIT": ("undecided", 2),
    "UNSURE": ("undecided", 2),
    "MUMBLE": ("undecided", 4),
    "STUTTER": ("same", 4),
    "SAME [[filter]]": ("undecided", 2),
    "SAME [[length]]": ("undecided", 2),
    "SAME [[400]]": ("undecided", 2),
}


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Iterator[Handle]:
    with start_fake(answer="judge") as fake:
        monkeypatch.setenv(URL, fake.url)
        yield fake


def recipe_of(folder: Path, *words: str, against: str | None = None, **settings: Any) -> Path:
    """A recipe of suspects, each with a word that says what the judge makes of it."""
    texts = [*(f"Case {word}: {IN_OTHER_WORDS}" for word in words), UNRELATED, OTHER_NUMBERS]
    write_rows(folder / "cases.jsonl", [{"question": text, "answer": "7"} for text in texts])
    source = copy.deepcopy(FULL["stages"][0])
    source["corpora"][0]["jsonl"]["path"] = "cases.jsonl"
    named = against or write_bench(folder)
    recipe = {
        "name": "suspects",
        "seed": 3,
        "models": {"judge": {**MODEL, "attempts": 2}},
        "max_failed_share": 0.9,
        "stages": [
            source,
            {
                "queries": [
                    {"decontaminate": {"against": [named], "thresholds": LOW}},
                    {"judge_suspects": {"by": "judge", **settings}},
                ]
            },
        ],
    }
    return write_recipe(folder / "suspects.yaml", recipe)


def word_of(row: dict[str, Any]) -> str:
    return row["prompt"][0]["content"].partition(": ")[0].removeprefix("Case ")


def replies(run: Path) -> list[dict[str, Any]]:
    return api.inspect(folder_of(run, "queries"), table="suspects", limit=999)


def test_only_what_both_orders_call_the_same_is_dropped(tmp_path: Path, judge: Handle) -> None:
    run_here(recipe_of(tmp_path, *CASES))
    run = tmp_path / "run"
    gone = {word_of(row): row for row in block_rows(run, "queries", "rejects")}
    assert set(gone) == {word for word, (outcome, _) in CASES.items() if outcome == "same"}
    assert {row["drop_reason"] for row in gone.values()} == {"contaminated_paraphrase"}
    assert {row["dropped_by"] for row in gone.values()} == {"judge_suspects"}
    assert gone["SAME"]["drop_detail"] == "item 0 of mine in other words, in prompt[0].content"
    kept = {word_of(row): row for row in block_rows(run, "queries")}
    for word, (outcome, _) in CASES.items():
        (mark,) = {**kept, **gone}[word]["contamination"]
        assert (mark["verdict"], mark["judged"]) == ("suspect", outcome), word
    judged = [mark["judged"] for row in kept.values() for mark in row["contamination"]]
    assert judged.count(None) == 1  # the template, about which nobody is asked
    assert sent(judge) == sum(calls for _, calls in CASES.values())
    notes = manifest_of(run, "queries").books()["judge_suspects"].notes
    assert notes == {"same": 2, "different": 1, "undecided": 6, "second_tries": 4}


def test_replies_are_there_to_read(tmp_path: Path, judge: Handle) -> None:
    run_here(recipe_of(tmp_path, *CASES))
    rows = replies(tmp_path / "run")
    assert len(rows) == 2 * len(CASES)
    split = {row["first"]: row for row in rows if "SPLIT" in row["query_text"]}
    assert {first: row["label"] for first, row in split.items()} == {
        "item": "equivalent",
        "query": "different",
    }
    assert split["item"]["outcome"] == "undecided"
    assert split["item"]["item_text"] == CARPETS
    assert split["item"]["why"] == "The second looks better."
    mumbled = next(row for row in rows if "MUMBLE" in row["query_text"])
    assert (mumbled["label"], mumbled["tries"], mumbled["state"]) == (None, 2, "ok")
    assert {row["state"] for row in rows} == {"ok", "refused", "truncated"}


def test_an_outage_is_undecided_and_asked_again(tmp_path: Path, judge: Handle) -> None:
    recipe = recipe_of(tmp_path, "SAME [[500*4]]", "OTHER")
    run_here(recipe)
    (mark,) = next(
        row["contamination"]
        for row in block_rows(tmp_path / "run", "queries")
        if "SAME" in word_of(row)
    )
    assert mark["judged"] == "undecided"
    assert any("500" in (row["why"] or "") for row in replies(tmp_path / "run"))
    run_here(recipe)
    run_here(recipe)
    (gone,) = block_rows(tmp_path / "run", "queries", "rejects")
    assert gone["drop_reason"] == "contaminated_paraphrase"


def test_an_outage_of_most_calls_ends_the_run(tmp_path: Path, judge: Handle) -> None:
    recipe = recipe_of(tmp_path, "SAME [[500]]", "OTHER [[502]]")
    with pytest.raises(TooManyFailures, match="model calls failed after their retries"):
        run_here(recipe, settings=["max_failed_share=0.5"])


def test_long_texts_are_undecided_and_not_sent(tmp_path: Path, judge: Handle) -> None:
    run_here(recipe_of(tmp_path, "SAME", max_chars=len(CARPETS) - 1))
    assert sent(judge) == 0
    notes = manifest_of(tmp_path / "run", "queries").books()["judge_suspects"].notes
    assert notes == {"undecided": 1, "too_long": 1}
    assert not block_rows(tmp_path / "run", "queries", "rejects")


def test_a_dry_run_counts_the_calls(tmp_path: Path, judge: Handle) -> None:
    known = {"out": tmp_path / "run", "settings": [], "limit": None, "store": None, "code": True}
    (entry,) = dry_run(recipe_of(tmp_path, "SAME", "OTHER"), **known)
    assert entry["models"]["judge"]["requests"] == 4
    assert entry["unknown"] == 0
    assert entry["bound"] == "one more for each reply that can't be read"
    assert sent(judge) == 0


@pytest.mark.parametrize("kind", [{"gated": True}, {"non_commercial": True}])
def test_text_that_may_not_be_passed_on_is_not_sent(
    tmp_path: Path, judge: Handle, kind: dict[str, bool]
) -> None:
    named = register(tmp_path, **kind)
    with pytest.raises(ConfigError, match=r"would send text of ours to model 'judge', and it is"):
        run_here(recipe_of(tmp_path, "SAME", against=named))
    assert not list((tmp_path / "run").glob("0*"))
    run_here(recipe_of(tmp_path, "SAME", against=named, allow_benchmark_text=True))
    assert sent(judge) == 2
    (first, second) = replies(tmp_path / "run")
    hidden = kind == {"gated": True}
    assert (first["item_text"] is None) == hidden
    assert (first["why"] is None, second["why"] is None) == (hidden, hidden)


def test_it_needs_the_marks(tmp_path: Path) -> None:
    recipe = recipe_of(tmp_path, "SAME")
    text = recipe.read_text()
    at = text.index("  - decontaminate:")
    recipe.write_text(text[:at] + text[text.index("  - judge_suspects:") :])
    with pytest.raises(ConfigError) as caught:
        api.show(recipe)
    assert str(caught.value).partition("block ")[2] == (
        "'queries', step 'judge_suspects' reads contamination and nothing before it writes that: "
        "put a 'decontaminate' step that does before it"
    )


def test_it_takes_the_benchmarks_of_the_steps_before_it_unless_it_names_its_own(
    tmp_path: Path, judge: Handle
) -> None:
    plan = api.show(recipe_of(tmp_path, "SAME"))
    assert plan.blocks[1].steps[1].step.against == ["./mine.jsonl"]
    write_bench(tmp_path, "other")
    recipe = recipe_of(tmp_path, "SAME", against=None)
    recipe.write_text(
        recipe.read_text().replace("by: judge", "by: judge\n      against: [./other.jsonl]")
    )
    with pytest.raises(RunError, match=r"item 0 of 'mine', and judge_suspects knows other"):
        run_here(recipe)


def test_it_judges_the_marks_of_another_run(tmp_path: Path, judge: Handle) -> None:
    recipe = recipe_of(tmp_path, "SAME", "OTHER")
    data = yaml.safe_load(recipe.read_text())
    marked, judged = data["stages"][1]["queries"]
    data["stages"] = [data["stages"][0], {"queries": [marked]}]
    run_here(write_recipe(tmp_path / "marked.yaml", data), out=tmp_path / "marked")
    start = {"from": {"run": "marked", "block": "queries"}}
    data["stages"] = [start, {"queries": [judged]}]
    alone = write_recipe(tmp_path / "alone.yaml", data)
    with pytest.raises(ConfigError, match="against names no benchmark"):
        run_here(alone, out=tmp_path / "alone")
    judged["judge_suspects"]["against"] = ["./mine.jsonl"]
    run_here(write_recipe(alone, data), out=tmp_path / "alone")
    (gone,) = block_rows(tmp_path / "alone", "queries", "rejects")
    assert word_of(gone) == "SAME"
    data["stages"] = [start, {"queries": [marked, {"judge_suspects": {"by": "judge"}}]}]
    plan = api.show(write_recipe(tmp_path / "again.yaml", data))
    assert plan.blocks[0].steps[1].step.against == ["./mine.jsonl"]


@pytest.mark.slow
def test_a_real_model_is_asked_in_both_orders(tmp_path: Path) -> None:
    recipe = recipe_of(tmp_path, "one", "two")
    model = {"model": "embedded", "max_tokens": 96, "temperature": 0.0}
    run_here(recipe, settings=[f"models.judge={model}".replace("'", '"')])
    rows = replies(tmp_path / "run")
    assert sorted(row["first"] for row in rows) == ["item", "item", "query", "query"]
    assert {row["state"] for row in rows} <= {"ok", "truncated"}
    notes = manifest_of(tmp_path / "run", "queries").books()["judge_suspects"].notes
    assert notes["same"] + notes["different"] + notes["undecided"] == 2
    gone = block_rows(tmp_path / "run", "queries", "rejects")
    assert len(gone) == notes["same"]
