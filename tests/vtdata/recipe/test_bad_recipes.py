"""Every mistake in a recipe is one sentence with its place and the way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from vtdata.errors import ConfigError
from vtdata.recipe.plan import load_plan

GOOD = """\
name: toy
seed: 3
models:
  teacher: {model: fake, revision: r1, url: "http://127.0.0.1:1/v1", max_tokens: 64}
stages:
  - corpora:
      - jsonl: {path: q.jsonl, license: MIT, verifier: math, columns: {question: q, answer: a}}
  - queries:
      - length: {min_chars: 3}
  - rollouts:
      - sample: {by: teacher, n: 4}
  - scores:
      - verify
  - selections:
      - verified: {into: sft.stage1}
  - shards:
      - sft: {set: sft.stage1}
"""
LENGTH = "      - length: {min_chars: 3}"
SECOND = "      - sample: {by: teacher, as: second, draw: b}\n"
SOURCE = "      - jsonl: {path: q.jsonl, license: MIT, verifier: math, columns: {question: q, answer: a}}"
ENTRY = (
    "model, revision, max_tokens, temperature, top_p, top_k, min_p, repetition_penalty, stop, "
    "extra_body, url, api_key_env, headers, concurrency, price, stream, idle_timeout_s, attempts"
)


def message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raw: bytes, *settings: str) -> str:
    monkeypatch.chdir(tmp_path)
    Path("toy.yaml").write_bytes(raw)
    with pytest.raises(ConfigError) as found:
        load_plan(Path("toy.yaml"), list(settings))
    return str(found.value)


TOP_LEVEL = [
    ("seed: 3", "seed: 3\nseed: 4", "3: key 'seed' stands here and in line 2: keep one of them"),
    ("seed: 3", "seed: three", "2: seed: found 'three', expected a valid integer"),
    ("seed: 3", "seed: 3.0", "2: seed: found 3.0, expected a valid integer"),
    ("seed: 3", "seed: -1", "2: seed: found -1, expected greater than or equal to 0"),
    ("seed: 3\n", "", "1: seed: is missing"),
    ("seed: 3", "seed: 3\n1: 2", "3: key 1 is no text: quote it"),
    ("seed: 3", "seed: 3\nsead: 3", "3: sead: unknown key 'sead'; did you mean 'seed'?"),
    (
        "name: toy",
        "name: Toy Run",
        "1: name: found 'Toy Run', expected text that matches ^[a-z0-9][a-z0-9._-]*$",
    ),
    (
        "seed: 3",
        "seed: 3\nbudget: {max_usd: 5}",
        "3: budget: max_usd=5 needs a price for every model, and ['teacher'] have none: add "
        "price: {input: USD, output: USD} per million tokens (0 for a server of your own), or use "
        "max_tokens",
    ),
    (
        "revision: r1, ",
        "",
        "4: models.teacher: model 'fake' needs a revision: a commit, the sha256 of its weights, "
        "or the word unpinned; without it another checkpoint under the same name would be "
        "answered from this one's store",
    ),
    (
        "max_tokens: 64",
        "max_tokens: 64, max_token: 3",
        "4: models.teacher.max_token: unknown key 'max_token'; did you mean 'max_tokens'?",
    ),
    (
        "max_tokens: 64",
        "max_tokens: 0",
        "4: models.teacher.max_tokens: found 0, expected greater than or equal to 1",
    ),
    (
        "http://127",
        "http://me:pw@127",
        "4: models.teacher.url: a URL with a user or password would be written to disk with the "
        'recipe: put it into the environment and write "${env:NAME}"',
    ),
    (
        "max_tokens: 64",
        "max_tokens: 64, headers: {X-Api-Key: sk-12345}",
        "4: models.teacher.headers.X-Api-Key: what looks like a secret would be written to disk "
        'with the recipe: put it into the environment and write "${env:NAME}"',
    ),
]
STAGES = [
    (
        "  - scores:",
        "  - score:",
        "12: stages[3].score: no stage 'score'; did you mean 'scores'? there is: corpora, "
        "queries, rollouts, scores, selections, shards",
    ),
    (
        "  - scores:",
        "  - scores.a b:",
        "12: stages[3].scores.a b: label 'a b' of a block is letters and digits",
    ),
    (
        "  - scores:",
        f"  - rollouts:\n{SECOND}  - scores:",
        "12: stages[3]: block 'rollouts' comes twice: give one a label, for example "
        "'rollouts.second'",
    ),
    (
        "  - scores:",
        f"  - corpora.more:\n{SOURCE}\n  - scores:",
        "12: stages[3]: corpora can only be the first block",
    ),
    (
        "  - corpora:",
        "  - from: {run: runs/other, block: scores}\n  - corpora:",
        "7: stages[1]: corpora can only be the first block",
    ),
    (
        "  - queries:",
        "  - from: {run: runs/other, block: scores}\n  - queries:",
        "8: stages[1]: 'from' can only be the first block",
    ),
    (
        f"  - corpora:\n{SOURCE}\n",
        "",
        "6: stages[0]: the first block is 'corpora' or 'from: {run: DIR, block: NAME}'",
    ),
    (
        f"{SOURCE}\n",
        "      - length: {min_chars: 3}\n",
        "7: stages[0].corpora[0].length: no step 'length' in the corpora stage: it belongs to "
        "the queries stage",
    ),
    (
        "  - queries:",
        "  - shards:\n      - sft: {set: x}\n  - queries:",
        "8: stages[1]: shards can only be the last block",
    ),
    (
        "      - sft: {set: sft.stage1}\n",
        "      []\n",
        "16: stages[5]: sft and rl belong to a shards block, and it needs one",
    ),
    (
        "  - queries:\n" + LENGTH,
        "  - queries: {length: {min_chars: 3}}",
        "8: stages[1].queries: a block is a list of steps, found dict",
    ),
]
STEPS = [
    (
        "n: 4",
        "n: 0",
        "11: stages[2].rollouts[0].sample.n: found 0, expected greater than or equal to 1",
    ),
    ("n: 4", "n: '4'", "11: stages[2].rollouts[0].sample.n: found '4', expected a valid integer"),
    (
        "n: 4",
        "m: 4",
        "11: stages[2].rollouts[0].sample.m: unknown key 'm'; allowed: by, n, as, draw, prompt, "
        "instruction",
    ),
    ("by: teacher, n: 4", "n: 4", "11: stages[2].rollouts[0].sample.by: is missing"),
    (
        LENGTH,
        "      - lenght: {min_chars: 3}",
        "9: stages[1].queries[0].lenght: no step 'lenght' in the queries stage: did you mean "
        "'length'?",
    ),
    (
        LENGTH,
        "      - verify",
        "9: stages[1].queries[0].verify: no step 'verify' in the queries stage: it belongs to the "
        "scores stage",
    ),
    (
        LENGTH,
        "      - length: [3]",
        "9: stages[1].queries[0].length: settings of a step are a mapping, found [3]",
    ),
    (
        LENGTH,
        "      - 3",
        "9: stages[1].queries[0]: a step is a name or a mapping of one name to its settings, "
        "found 3",
    ),
    (
        LENGTH,
        "      - {length: {min_chars: 3}, other: 1}",
        "9: stages[1].queries[0]: a step has one name, found length, other",
    ),
    (
        "min_chars: 3",
        "min_chars: 9, max_chars: 3",
        "9: stages[1].queries[0].length: need min_chars <= max_chars, got 9 and 3",
    ),
    (
        LENGTH,
        "      - use: nowhere.at_all:Step",
        "9: stages[1].queries[0].use: step 'nowhere.at_all:Step' can't be imported: No module "
        "named 'nowhere'; put its folder on PYTHONPATH or install its package",
    ),
    (
        LENGTH,
        "      - use: json:JSONDecoder",
        "9: stages[1].queries[0].use: step 'json:JSONDecoder' is no subclass of vtdata.steps.Step",
    ),
    (
        LENGTH,
        "      - use: vtdata.queries.length:Lenght",
        "9: stages[1].queries[0].use: step 'vtdata.queries.length:Lenght': module "
        "vtdata.queries.length has no Lenght; did you mean 'Length'?",
    ),
    (
        LENGTH,
        "      - use: vtdata.queries.length",
        "9: stages[1].queries[0].use: 'vtdata.queries.length': write a step as "
        "package.module:Class",
    ),
    (
        LENGTH,
        "      - {use: 'vtdata.queries.length:Length', wiht: {}}",
        "9: stages[1].queries[0]: beside 'use: package.module:Class' only 'with' and 'tests' may "
        "stand, found wiht",
    ),
]
FLOW = [
    (
        "by: teacher",
        "by: techer",
        "block 'rollouts', step 'sample': model 'techer' is not in models; did you mean "
        "'teacher'? there is: teacher",
    ),
    (
        "      - verify\n",
        "      - verify: {of: techer}\n",
        "block 'scores', step 'verify': no rollout set 'techer'; did you mean 'teacher'? there "
        "is: teacher",
    ),
    (
        "  - scores:",
        f"  - rollouts.second:\n{SECOND}  - scores:",
        "block 'scores', step 'verify': there are several rollout sets (teacher, second): say "
        "which with 'of'",
    ),
    (
        "  - scores:\n      - verify\n",
        "",
        "block 'selections', step 'verified' reads verdicts:teacher and nothing before it writes "
        "that: put a 'scores' block that does before it",
    ),
]


@pytest.mark.parametrize(("old", "new", "error"), [*TOP_LEVEL, *STAGES, *STEPS])
def test_a_mistake_is_a_sentence_with_file_line_and_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, error: str
) -> None:
    assert old in GOOD
    raw = GOOD.replace(old, new, 1).encode()
    assert message(tmp_path, monkeypatch, raw) == f"toy.yaml:{error}"


@pytest.mark.parametrize(("old", "new", "error"), FLOW)
def test_a_step_without_what_it_reads_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, error: str
) -> None:
    assert old in GOOD
    raw = GOOD.replace(old, new, 1).encode()
    assert message(tmp_path, monkeypatch, raw) == f"toy.yaml: {error}"


def test_two_mistakes_are_two_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = GOOD.replace("seed: 3", "sede: 3").encode()
    assert message(tmp_path, monkeypatch, raw).splitlines() == [
        "toy.yaml:1: seed: is missing",
        "toy.yaml:2: sede: unknown key 'sede'; did you mean 'seed'?",
    ]


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        (b"", "toy.yaml: a recipe is a mapping with name, seed and stages"),
        (b"- a\n- b\n", "toy.yaml: a recipe is a mapping with name, seed and stages"),
        (b"42\n", "toy.yaml: a recipe is a mapping with name, seed and stages"),
        (b"name: \xff\n", "recipe toy.yaml is not UTF-8 (byte 6): save it so"),
        (
            b"name:\ttoy\n",
            "toy.yaml:1: not valid YAML: found character '\\t' that cannot start any token",
        ),
        (
            b"stages:\n\t- queries:\n",
            "toy.yaml:2: not valid YAML: found character '\\t' that cannot start any token",
        ),
        (b"name: [toy\nseed: 3\n", "toy.yaml:2: not valid YAML: expected ',' or ']', but got ':'"),
        (b"name: a\n---\nname: b\n", "toy.yaml:2: not valid YAML: but found another document"),
        (
            b"name: a\nstages: &x\n  - *x\n",
            "toy.yaml:2: an alias stands inside what it names: write it out",
        ),
    ],
)
def test_what_is_no_yaml_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raw: bytes, error: str
) -> None:
    assert message(tmp_path, monkeypatch, raw) == error


@pytest.mark.parametrize(
    ("setting", "error"),
    [
        ("seed", "--set seed: write it as key.path=value"),
        ("=3", "--set =3: write it as key.path=value"),
        (
            "seed=[",
            "--set seed=[:1: not valid YAML: expected the node content, but found '<stream end>'",
        ),
        ("seed=x", "toy.yaml:2: seed: found 'x', expected a valid integer"),
        ("sed=4", "toy.yaml:1: sed: unknown key 'sed'; did you mean 'seed'?"),
        (
            "models.teacher.max_tokens.a=9",
            "--set models.teacher.max_tokens.a=9: 'a' can't be set there; there is only the value "
            "64",
        ),
        (
            "stages.rollouts.smaple.n=2",
            "--set stages.rollouts.smaple.n=2: 'smaple' is not in the recipe; there is: sample",
        ),
        (
            "stages.9.x=1",
            "--set stages.9.x=1: '9' is not in the recipe; there is: corpora, queries, rollouts, "
            "scores, selections, shards",
        ),
        (
            "models.teacher.nope=3",
            f"toy.yaml:4: models.teacher.nope: unknown key 'nope'; allowed: {ENTRY}",
        ),
    ],
)
def test_a_wrong_set_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, error: str
) -> None:
    assert message(tmp_path, monkeypatch, GOOD.encode(), setting) == error


@pytest.mark.parametrize(
    "setting", ["stages.2.rollouts.0.sample.n=2", "stages.rollouts.sample.n=2"]
)
def test_set_finds_a_step_by_index_and_by_name(tmp_path: Path, setting: str) -> None:
    (tmp_path / "toy.yaml").write_text(GOOD)
    plan = load_plan(tmp_path / "toy.yaml", [setting, "stages.scores.verify.of=teacher"])
    assert plan.blocks[2].steps[0].step.n == 2  # ty: ignore[unresolved-attribute]
    assert plan.raw["stages"][3] == {"scores": [{"verify": {"of": "teacher"}}]}


def test_no_code_refuses_a_use_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("toy.yaml").write_text(GOOD.replace(LENGTH, "      - use: vtdata.queries.length:Length"))
    with pytest.raises(ConfigError) as found:
        load_plan(Path("toy.yaml"), code=False)
    assert str(found.value) == (
        "toy.yaml:9: stages[1].queries[0]: step 'vtdata.queries.length:Length' is code of the "
        "recipe's author and --no-code refuses it"
    )
    assert load_plan(Path("toy.yaml")).foreign == ["vtdata.queries.length:Length"]


def test_a_recipe_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"^recipe a\.yaml is not there: give the path of a"):
        load_plan(Path("a.yaml"))
    with pytest.raises(
        ConfigError, match=r"^recipe \. is a folder: give the path of a \.yaml file"
    ):
        load_plan(Path())


def test_own_keys_win_over_merged_ones(tmp_path: Path) -> None:
    merged = GOOD.replace(
        "stages:\n",
        "  other: &o {model: fake, revision: r1, max_tokens: 9}\n"
        "  third: {<<: *o, max_tokens: 7}\n"
        "  fourth: {<<: *o, revision: r2}\nstages:\n",
    )
    (tmp_path / "toy.yaml").write_text(merged)
    models = load_plan(tmp_path / "toy.yaml").models
    assert [(m.revision, m.max_tokens) for m in models.values()] == [
        ("r1", 64),
        ("r1", 9),
        ("r1", 7),
        ("r2", 9),
    ]


def test_a_date_is_text_and_an_exponent_a_number(tmp_path: Path) -> None:
    changed = GOOD.replace("license: MIT", "license: MIT, date: 2024-01-31")
    (tmp_path / "toy.yaml").write_text(
        changed.replace("seed: 3", "seed: 3\nmax_failed_share: 1e-3")
    )
    plan = load_plan(tmp_path / "toy.yaml")
    assert plan.recipe.max_failed_share == 0.001
    assert plan.raw["stages"][0]["corpora"][0]["jsonl"]["date"] == "2024-01-31"
