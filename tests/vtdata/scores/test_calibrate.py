from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from tests.factories import query, rollout
from tests.fake_server import Handle
from tests.runs import (
    URL,
    block_rows,
    folder_of,
    manifest_of,
    run_here,
    stage_rows,
    write_recipe,
    write_rows,
)
from vtdata.records import Query, Verdict, Verifier
from vtdata.scores.calibrate import REST, Calibrate, show
from vtdata.scores.verify import Verify
from vtdata.scores.vote import Vote
from vtdata.steps import Context

ASKED = 8


def voted(
    number: int, votes: int, *, gold: str | None, answer: str = "7", domain: str = "math"
) -> Query:
    """A query of which ``votes`` rollouts in eight say ``answer``, verified and voted."""
    said = [answer] * votes + [f"{number + at + 1000}" for at in range(ASKED - votes)]
    rollouts = [
        rollout(content=rf"\boxed{{{one}}}", sample_idx=at, verdict=None)
        for at, one in enumerate(said)
    ]
    question = query(
        question=f"{number}, {gold}?",
        rollouts=rollouts,
        verifier=Verifier("vote" if gold is None else "math"),
        answer=gold,
        domain=domain,
    )
    ctx = Context(seed=1)
    Verify().process(question, ctx)
    Vote(min_votes=3, min_share=0.3).process(question, ctx)
    return question


def many(count: int, votes: int, wrong: int = 0, start: int = 0, **values: Any) -> list[Query]:
    """Queries with a reference, of which ``wrong`` voted for something else."""
    answer = values.get("answer", "7")
    return [
        voted(start + at, votes, gold="-1" if at < wrong else answer, **values)
        for at in range(count)
    ]


def calibrated(
    queries: Sequence[Query], **settings: Any
) -> tuple[Counter[str], list[dict[str, Any]], pl.DataFrame]:
    """Let the step decide as the runner does; return notes, logged rows and decisions."""
    notes: Counter[str] = Counter()
    logged: list[dict[str, Any]] = []
    ctx = Context(
        seed=1,
        note=lambda name, n: notes.update({name: n}),
        log=lambda table, row: logged.append({"table": table, **row}),
    )
    step = Calibrate(**settings)
    rows = [(q.id, *seen) for q in queries if (seen := step.observe(q, ctx)) is not None]
    kinds = (pl.String, pl.Boolean, pl.Float64, pl.Boolean, pl.Boolean)
    schema = {"id": pl.String, **dict(zip(step.columns, kinds, strict=True))}
    decided = step.decide(pl.DataFrame(rows, schema=schema, orient="row"), ctx)
    by_id = {row["id"]: row for row in decided.to_dicts()}
    for question in queries:
        step.apply(question, by_id.get(question.id), ctx)
    return notes, logged, decided


def test_a_label_stands_at_or_above_the_threshold() -> None:
    golds = many(120, 8) + many(120, 6, wrong=4, start=200) + many(60, 4, wrong=30, start=400)
    opened = [voted(900 + votes, votes, gold=None) for votes in (8, 6, 5, 4)]
    notes, logged, _ = calibrated(golds + opened)
    assert [q.drop_reason for q in opened] == [None, None, "below_threshold", "below_threshold"]
    assert opened[2].drop_detail == "0.625, math/numeric asks for 0.750"
    assert notes == {"golds_right": 266, "golds_wrong": 34, "labeled": 2}
    assert [(row["threshold"], row["chosen"], row["winners"], row["right"]) for row in logged] == [
        (1.0, False, 120, 120),
        (0.75, True, 240, 236),
        (0.5, False, 300, 266),
    ]
    assert all(q.live and q.answer is not None for q in golds)


