"""``run_tests`` in real runs, with real programs in a sandbox."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.factories import query, rollout
from tests.fake_server import start_fake
from tests.runs import block_rows, run_here, write_recipe, write_rows
from tests.vtdata.verify.code.plain_sandbox import PlainSandbox
from vtdata import api
from vtdata.errors import ConfigError, DataError
from vtdata.records import Query, Verdict, Verifier
from vtdata.scores.run_tests import RunTests
from vtdata.scores.verify import Verify
from vtdata.steps import Context

PLAIN = "tests.vtdata.verify.code.plain_sandbox:PlainSandbox"
SPEC = {"inputs": [[1], [4]], "outputs": [2, 5], "fn_name": "f"}
RIGHT = "Here:\n```python\ndef f(x):\n    return x + 1\n```"


def code_query(*rollouts: Any, spec: Any = SPEC) -> Query:
    changes = {"verifier": Verifier("code", json.dumps(spec)), "answer": None, "domain": "code"}
    return query(question="Write f.", rollouts=list(rollouts), **changes)


def scored(asked: Query, **settings: Any) -> tuple[Query, dict[str, int], list[dict[str, Any]]]:
    notes: dict[str, int] = {}
    rows: list[dict[str, Any]] = []

    async def go() -> Query:
        async with PlainSandbox() as sandbox:
            ctx = Context(
                seed=1,
                sandbox=sandbox,
                note=lambda name, count: notes.update({name: notes.get(name, 0) + count}),
                log=lambda table, row: rows.append({"table": table, **row}),
            )
            (found,) = await RunTests(**settings).process(asked, ctx)
            return found

    return asyncio.run(go()), notes, rows


def test_every_rollout_gets_the_verdict_of_its_program() -> None:
    wrong = RIGHT.replace("x + 1", "x + 2")
    asked = code_query(
        rollout(None, content=RIGHT, sample_idx=0),
        rollout(None, content=RIGHT, sample_idx=1),
        rollout(None, content=wrong, sample_idx=2),
        rollout(None, content="I can't.", sample_idx=3),
        rollout(None, content="", state="empty", sample_idx=4),
        rollout(None, content=RIGHT, state="truncated", sample_idx=5),
        rollout(None, content=None, state="failed", sample_idx=6),
    )
    found, notes, rows = scored(asked)
    verdicts = [
        (r.verdict.reward, r.verdict.reason, r.verdict.kind) for r in found.rollouts if r.verdict
    ]
    assert verdicts == [
        (1.0, "correct", "code"),
        (1.0, "correct", "code"),
        (0.0, "wrong_answer", "code"),
        (0.0, "no_program", "code"),
        (0.0, "empty", "code"),
        (None, "truncated", "code"),
        (None, "failed", "code"),
    ]
    assert found.extra["isolation"] == "none"
    assert (found.n_correct, found.n_scored, found.n_truncated) == (2, 5, 1)
    assert notes == {"correct": 2, "wrong": 3, "truncated": 1, "unscored": 1, "equal_programs": 1}
    assert [(r["sample_idx"], r["passed"], r["total"]) for r in rows] == [
        (0, 2, 2),
        (1, 2, 2),
        (2, 0, 2),
    ]
    assert rows[2]["detail"] == "expected 2, found 3"


def test_other_queries_pass_untouched() -> None:
    asked = query(1, 0)
    before = [r.verdict for r in asked.rollouts]
    found, notes, _ = scored(asked)
    assert [r.verdict for r in found.rollouts] == before
    assert (notes, found.extra) == ({}, {"isolation": None})


@pytest.mark.parametrize("spec", [{"inputs": [1]}, {"what": 1}, [1]])
def test_tests_that_nobody_can_read_reject_the_query(spec: Any) -> None:
    with pytest.raises(DataError) as caught:
        scored(code_query(rollout(None, content=RIGHT), spec=spec))
    assert caught.value.reason == "bad_tests"


def test_verify_leaves_code_to_it() -> None:
    asked = code_query(rollout(None, content=RIGHT), rollout(None, content=RIGHT, sample_idx=1))
    asked.rollouts[0].verdict = Verdict(1.0, "correct", "code")
    asked.rollouts[1].verdict = None
    (found,) = Verify().process(asked, Context(seed=1))
    assert [r.verdict and r.verdict.reason for r in found.rollouts] == ["correct", "no_verifier"]


def recipe_of(folder: Path, fake_url: str, **top: Any) -> Path:
    said = "def f(x):~    return x + 1 || def f(x):~    return x"
    rows = [{"question": f"Write f, case {n}. Say: {said}", "spec": SPEC} for n in range(6)]
    write_rows(folder / "code.jsonl", rows)
    source = {
        "path": "code.jsonl",
        "license": "Apache-2.0",
        "verifier": "code",
        "domain": "code",
        "columns": {"question": "question", "spec": "spec"},
    }
    model = {"model": "fake", "revision": "r1", "url": fake_url, "max_tokens": 64}
    recipe = {
        "name": "coded",
        "seed": 3,
        "models": {"teacher": model},
        **top,
        "stages": [
            {"corpora": [{"jsonl": source}]},
            {"rollouts": [{"sample": {"by": "teacher", "n": 2}}]},
            {"scores": ["verify", "run_tests"]},
        ],
    }
    return write_recipe(folder / "recipe.yaml", recipe)


def test_a_recipe_that_runs_programs_names_a_sandbox(tmp_path: Path) -> None:
    recipe = recipe_of(tmp_path, "http://127.0.0.1:9")
    with pytest.raises(ConfigError) as caught:
        api.show(recipe)
    assert str(caught.value).endswith(
        "block 'scores', step 'run_tests' runs programs that nobody trusts, and the recipe names "
        "no sandbox: write 'sandbox: local' at its top"
    )
    with pytest.raises(ConfigError, match="sandbox 'nowhere' is not in"):
        api.check(recipe_of(tmp_path, "http://127.0.0.1:9", sandbox="nowhere"))


def test_the_sandbox_is_part_of_what_decides_the_rows(tmp_path: Path) -> None:
    from vtdata.recipe.fingerprint import fingerprints

    prints = [
        fingerprints(
            api.show(recipe_of(tmp_path, "http://127.0.0.1:9", sandbox=name)),
            limit=None,
            revisions={},
        )
        for name in ("local", "e2b")
    ]
    assert prints[0]["rollouts"] == prints[1]["rollouts"]
    assert prints[0]["scores"] != prints[1]["scores"]


def test_a_run_judges_programs_and_says_how_they_were_kept_apart(tmp_path: Path) -> None:
    with start_fake(answer="code") as fake:
        result = run_here(recipe_of(tmp_path, fake.url, sandbox=PLAIN), workers=1)
        rows = block_rows(tmp_path / "run", "scores")
        again = run_here(tmp_path / "recipe.yaml", workers=1)
    assert len(rows) == 6
    assert {row["isolation"] for row in rows} == {"none"}
    verdicts = [r["verdict"] for row in rows for r in row["rollouts"]]
    assert {(v["kind"], v["reward"], v["reason"]) for v in verdicts} == {
        ("code", 1.0, "correct"),
        ("code", 0.0, "wrong_answer"),
    }
    for row in rows:
        for found in row["rollouts"]:
            assert (found["verdict"]["reward"] == 1.0) == ("x + 1" in found["content"])
    table = api.inspect(tmp_path / "run", limit=50, table="programs")
    assert len(table) == 12
    assert result.outcomes[-1].block.name == "scores"
    assert all(outcome.reused for outcome in again.outcomes)
