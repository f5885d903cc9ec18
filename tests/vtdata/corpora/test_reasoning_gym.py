from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from fractions import Fraction
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

import pytest

from vtdata.corpora.checks import Check
from vtdata.corpora.reasoning_gym import (
    HASH_DEPENDENT,
    LICENSE,
    REFUSED,
    SEEDED_WHEN_MADE,
    UNIQUE_INTEGER,
    ReasoningGym,
    as_json,
    make,
)
from vtdata.errors import ConfigError
from vtdata.records import Query
from vtdata.seeds import derive_seed
from vtdata.steps import Context

FAMILIES = ["chain_sum", "countdown", "gsm_symbolic"]


def read(families: Any, size: int = 4, seed: int = 17, **ctx: Any) -> list[Query]:
    step = ReasoningGym(families=families, size=size)
    context = Context(seed=seed, **ctx)
    step.open(context)
    return list(step.read(context))


def rows(queries: list[Query]) -> list[str]:
    return [query.provenance.origins[0].row for query in queries]


def known(queries: list[Query]) -> list[str]:
    return sorted(json.dumps(asdict(query), sort_keys=True) for query in queries)


@pytest.mark.parametrize("world", [1, 2, 3, 8])
@pytest.mark.parametrize("limit", [None, 0, 5, 100])
def test_ranks_split_the_items(world: int, limit: int | None) -> None:
    split = [q for r in range(world) for q in read(FAMILIES, rank=r, world=world, limit=limit)]
    assert known(split) == known(read(FAMILIES)[:limit])


def test_families_take_turns_so_that_a_limit_keeps_them_all() -> None:
    assert rows(read(FAMILIES, limit=4)) == [
        "chain_sum[0]",
        "countdown[0]",
        "gsm_symbolic[0]",
        "chain_sum[1]",
    ]


def test_neighboring_seeds_share_no_item() -> None:
    ids = [{q.id for q in read(FAMILIES, size=10, seed=seed)} for seed in (17, 18)]
    assert len(ids[0]) == 30
    assert not ids[0] & ids[1]


@pytest.mark.parametrize("family", ["chain_sum", "countdown", *sorted(SEEDED_WHEN_MADE)])
def test_an_item_is_that_of_a_generator_with_its_seed_alone(family: str) -> None:
    import reasoning_gym

    for index, query in enumerate(read([family])):
        seed = derive_seed(17, "reasoning_gym", family, index)
        entry = reasoning_gym.create_dataset(family, seed=seed, size=1)[0]
        assert (query.question, query.answer) == (entry["question"], entry["answer"])


def test_unique_integers_are_math_and_the_rest_keeps_its_scorer() -> None:
    chain, countdown, story = read(FAMILIES, size=1)
    assert (chain.verifier.kind, story.verifier.kind) == ("math", "math")
    assert chain.answer
    assert int(chain.answer) is not None
    assert countdown.verifier.kind == "reasoning_gym"
    spec = json.loads(countdown.verifier.spec)
    assert spec["family"] == "countdown"
    assert spec["entry"]["question"] == countdown.question
    assert spec["entry"]["answer"] == countdown.answer
    assert spec["entry"]["metadata"]["numbers"]
    assert (chain.domain, chain.subdomain) == ("math", "arithmetic")
    assert (countdown.domain, countdown.subdomain) == ("logic", "games")
    assert chain.source == "reasoning_gym"
    assert chain.license == LICENSE == metadata("reasoning_gym")["License-Expression"]


def test_settings_reach_the_generator_and_its_scorer() -> None:
    settings = {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 1}
    for query in read({"chain_sum": settings, "countdown": None}):
        if query.verifier.kind == "math":
            assert sum(part.isdigit() for part in query.question.split()) == 2
        else:
            assert json.loads(query.verifier.spec)["config"] == {}
    (query,) = read({"puzzle24": {"max_value": 6}}, size=1)
    assert json.loads(query.verifier.spec)["config"] == {"max_value": 6}