def test_the_rows_tell_the_curve() -> None:
    _, logged, _ = calibrated(many(100, 8, wrong=1) + many(20, 2, start=500))
    (row,) = logged
    assert row == {
        "table": "calibration",
        "pool": "math/numeric",
        "threshold": 1.0,
        "chosen": True,
        "winners": 100,
        "right": 99,
        "questions": 120,  # those without a winner as well
        "precision": 0.99,
        "at_least": pytest.approx(0.9455, abs=1e-4),
        "at_most": pytest.approx(0.9997, abs=1e-4),
        "coverage": pytest.approx(100 / 120),
    }


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, "no_threshold"),  # 92 right and 8 wrong
        ({"target_precision": 0.85}, None),
        ({"target_precision": 0.9}, "no_threshold"),
        ({"target_precision": 0.85, "confidence": 0.999}, "no_threshold"),
        ({"target_precision": 0.85, "by": []}, None),
    ],
)
def test_no_label_without_a_threshold(settings: dict[str, Any], reason: str | None) -> None:
    opened = voted(900, 8, gold=None)
    calibrated([*many(100, 8, wrong=8), opened], **settings)
    assert opened.drop_reason == reason


def test_small_groups_share_a_pool_and_strangers_get_nothing() -> None:
    golds = (
        many(100, 8)
        + many(60, 8, start=200, domain="physics")
        + many(60, 8, start=300, domain="chemistry")
    )
    names = ("math", "physics", "chemistry", "law")
    opened = [voted(900 + at, 8, gold=None, domain=name) for at, name in enumerate(names)]
    _, logged, decided = calibrated(golds + opened)
    assert [q.drop_reason for q in opened] == [None, None, None, "no_threshold"]
    pools = dict(decided.select("group", "pool").iter_rows())
    assert pools == {
        "math/numeric": "math/numeric",
        "physics/numeric": REST,
        "chemistry/numeric": REST,
        "law/numeric": "law/numeric",
    }
    assert {row["pool"]: row["winners"] for row in logged} == {"math/numeric": 100, REST: 120}


def test_types_of_answer_are_held_apart() -> None:
    golds = many(100, 8) + many(100, 8, wrong=40, start=200, answer="Paris")
    opened = [voted(900, 8, gold=None), voted(901, 8, gold=None, answer="Rome")]
    calibrated(golds + opened)
    assert [q.drop_reason for q in opened] == [None, "no_threshold"]


def test_a_winner_that_nobody_could_judge_counts_as_wrong() -> None:
    golds = many(100, 8)
    for question in golds[:50]:
        for one in question.rollouts:
            assert one.verdict is not None
            one.verdict = Verdict(None, "not_comparable", "math", one.verdict.answer)
    opened = voted(900, 8, gold=None)
    notes, _, _ = calibrated([*golds, opened])
    assert (notes["golds_unjudged"], notes["golds_wrong"]) == (50, 50)
    assert opened.drop_reason == "no_threshold"


def test_what_another_set_said_does_not_matter() -> None:
    golds = many(100, 8)
    for question in golds:
        unjudged = Verdict(None, "not_comparable", "math", "7")
        question.rollouts.insert(0, rollout(set="reference", verdict=unjudged))
    notes, _, _ = calibrated(golds, of="teacher")
    assert notes == {"golds_right": 100}


def test_the_reference_is_not_shown_to_the_vote() -> None:
    known, hidden = voted(1, 5, gold="-1"), voted(1, 5, gold=None)
    assert known.vote == hidden.vote


def test_a_label_of_another_vote_is_dropped() -> None:
    other, none = voted(1, 8, gold=None), voted(2, 8, gold=None)
    other.answer = "8"
    none.vote = None
    calibrated([*many(100, 8), other, none], of="teacher")
    assert [other.drop_reason, none.drop_reason] == ["no_vote", "no_vote"]
    reference = voted(3, 8, gold=None)
    calibrated([*many(100, 8), reference], of="reference")
    assert reference.drop_reason == "no_vote"


def test_without_references_there_is_no_label() -> None:
    opened = voted(900, 8, gold=None)
    _, logged, _ = calibrated([opened])
    assert (opened.drop_reason, logged) == ("no_threshold", [])
    assert calibrated([])[1] == []


