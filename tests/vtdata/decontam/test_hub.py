"""Benchmarks from a Hub on loopback, through the real clients."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.runs import cli
from tests.vtdata.decontam.fake_hub import NEWEST, fake_hub
from vtdata.decontam.benchmarks import Registry

CARD = b"""---
configs:
- config_name: default
  data_files:
  - split: train
    path: data/train-*
---
"""


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