@pytest.mark.parametrize(
    ("families", "message"),
    [
        (["chain_sums"], "reasoning_gym has no family 'chain_sums'; did you mean 'chain_sum'?"),
        (["codeio"], "family 'codeio' can't be a source: it executes code"),
        (["composite"], "family 'composite' can't be a source: it mixes other families"),
        (
            {"chain_sum": {"max_term": 3}},
            "family 'chain_sum' has no setting 'max_term'; did you mean 'max_terms'? it has allow",
        ),
        ({"chain_sum": {"seed": 3}}, "family 'chain_sum' has no setting 'seed';"),
        ({"chain_sum": {"size": 3}}, "family 'chain_sum' has no setting 'size';"),
        (
            {"chain_sum": {"min_terms": 9, "max_terms": 3}},
            "family 'chain_sum' refuses the settings {'min_terms': 9, 'max_terms': 3}: ",
        ),
        ({"chain_sum": {"min_terms": "x"}}, "family 'chain_sum' refuses the settings"),
    ],
)
def test_families_that_cannot_be(families: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(families)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("family", sorted(HASH_DEPENDENT))
def test_a_family_that_differs_between_processes_needs_a_fixed_hash(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    with pytest.raises(ConfigError, match="set PYTHONHASHSEED=0 in the environment"):
        read([family])
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    ReasoningGym(families=[family], size=1).open(Context(seed=1))


@pytest.mark.parametrize(
    ("families", "size", "message"),
    [
        ([], 1, "families is empty"),
        (["chain_sum"], 0, "size must be at least 1, got 0"),
        (["chain_sum", "chain_sum"], 1, "families names one twice"),
    ],
)
def test_settings_that_cannot_work(families: Any, size: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ReasoningGym(families=families, size=size)


def test_a_generator_that_finds_nothing_is_a_reject(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = type(make("lcm", {}, 1))
    honest = generator.__getitem__

    def sometimes(self: Any, index: int) -> dict[str, Any]:
        if self.seed == derive_seed(17, "reasoning_gym", "lcm", 2):
            raise ValueError("no item in 100 attempts")
        return honest(self, index)

    monkeypatch.setattr(generator, "__getitem__", sometimes)
    found = read(["lcm"])
    assert [query.drop_reason for query in found] == [None, None, "generator_failed", None]
    assert found[2].drop_detail == "lcm[2]: ValueError('no item in 100 attempts')"
    assert len({query.id for query in found}) == 4


def test_specs_hold_numbers_exactly() -> None:
    text = as_json({"half": Fraction(1, 2), "tuple": (1, 2**70), "float": 0.1})
    assert json.loads(text) == {"half": "1/2", "tuple": [1, 2**70], "float": 0.1}
    with pytest.raises(TypeError, match="reasoning_gym's entry holds a set: "):
        as_json({"set": {1}})


EVERY = """
import json, sys
from dataclasses import asdict
from reasoning_gym.factory import DATASETS
from vtdata.corpora.checks import Check
from vtdata.corpora.reasoning_gym import HASH_DEPENDENT, REFUSED, ReasoningGym
from vtdata.records import query_schema, to_batch
from vtdata.steps import Context

names = sorted(set(DATASETS) - set(REFUSED) - HASH_DEPENDENT)
queries = list(ReasoningGym(families=names, size=2).read(Context(seed=17)))
assert to_batch(queries, query_schema()).num_rows == len(queries)
made = [json.dumps(asdict(query), sort_keys=True) for query in queries]
for query in queries:
    Check().process(query, Context(seed=17))
print(json.dumps([made, [[q.provenance.origins[0].row, q.drop_reason] for q in queries]]))
"""


@pytest.mark.slow
def test_every_other_family_is_the_same_in_every_process() -> None:
    found = []
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", EVERY],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
        )
        found.append(json.loads(done.stdout.splitlines()[-1]))
    assert found[0] == found[1]
    # These keep tuples apart from lists, or have a scorer that would evaluate the answer.
    rejected = {row.partition("[")[0] for row, reason in found[0][1] if reason == "bad_reference"}
    assert rejected == {"arc_agi", "rearc", "intermediate_integration", "simple_integration"}


@pytest.mark.parametrize("family", sorted(UNIQUE_INTEGER))
def test_unique_integers_pass_their_own_verifier(family: str) -> None:
    for query in read([family], size=3):
        assert query.verifier.kind == "math"
        assert Check().process(query, Context(seed=17))[0].live
    assert family not in REFUSED


def test_another_version_of_the_package_is_another_fingerprint() -> None:
    (file,) = ReasoningGym(families=["lcm"], size=1).files(Path())
    assert f"Version: {metadata('reasoning_gym')['Version']}\n" in file.read_text()


def test_generators_write_nothing_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(read(["bf"])) == 4  # it prints a dot per item
    assert capsys.readouterr().out == ""