def test_the_order_of_rows_does_not_matter() -> None:
    rows = many(110, 8) + many(110, 6, wrong=3, start=200) + [voted(900, 7, gold=None)]
    _, logged, decided = calibrated(rows)
    random.Random(3).shuffle(rows)
    _, again, redecided = calibrated(rows)
    assert decided.equals(redecided)
    key = str
    assert sorted(map(key, logged)) == sorted(map(key, again))


SUMS = [(a, b) for a in range(10, 30) for b in range(30, 40)]
MODEL = {"model": "fake", "revision": "r1", "url": f"${{env:{URL}}}", "max_tokens": 64}


def hidden_recipe(folder: Path) -> Path:
    """Sums, every second one without its answer, voted on by a scripted model."""
    rows = [{"question": f"What is {a} + {b}?", "answer": str(a + b)} for a, b in SUMS]
    sources = []
    for name, verifier, some in (("known", "math", rows[::2]), ("open", "vote", rows[1::2])):
        columns = {"question": "question"} | ({"answer": "answer"} if verifier == "math" else {})
        seeds = [{column: row[column] for column in columns} for row in some]
        write_rows(folder / f"{name}.jsonl", seeds)
        source = {"path": f"{name}.jsonl", "license": "Apache-2.0", "verifier": verifier}
        sources.append({"jsonl": {**source, "columns": columns}})
    scores = [
        "verify",
        {"vote": {"min_votes": 2, "min_share": 0.2}},
        {"calibrate": {"target_precision": 0.8, "min_group": 50}},
    ]
    recipe = {
        "name": "hidden",
        "seed": 3,
        "models": {"teacher": {**MODEL, "concurrency": 16}},
        "stages": [
            {"corpora": sources},
            {"rollouts": [{"sample": {"by": "teacher", "n": 8}}]},
            {"scores": scores},
        ],
    }
    return write_recipe(folder / "hidden.yaml", recipe)


def test_a_run_labels_with_the_precision_that_was_asked_for(fake: Handle, tmp_path: Path) -> None:
    fake.configure(right_share=0.35)
    recipe = hidden_recipe(tmp_path)
    run, again = tmp_path / "run", tmp_path / "again"
    run_here(recipe, out=run, tasks=1)
    run_here(recipe, out=again, tasks=3, store=run / "store")
    fake.configure(right_share=0.5)
    assert stage_rows(run) == stage_rows(again)
    decisions = [
        folder_of(one, "scores") / "decisions" / "calibrate.parquet" for one in (run, again)
    ]
    assert decisions[0].read_bytes() == decisions[1].read_bytes()
    table = pq.read_table(decisions[0])
    assert table.num_rows == len(SUMS) - sum(
        row["dropped_by"] == "vote" for row in block_rows(run, "scores", "rejects")
    )
    labeled = [row for row in block_rows(run, "scores") if row["verifier"]["kind"] == "vote"]
    rejects = Counter(row["drop_reason"] for row in block_rows(run, "scores", "rejects"))
    assert rejects["below_threshold"] > 5
    assert len(labeled) + rejects.total() == len(SUMS) // 2
    truth = {f"What is {a} + {b}?": str(a + b) for a, b in SUMS}
    right = [row["answer"] == truth[row["prompt"][-1]["content"]] for row in labeled]
    assert len(right) > 20
    assert sum(right) / len(right) >= 0.8
    least = min(row["vote"]["votes"] / row["vote"]["asked"] for row in labeled)
    text = show(decisions[0])
    assert text.startswith("math/numeric\n share  winners")
    (marked,) = [line for line in text.splitlines() if "<- threshold" in line]
    assert float(marked.split()[0]) == least > 0.25
    (listed,) = manifest_of(run, "scores").tables["calibration"]
    assert listed.rows == len(text.splitlines()) - 2
