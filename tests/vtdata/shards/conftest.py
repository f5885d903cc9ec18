"""A block with an SFT and an RL set, cut once for all tests that read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.factories import query, rate, rollout
from vtdata.records import Query, Verifier, Vote
from vtdata.shards.card import write_card
from vtdata.shards.cut import cut
from vtdata.shards.manifest import write_manifest
from vtdata.shards.rl import Rl
from vtdata.shards.sft import Sft
from vtdata.shards.spill import Spill
from vtdata.steps import Context, Cut

CTX = Context(seed=17, recipe="toy", fingerprint="f" * 64)
STEPS = [
    {
        "block": "corpora",
        "step": "jsonl",
        "entered": 0,
        "created": 31,
        "kept": 30,
        "rejected": {"no_answer": 1},
    },
    {
        "block": "scores",
        "step": "verify",
        "entered": 30,
        "kept": 30,
        "rollouts_entered": 90,
        "rollouts_kept": 60,
        "rollouts_dropped": {"wrong": 30},
    },
]


def questions() -> list[Query]:
    """Thirty of math, choice and code, each with two right rollouts and a wrong one."""
    asked = []
    for n in range(30):
        made = [
            rollout(1.0, sample_idx=0, reasoning=f"{n} and {n}."),
            rollout(1.0, sample_idx=1, reasoning=None),
            rollout(0.0, sample_idx=2),
        ]
        one = query(
            question=f"What is {n}+{n}?",
            rollouts=made,
            answer=str(2 * n),
            into=["sft.stage1", "rl"],
            pass_rates=[rate(1.0, 1.0, 0.0, truncated=1)],
        )
        if n % 3 == 1:
            one.verifier, one.options, one.answer = Verifier("choice"), ["red", "blue"], "B"
        if n % 3 == 2:
            one.verifier, one.answer = Verifier("code", '{"tests": [1, 2, 3]}'), None
            one.domain, one.license = "code", "CC-BY-4.0"
        asked.append(one)
    return asked


def cut_set(block: Path, step: Cut, asked: list[Query], name: str | None = None) -> Path:
    """Cut one set into ``block`` and write its manifest."""
    folder = block / (name or step.folder)
    spill_path = block.parent / f"{folder.name}.spill"
    with Spill(spill_path, step.schema, 2, seed=CTX.seed) as spill:
        for one in asked:
            for row in step.rows(one, CTX):
                spill.add(row, step.split(one, CTX))
    files = cut([spill_path], folder, step.schema, seed=CTX.seed)
    write_manifest(
        folder,
        files,
        step.schema,
        name=folder.name,
        recipe=CTX.recipe,
        fingerprint=CTX.fingerprint,
        seed=CTX.seed,
        steps=STEPS,
        models={"teacher": {"model": "our/teacher", "revision": "unpinned", "max_tokens": 64}},
        cost_usd=1.5,
    )
    return folder


@pytest.fixture(scope="session")
def block(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "06-shards"
    folder.mkdir()
    cut_set(folder, Sft(set="sft.stage1", validation_share=0.2), questions())
    cut_set(folder, Rl(validation_share=0.2, max_inline_bytes=10), questions())
    write_card(folder, ["sft.stage1", "rl"], description="Sums of our own.")
    return folder


@pytest.fixture(scope="session")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same sets where the optional columns are filled the other way round."""
    folder = tmp_path_factory.mktemp("other") / "06-shards"
    folder.mkdir()
    asked = [
        query(
            1.0,
            question=f"And {n}?",
            into=["sft.stage1", "rl"],
            subdomain="sums",
            pass_rates=[],
            vote=Vote("teacher", "4", 3, 4, 1, 2, "majority"),
            extra={"stratum": "hard"},
        )
        for n in range(5)
    ]
    cut_set(folder, Sft(set="sft.stage1"), asked)
    cut_set(folder, Rl(), asked)
    return folder
