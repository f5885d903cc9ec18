"""Steps of somebody else that break, and secrets that must not be seen."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import yaml

from tests.fake_server import Handle, start_fake
from tests.runs import block_rows, cli, full_recipe, manifest_of, run_here, shard_bytes
from vtdata.errors import ConfigError, RunError

STEP = '''
import pyarrow as pa
from vtdata.steps import Map, step
from vtdata.records import Query

@step
class Score(Map):
    """Write a score."""
    writes = {{"score": pa.float64()}}

    def process(self, query, ctx):
        {body}
        return [query]
'''


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recipe whose second block has a step of the file ``own.py`` beside it."""
    recipe = full_recipe(tmp_path)
    data = yaml.safe_load(recipe.read_text())
    data["stages"][1]["queries"].append({"use": "own:Score"})
    recipe.write_text(yaml.safe_dump(data, sort_keys=False))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return recipe


def run_foreign(recipe: Path, fake: Handle, body: str, *more: object):
    (recipe.parent / "own.py").write_text(STEP.format(body=body))
    return cli("run", recipe, "--out", "run", "--workers", 1, *more, cwd=recipe.parent, fake=fake)


GOOD = 'query.extra["score"] = [None, 1, 2.5][query.bucket % 3]'


@pytest.mark.slow
def test_a_step_that_raises_ends_the_run_and_the_next_repairs_it(
    foreign: Path, fake: Handle
) -> None:
    run = foreign.parent / "run"
    done = run_foreign(foreign, fake, "1 / 0")
    assert done.returncode == 1
    assert "ZeroDivisionError: division by zero" in done.stderr
    assert "in step 'score' (own:Score), query " in done.stderr
    assert not list(run.glob("02-*/manifest.json"))
    assert not list(run.glob("02-*/*.parquet"))

    done = run_foreign(foreign, fake, 'query.extra["score"] = "high"')
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1] == (
        "vtdata: column 'score' is declared as double, and a step wrote something else: Could not "
        "convert 'high' with type str: tried to convert to double; mend the step or its 'writes'"
    )
    assert not list(run.glob("02-*/manifest.json"))

    done = run_foreign(foreign, fake, "return []")
    assert done.returncode == 1
    assert "step 'score' did not return query " in done.stderr

    done = run_foreign(foreign, fake, GOOD)
    assert done.returncode == 0
    assert "the recipe brings in code of its own: own:Score" in done.stderr
    scores = {row["bucket"] % 3: row["score"] for row in block_rows(run, "queries")}
    assert scores == {0: None, 1: 1.0, 2: 2.5}
    assert manifest_of(run, "shards").sets == ["sft.stage1", "rl"]


def test_no_code_on_the_command_line(foreign: Path, fake: Handle) -> None:
    done = run_foreign(foreign, fake, GOOD, "--no-code")
    assert done.returncode == 2
    assert "step 'own:Score' is code of the recipe's author and --no-code refuses it" in done.stderr
    assert not (foreign.parent / "run").exists()


def test_a_step_that_only_this_process_knows_is_a_sentence_and_not_a_hang(
    foreign: Path, fake: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a notebook: the class is on this process's path, and on no worker's."""
    (foreign.parent / "hidden").mkdir()
    (foreign.parent / "hidden" / "own.py").write_text(STEP.format(body=GOOD))
    monkeypatch.syspath_prepend(str(foreign.parent / "hidden"))
    monkeypatch.setenv("PYTHONPATH", "")
    try:
        with pytest.raises(ConfigError) as found:
            run_here(foreign, workers=2)
    finally:
        sys.modules.pop("own", None)
    assert str(found.value).startswith(
        "steps own:Score can't be rebuilt in a fresh interpreter (vtdata.errors.ConfigError: "
    )
    assert str(found.value).endswith(
        ": put their module on PYTHONPATH and keep the class at module level"
    )


KEYS = {
    "VTDATA_T_KEY": "sk-Zq81mmW0pLx",
    "VTDATA_T_TEAM": "hdr-77QpaBvNcc",
    "VTDATA_T_PW": "pw-3kT9sLwQ",
}


def secrets_in(folder: Path) -> list[str]:
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            raw = path.read_bytes()
            found += [f"{name} in {path.name}" for name, key in KEYS.items() if key.encode() in raw]
    return found


@pytest.mark.parametrize("known", [True, False], ids=["right key", "wrong key"])
def test_no_secret_is_in_any_file_of_a_run(
    tmp_path: Path, original: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    with start_fake(answer="sum", key=KEYS["VTDATA_T_KEY"] if known else "another") as fake:
        for name, key in KEYS.items():
            monkeypatch.setenv(name, key)
        host = fake.url.removeprefix("http://")
        monkeypatch.setenv("VTDATA_TEST_URL_PW", f"http://me:{KEYS['VTDATA_T_PW']}@{host}")
        recipe = full_recipe(tmp_path)
        data = yaml.safe_load(recipe.read_text())
        for model in data["models"].values():
            model["api_key_env"] = "VTDATA_T_KEY"
            model["headers"] = {"X-Team": "${env:VTDATA_T_TEAM}"}
        recipe.write_text(yaml.safe_dump(data, sort_keys=False))
        done = cli("run", recipe, "--out", "run", "--workers", 1, cwd=tmp_path, fake=fake)
    assert done.returncode == (0 if known else 1)
    assert secrets_in(tmp_path / "run") == []
    assert not [key for key in KEYS.values() if key in done.stderr + done.stdout]
    if known:
        assert shard_bytes(tmp_path / "run") == shard_bytes(original / "run")


def test_a_password_in_the_url_and_an_echo_leave_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with start_fake(answer="sum", shares={"echo": 0.3, "401": 0.3}) as fake:
        for name, key in KEYS.items():
            monkeypatch.setenv(name, key)
        host = fake.url.removeprefix("http://")
        monkeypatch.setenv("VTDATA_TEST_URL", f"http://me:{KEYS['VTDATA_T_PW']}@{host}")
        recipe = full_recipe(tmp_path, until="rollouts")
        with pytest.raises(RunError) as found:
            run_here(recipe)
    assert "401" in str(found.value)
    assert KEYS["VTDATA_T_PW"] not in repr(found.value)
    assert secrets_in(tmp_path / "run") == []
    assert os.environ["VTDATA_T_PW"] == KEYS["VTDATA_T_PW"]


@pytest.mark.parametrize(
    ("key", "value", "place"),
    [
        ("url", "http://127.0.0.1:9/v1?api-key=hush-hush", "url"),
        ("extra_body", {"api_key": "hush-hush"}, "extra_body.api_key"),
    ],
)
def test_a_secret_in_an_address_or_body_is_refused(
    tmp_path: Path, key: str, value: object, place: str
) -> None:
    recipe = full_recipe(tmp_path, 2)
    data = yaml.safe_load(recipe.read_text())
    data["models"]["teacher"][key] = value
    recipe.write_text(yaml.safe_dump(data, sort_keys=False))
    with pytest.raises(ConfigError, match=f"{place}: what looks like a secret would be") as caught:
        run_here(recipe)
    assert "hush" not in str(caught.value)
    assert not (tmp_path / "run").exists()
