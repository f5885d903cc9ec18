from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fake_server import start_fake
from tests.runs import URL, full_recipe
from vtdata import api
from vtdata.errors import ConfigError


def test_a_store_says_what_it_holds_before_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = full_recipe(tmp_path, 5)
    with start_fake(answer="sum") as fake:
        monkeypatch.setenv(URL, fake.url)
        api.run(recipe, out=tmp_path / "run", workers=1)
        told = api.clean_store(tmp_path / "run")
        assert told["answers"] == fake.counters()["chat"] - fake.counters()["probe"] == 30
        assert not told["removed"]
        assert {m["revision"]: m["answers"] for m in told["models"]} == {"r1": 20, "r2": 10}
        assert all(m["completion_tokens"] > 0 and m["usd"] is None for m in told["models"])
        assert (tmp_path / "run" / "store").is_dir()
        assert api.clean_store(tmp_path / "run", remove=True)["removed"]
        with pytest.raises(ConfigError, match="has no generation store"):
            api.clean_store(tmp_path / "run")


def test_superseded_blocks_go_and_current_ones_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = full_recipe(tmp_path, 5)
    with start_fake(answer="sum") as fake:
        monkeypatch.setenv(URL, fake.url)
        first = api.run(recipe, out=tmp_path / "run", workers=1)
        second = api.run(recipe, out=tmp_path / "run", workers=1, settings=["seed=4"])
    old = {o.folder.name for o in first.outcomes}
    new = {o.folder.name for o in second.outcomes}
    assert not old & new
    assert {path.name for path in api.clean(tmp_path / "run", dry_run=True)} == old
    assert {path.name for path in api.clean(tmp_path / "run")} == old
    left = {path.name for path in (tmp_path / "run").iterdir() if path.name[:2].isdigit()}
    assert left == new
    assert json.loads((second.outcomes[0].folder / "manifest.json").read_text())["block"]
