from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from tests.factories import query, rollout
from tests.vtdata.shards.conftest import cut_set, questions
from vtdata.errors import RunError
from vtdata.shards.card import write_card
from vtdata.shards.manifest import MANIFEST, read_manifest, shard_files, verify_files
from vtdata.shards.rl import Rl
from vtdata.shards.sft import Sft


@pytest.fixture
def copy(block: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(block / "sft.stage1", tmp_path / "copy"))


def test_totals_are_counted_from_the_files(block: Path) -> None:
    sft = read_manifest(block / "sft.stage1")
    assert (sft.kind, sft.totals.rows, sft.totals.unique_prompts) == ("sft", 60, 30)
    assert sft.totals.n_prompt_tokens == 60 * 12
    assert sft.totals.n_completion_tokens == 60 * 9
    assert sft.totals.licenses == {"Apache-2.0": 40, "CC-BY-4.0": 20}
    assert sft.totals.answer_sources == {"gold": 40, "tests": 20}
    assert (sft.totals.rollouts, sft.totals.truncated) == (30 * 4, 30)
    assert sft.totals.pass_rates["to 1/2"] == 30
    assert sum(sft.totals.splits.values()) == 60
    assert len(sft.totals.teachers) == 1
    rl = read_manifest(block / "rl")
    assert (rl.kind, rl.totals.rows, rl.totals.unique_prompts) == ("rl", 30, 30)
    assert rl.totals.domains == {"math": 20, "code": 10}
    assert rl.totals.pass_rates["to 1/2"] == 30
    assert (rl.totals.n_prompt_tokens, rl.totals.teachers) == (0, {})


def test_rows_without_token_counts_are_counted_as_such(tmp_path: Path) -> None:
    uncounted = rollout(n_completion_tokens=None)
    asked = query(into=["sft"], rollouts=[uncounted, rollout(sample_idx=1)])
    totals = read_manifest(cut_set(tmp_path / "b", Sft(), [asked])).totals
    assert (totals.n_prompt_tokens, totals.n_completion_tokens) == (24, 9)
    assert totals.rows_without_token_counts == 1


def test_manifest_comes_back_as_it_was_written(block: Path, copy: Path) -> None:
    manifest = read_manifest(copy)
    assert manifest == read_manifest(block / "sft.stage1")
    assert manifest.steps[0]["rejected"] == {"no_answer": 1}
    assert manifest.cost_usd == 1.5
    assert {entry.split for entry in manifest.files} == {"train", "validation"}


def test_same_rows_same_manifest_and_nothing_of_this_machine(block: Path, tmp_path: Path) -> None:
    step = Sft(set="sft.stage1", validation_share=0.2)
    again = cut_set(tmp_path / "elsewhere", step, questions())
    text = (again / MANIFEST).read_text()
    assert text == (block / "sft.stage1" / MANIFEST).read_text()
    assert str(tmp_path) not in text
    assert not re.search(r"20\d\d-\d\d-\d\d", text)


def test_only_what_is_listed_is_read(copy: Path) -> None:
    (copy / "train-00007-of-00008.parquet").write_bytes(b"stray")
    assert [path.name for path in shard_files(copy)] == [
        "train-00000-of-00001.parquet",
        "validation-00000-of-00001.parquet",
    ]
    assert [path.name for path in shard_files(copy, "train")] == ["train-00000-of-00001.parquet"]


def test_the_side_table_is_read_only_by_its_name(block: Path) -> None:
    assert [p.name.split("-")[0] for p in shard_files(block / "rl")] == ["train", "validation"]
    assert [p.name for p in shard_files(block / "rl", "tests")] == ["tests-00000-of-00001.parquet"]
    assert len(verify_files(block / "rl")) == 3


def test_without_a_manifest_nothing_is_read(copy: Path) -> None:
    (copy / MANIFEST).unlink()
    with pytest.raises(
        RunError, match=r"has no manifest\.json: the set is not finished, so nothing"
    ):
        shard_files(copy)


def test_a_changed_byte_is_found(copy: Path) -> None:
    path = copy / "train-00000-of-00001.parquet"
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    assert len(shard_files(copy, hashes=False)) == 2
    with pytest.raises(RunError, match=r"has sha256 .* its manifest lists"):
        shard_files(copy)


def test_a_short_or_missing_file_is_found(copy: Path) -> None:
    path = copy / "train-00000-of-00001.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RunError, match=r"has \d+ bytes, its manifest lists \d+ bytes"):
        shard_files(copy, hashes=False)
    path.unlink()
    with pytest.raises(RunError, match="is not there, its manifest lists"):
        shard_files(copy)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{", "is no JSON"),
        ("[]", "manifest_version None, this vtdata reads 1"),
        (json.dumps({"manifest_version": 99}), "manifest_version 99, this vtdata reads 1"),
    ],
)
def test_another_file_of_that_name_is_an_error(copy: Path, text: str, error: str) -> None:
    (copy / MANIFEST).write_text(text)
    with pytest.raises(RunError, match=error):
        read_manifest(copy)


def test_card_header_is_what_the_hub_reads(block: Path) -> None:
    _, header, body = (block / "README.md").read_text().split("---\n", 2)
    facts = yaml.safe_load(header)
    assert facts["license"] == ["apache-2.0", "cc-by-4.0"]
    assert facts["task_categories"] == ["text-generation"]
    assert facts["size_categories"] == ["n<1K"]
    assert facts["tags"] == ["reasoning", "synthetic", "vtdata", "reinforcement-learning", "sft"]
    assert [config["config_name"] for config in facts["configs"]] == [
        "sft.stage1",
        "rl",
        "rl.tests",
    ]
    assert facts["configs"][0]["data_files"] == [
        {"split": "train", "path": "sft.stage1/train-*.parquet"},
        {"split": "validation", "path": "sft.stage1/validation-*.parquet"},
    ]
    assert body.startswith("\n# toy\n\nSums of our own.\n")


def test_card_says_what_was_dropped_and_what_was_asked(block: Path) -> None:
    body = (block / "README.md").read_text()
    assert "| corpora | jsonl | 0 | 31 | 30 | 1 | 0 | 0 | 0 | 0 | no_answer 1 |" in body
    assert "| scores | verify | 30 | 0 | 30 | 0 | 90 | 0 | 60 | 30 | wrong 30 |" in body
    assert '| teacher | our/teacher | unpinned | `{"max_tokens": 64}` |' in body
    assert "cost 1.50 US dollars" in body
    assert "`rl` 30 of 120 (25.0%)" in body
    assert "| `rl` | license | CC-BY-4.0 | 10 |" in body
    assert "Not checked against any benchmark." in body
    assert "begins with `sha256:` stands in `rl.tests`" in body
    assert "nan" not in body.lower().split()


def test_card_of_an_unknown_license_and_one_set(tmp_path: Path) -> None:
    asked = questions()[:1]
    asked[0].license = "Terms | of our own"
    cut_set(tmp_path / "b", Rl(), asked)
    path = write_card(tmp_path / "b", ["rl"])
    facts = yaml.safe_load(path.read_text().split("---\n")[1])
    assert facts["license"] == "other"
    assert "| `rl` | license | Terms \\| of our own | 1 |" in path.read_text()


def test_card_needs_finished_sets(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="the set is not finished"):
        write_card(tmp_path, ["rl"])
    assert not (tmp_path / "README.md").exists()
