"""The files in the hands of those who read them: datasets, polars, DuckDB, pyarrow, verl's way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from vtdata.shards.manifest import shard_files
from vtdata.shards.rl import RL_SCHEMA
from vtdata.shards.sft import SFT_SCHEMA

SETS = [("sft.stage1", SFT_SCHEMA, 60), ("rl", RL_SCHEMA, 30)]


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def names(folder: Path, split: str | None = None) -> list[str]:
    return [str(path) for path in shard_files(folder, split)]


def load(files: list[str], **options: Any) -> Any:
    return datasets.load_dataset("parquet", data_files=files, split="train", **options)


def expected(folder: Path) -> list[dict[str, Any]]:
    return [row for path in names(folder) for row in pq.read_table(path).to_pylist()]


@pytest.mark.parametrize(("name", "schema", "rows"), SETS)
def test_datasets_in_memory_and_streaming(
    block: Path, name: str, schema: pa.Schema, rows: int
) -> None:
    files = names(block / name)
    found = load(files)
    assert found.column_names == schema.names
    assert found.to_list() == expected(block / name)
    assert len(found) == rows
    assert list(load(files, streaming=True)) == found.to_list()


@pytest.mark.parametrize(("name", "schema", "rows"), SETS)
def test_the_card_tells_datasets_where_the_splits_are(
    block: Path, name: str, schema: pa.Schema, rows: int
) -> None:
    found = datasets.load_dataset(str(block), name)
    assert set(found) == {"train", "validation"}
    assert sum(map(len, found.values())) == rows
    assert found["train"].column_names == schema.names
    owners = {split: set(_owners(found[split].to_list())) for split in found}
    assert not owners["train"] & owners["validation"]


def _owners(rows: list[dict[str, Any]]) -> list[str]:
    return [row.get("query_id") or row["extra_info"]["query_id"] for row in rows]


def test_the_card_s_side_table_loads(block: Path) -> None:
    found = datasets.load_dataset(str(block), "rl.tests", split="tests")
    assert found.to_list() == [{"sha256": found[0]["sha256"], "spec": '{"tests": [1, 2, 3]}'}]
    truths = {row["reward_model"]["ground_truth"] for row in expected(block / "rl")}
    assert f"sha256:{found[0]['sha256']}" in truths


@pytest.mark.parametrize(("name", "schema", "rows"), SETS)
def test_polars_duckdb_and_pyarrow(block: Path, name: str, schema: pa.Schema, rows: int) -> None:
    files = names(block / name)
    frame = pl.read_parquet(files)
    assert frame.columns == schema.names
    assert frame.to_dicts() == expected(block / name)
    column = "messages" if name.startswith("sft") else "prompt"
    query = f"select count(*), count(distinct id), min(len({column})) from read_parquet(?)"
    assert duckdb.execute(query, [files]).fetchone() == (
        rows,
        rows,
        2 if column == "messages" else 1,
    )
    table = pa.dataset.dataset(files).to_table()
    assert table.schema.equals(schema)
    assert table.num_rows == rows


@pytest.mark.parametrize(("name", "schema", "rows"), SETS)
def test_sets_with_other_optional_columns_filled_go_together(
    block: Path, other: Path, name: str, schema: pa.Schema, rows: int
) -> None:
    files = [*names(block / name), *names(other / name)]
    apart = [load([file]) for file in files]
    joined = datasets.concatenate_datasets(apart)
    assert joined.column_names == schema.names
    assert len(joined) > rows
    assert load(files).to_list() == joined.to_list()
    assert pl.read_parquet(files).height == len(joined)
    assert pa.dataset.dataset(files).count_rows() == len(joined)


def test_a_column_that_is_null_in_one_set_is_filled_in_the_other(block: Path, other: Path) -> None:
    one = pl.read_parquet(names(block / "sft.stage1"))
    two = pl.read_parquet(names(other / "sft.stage1"))
    for column in ("vote", "subdomain"):
        assert one[column].null_count() == one.height
        assert two[column].null_count() == 0
    assert one["pass_rate"].null_count() == 0
    assert two["pass_rate"].null_count() == two.height


def test_verl_s_way_of_loading(block: Path, other: Path) -> None:
    """As ``RLHFDataset`` does: ``load_dataset`` per file, concatenate, read by its keys."""
    files = [*names(block / "rl", "train"), *names(other / "rl", "train")]
    parts = [datasets.load_dataset("parquet", data_files=file)["train"] for file in files]
    frame = datasets.concatenate_datasets(parts)
    indices = set()
    for row in frame:
        assert row["prompt"][-1]["role"] == "user"
        assert isinstance(row["reward_model"]["ground_truth"], str)
        assert row["reward_model"]["style"] == "rule"
        assert row["data_source"] in {"vtdata/math", "vtdata/code"}
        indices.add(row["extra_info"].get("index", 0))
    assert len(indices) == len(frame)
    assert {row["ability"] for row in frame} == {"math", "code"}


def test_verl_s_way_of_reading_sft_through_pandas(block: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="verl reads SFT files through pandas")
    frame = pandas.concat([pandas.read_parquet(file) for file in names(block / "sft.stage1")])
    messages = frame["messages"].tolist()
    assert len(messages) == 60
    assert [turn["role"] for turn in messages[0]] == ["user", "assistant"]
