"""Benchmarks from a Hub on loopback through the real clients, and from a folder laid out so."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.runs import cli
from tests.vtdata.decontam.fake_hub import NEWEST, fake_hub
from vtdata.decontam.benchmarks import Registry, load
from vtdata.errors import ConfigError, InfraError

ROWS = [
    {"id": "a", "question": "How many cups?", "answer": "3"},
    {"id": "b", "question": "How many plates?", "answer": "4"},
]
CARD = b"""---
configs:
- config_name: default
  data_files:
  - split: train
    path: data/train-*
---
"""


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No registry and no stand-ins of this machine."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("VTDATA_BENCHMARKS", raising=False)


def call(folder: Path, hub: str, *arguments: str, offline: bool = False) -> Any:
    return cli(
        "benchmarks",
        *arguments,
        cwd=folder,
        HF_ENDPOINT=hub,
        HF_HOME=str(folder / "cache"),
        HF_HUB_OFFLINE="1" if offline else "0",
        HF_HUB_DISABLE_XET="1",
        XDG_CONFIG_HOME=str(folder / "config"),
        VTDATA_BENCHMARKS="",
    )


def test_an_unpinned_dataset_says_what_it_resolved_to(tmp_path: Path) -> None:
    table = pa.table({"problem_idx": [1, 2], "problem": ["One and one?", "Two and two?"]})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    files = {"README.md": CARD, "data/train-00000-of-00001.parquet": buffer.getvalue()}
    with fake_hub(files) as (hub, asked):
        shown = json.loads(call(tmp_path, hub, "show", "aime26", "--json").stdout)
        load = shown["load"]
        assert (load["ok"], load["num_items"], load["revision"]) == (True, 2, NEWEST)
        assert load["said"] == [
            f"aime26: MathArena/aime_2026 is unpinned; its newest commit is {NEWEST}",
            "aime26 (MathArena/aime_2026) has 2 items where 30 are known: another version?",
        ]
        assert f"GET /datasets/MathArena/aime_2026/resolve/{NEWEST}/data/" in " ".join(asked)
        added = call(tmp_path, hub, "add", "mine", "some/set:default/train", "--license", "mit")
        assert added.returncode == 0, added.stderr
    entry = Registry.read(tmp_path).find("mine").entry
    assert (entry.hub, entry.revision, entry.split) == ("some/set", NEWEST, "train")
    assert (entry.fields, entry.key, entry.num_items) == (("problem",), "problem_idx", 2)
    again = json.loads(call(tmp_path, hub, "show", "mine", "--json", offline=True).stdout)
    assert again["load"]["sha256"] == load["sha256"]  # from the cache, with no Hub to ask


@pytest.mark.slow
def test_files_of_a_repository_with_a_script(tmp_path: Path) -> None:
    def lines(number: int) -> bytes:
        row = {"question_content": f"p{number}", "question_id": str(number)}
        return json.dumps({**row, "contest_date": f"2025-01-0{number}T00:00:00"}).encode() + b"\n"

    names = ["test.jsonl", *(f"test{n}.jsonl" for n in range(2, 7))]
    files = {name: lines(number) for number, name in enumerate(names, 1)}
    with fake_hub({**files, "code_generation_lite.py": b"", "README.md": b""}) as (hub, _):
        shown = call(tmp_path, hub, "show", "livecodebench-v5", "--json")
        load = json.loads(shown.stdout)["load"]
        assert (load["num_items"], load["split"]) == (5, "test")
        pinned = json.loads(shown.stdout)["revision"]
        assert load["revision"] == pinned
        bare = call(tmp_path, hub, "show", "livecodebench/code_generation_lite")
        assert bare.stderr.rstrip().endswith("name its data files with --files")
        lacking = call(tmp_path, hub, "add", "lcb7", "a/b", "--files", "test7.jsonl")
        assert (lacking.returncode, lacking.stdout) == (2, "")
        assert "a/b can't be read" in lacking.stderr
        assert "files test7.jsonl" in lacking.stderr
    again = call(tmp_path, hub, "show", "livecodebench-v5", "--json", offline=True)
    assert json.loads(again.stdout)["load"]["sha256"] == load["sha256"]


def test_a_hub_that_can_not_be_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(InfraError) as caught:
        load("aime26", folder=tmp_path)
    assert str(caught.value).startswith("aime26: MathArena/aime_2026 can't be fetched (")
    assert "lay aime26.jsonl into a folder and name that with --benchmarks DIR" in str(caught.value)


def hub_folder(folder: Path) -> Path:
    path = folder / "hubby" / "data"
    path.mkdir(parents=True)
    for split, rows in (("train", ROWS[:1]), ("test", ROWS)):
        table = pa.Table.from_pylist([{**row, "day": "2025-01-04T00:00:00"} for row in rows])
        pq.write_table(table, path / f"{split}-00000-of-00001.parquet")
    return path.parent


def test_a_folder_in_the_hubs_layout(tmp_path: Path) -> None:
    hub_folder(tmp_path)
    found = load("./hubby", folder=tmp_path)
    assert [(i.key, i.text) for i in found.items] == [(r["id"], r["question"]) for r in ROWS]
    assert (found.split, found.revision, found.source) == ("test", None, "hubby")
    again = load("./hubby", folder=tmp_path)
    assert again.sha256 == found.sha256
    (tmp_path / "benchmarks.yaml").write_text(
        "mine: {hub: ./hubby, split: train, fields: [question], date_field: day}\n"
        "files: {hub: ./hubby, files: [data/test-00000-of-00001.parquet], fields: [answer]}\n"
        "wrong: {hub: ./hubby, split: dev}\n"
        "none: {hub: ./hubbie}\n"
        "field: {hub: ./hubby, fields: [frage]}\n",
    )
    mine = load("mine", folder=tmp_path)
    assert [(i.text, i.date) for i in mine.items] == [(ROWS[0]["question"], "2025-01-04")]
    assert mine.sha256 != found.sha256
    assert [i.text for i in load("files", folder=tmp_path).items] == ["3", "4"]
    with pytest.raises(ConfigError, match=r"wrong: \./hubby can't be read .*split 'dev'"):
        load("wrong", folder=tmp_path)
    with pytest.raises(ConfigError, match=r"\./hubbie is no folder"):
        load("none", folder=tmp_path)
    with pytest.raises(ConfigError, match=r"has no 'frage'; its columns are id, question"):
        load("field", folder=tmp_path)
