from __future__ import annotations

import hashlib
import itertools
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.factories import query, rollout
from vtdata.errors import ConfigError, RunError
from vtdata.records import Verifier
from vtdata.shards.cut import cut
from vtdata.shards.files import FileEntry, Limits, ShardFiles
from vtdata.shards.rl import RL_SCHEMA, Rl
from vtdata.shards.sft import SFT_SCHEMA, Sft
from vtdata.shards.spill import Spill, partitions_for
from vtdata.steps import Context

CTX = Context(seed=17, recipe="toy", fingerprint="f" * 64)
SMALL = {
    "max_file_bytes": 400_000,
    "min_file_bytes": 200_000,
    "row_group_bytes": 40_000,
    "row_group_rows": 20,
}


def sft_rows(num_queries: int, num_rollouts: int = 4, text: int = 2000) -> list[dict[str, Any]]:
    """Rows whose text hardly shrinks under zstd."""
    rows: list[dict[str, Any]] = []
    for n in range(num_queries):
        said = hashlib.shake_256(str(n).encode()).hexdigest(text // 2)
        made = [rollout(sample_idx=at, reasoning=said + str(at)) for at in range(num_rollouts)]
        asked = query(question=f"What is {n}+{n}?", into=["sft"], rollouts=made)
        rows += Sft().rows(asked, CTX)
    return rows


def spilled(
    tmp: Path,
    rows: list[dict[str, Any]],
    *,
    num_spills: int = 1,
    partitions: int = 1,
    schema: pa.Schema = SFT_SCHEMA,
    seed: int = 17,
    split: str = "train",
) -> list[Path]:
    paths = [tmp / f"{num_spills}-{partitions}-{rank}.spill" for rank in range(num_spills)]
    for rank, path in enumerate(paths):
        with Spill(path, schema, partitions, seed=seed) as spill:
            for row in rows[rank::num_spills]:
                spill.add(row, split)
    return paths


def read(folder: Path, entries: list[FileEntry]) -> list[dict[str, Any]]:
    return [row for e in entries for row in pq.read_table(folder / e.name).to_pylist()]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize(("num_spills", "partitions"), [(7, 1), (1, 13), (3, 64)])
def test_bytes_depend_neither_on_spills_nor_partitions_nor_arrival(
    tmp_path: Path, num_spills: int, partitions: int
) -> None:
    rows = sft_rows(100)
    one = cut(spilled(tmp_path, rows), tmp_path / "one", SFT_SCHEMA, seed=17, **SMALL)
    shuffled = random.Random(5).sample(rows, len(rows))
    paths = spilled(tmp_path, shuffled, num_spills=num_spills, partitions=partitions)
    many = cut(paths[::-1], tmp_path / "many", SFT_SCHEMA, seed=17, **SMALL)
    assert many == one
    assert len(one) > 1
    assert contents(tmp_path / "many") == contents(tmp_path / "one")


def test_bytes_of_pages_beyond_a_megabyte_do_not_depend_on_partitions(tmp_path: Path) -> None:
    rows = sft_rows(400, text=4000)
    for partitions in (1, 7):
        paths = spilled(tmp_path, rows, partitions=partitions)
        (entry,) = cut(paths, tmp_path / str(partitions), SFT_SCHEMA, seed=17)
        metadata = pq.read_metadata(tmp_path / str(partitions) / entry.name)
        assert metadata.row_group(0).total_byte_size > 4 * 2**20
    assert contents(tmp_path / "1") == contents(tmp_path / "7")


def test_every_row_is_there_once_in_an_order_of_the_seed(tmp_path: Path) -> None:
    rows = sft_rows(50)
    orders = []
    for seed in (17, 18):
        paths = spilled(tmp_path, rows, num_spills=2, partitions=4, seed=seed)
        entries = cut(paths, tmp_path / str(seed), SFT_SCHEMA, seed=seed, **SMALL)
        orders.append(read(tmp_path / str(seed), entries))
        assert sorted(orders[-1], key=lambda row: row["id"]) == sorted(
            rows, key=lambda row: row["id"]
        )
        assert sum(entry.rows for entry in entries) == len(rows)
    assert orders[0] != orders[1]


def test_traces_of_one_query_are_not_adjacent(tmp_path: Path) -> None:
    rows = sft_rows(12, num_rollouts=16)
    for partitions in (1, 9):
        paths = spilled(tmp_path, rows, partitions=partitions)
        found = read(tmp_path, cut(paths, tmp_path, SFT_SCHEMA, seed=17))
        assert not [1 for a, b in itertools.pairwise(found) if a["query_id"] == b["query_id"]]
        assert len(found) == len(rows)


def test_sizes_of_files_and_row_groups(tmp_path: Path) -> None:
    rows = sft_rows(300)
    paths = spilled(tmp_path, rows, partitions=3)
    entries = cut(paths, tmp_path, SFT_SCHEMA, seed=17, **SMALL)
    sizes = [entry.bytes for entry in entries]
    assert len(sizes) > 4
    assert max(sizes) <= SMALL["max_file_bytes"]
    assert min(sizes[:-1]) >= SMALL["min_file_bytes"]
    assert sizes == [(tmp_path / entry.name).stat().st_size for entry in entries]
    for entry in entries:
        metadata = pq.read_metadata(tmp_path / entry.name)
        for group in range(metadata.num_row_groups):
            assert metadata.row_group(group).num_rows <= SMALL["row_group_rows"]
            assert metadata.row_group(group).total_byte_size < 1.5 * SMALL["row_group_bytes"]
            assert metadata.row_group(group).column(0).compression == "ZSTD"
            assert metadata.row_group(group).column(0).has_offset_index
            assert metadata.row_group(group).column(1).has_column_index


def test_row_groups_close_at_rows_on_the_dot(tmp_path: Path) -> None:
    paths = spilled(tmp_path, sft_rows(10))
    (entry,) = cut(paths, tmp_path, SFT_SCHEMA, seed=17, row_group_rows=20)
    assert pq.read_metadata(tmp_path / entry.name).num_row_groups == 2
    (entry,) = cut(paths, tmp_path, SFT_SCHEMA, seed=17, row_group_rows=19)
    assert pq.read_metadata(tmp_path / entry.name).num_row_groups == 3


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [([4, 6, 1], [2, 1]), ([4, 7], [1, 1]), ([11, 11], [1, 1]), ([1, 1, 1, 1], [3, 1])],
)
def test_row_groups_close_before_they_grow_too_large(
    tmp_path: Path, sizes: list[int], groups: list[int]
) -> None:
    schema = pa.schema([("id", pa.string())])
    limits = Limits(10**6, 10, row_group_bytes=10, row_group_rows=3)
    files = ShardFiles(tmp_path, "train", schema, limits)
    table = pa.table({"id": [str(n) for n in range(len(sizes))]})
    files.add(table.slice(0, 1), sizes[:1])
    files.add(table.slice(1), sizes[1:])
    (entry,) = files.close(even_if_empty=False)
    metadata = pq.read_metadata(tmp_path / entry.name)
    found = [metadata.row_group(at).num_rows for at in range(metadata.num_row_groups)]
    assert found == groups
    assert pq.read_table(tmp_path / entry.name) == table


def test_a_full_disk_is_an_error_and_leaves_nothing_that_looks_whole(tmp_path: Path) -> None:
    """With a limit on the size of a file, which a write meets in the same way."""
    spilled(tmp_path, sft_rows(100))
    program = (
        "import resource, sys; from pathlib import Path; from tests.vtdata.shards.test_cut import *\n"
        "tmp, rows = Path(sys.argv[1]), sft_rows(100)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
        "with pytest.raises(OSError): spilled(tmp, rows, num_spills=2)\n"
        "with pytest.raises(OSError): cut([tmp / '1-1-0.spill'], tmp / 'out', SFT_SCHEMA, seed=17)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    assert [path.name for path in tmp_path.glob("*.spill")] == ["1-1-0.spill"]
    assert list((tmp_path / "out").glob("train*")) == []
    (entry, *_) = cut([tmp_path / "1-1-0.spill"], tmp_path / "out", SFT_SCHEMA, seed=17)
    assert [path.name for path in (tmp_path / "out").iterdir()] == [entry.name]


def test_names_say_how_many_and_leftovers_are_removed(tmp_path: Path) -> None:
    for stale in ("train-00000-of-00099.parquet", ".train-00007.parquet.tmp"):
        (tmp_path / stale).write_bytes(b"stale")
    (tmp_path / "README.md").write_text("mine")
    paths = spilled(tmp_path / "spills", sft_rows(100))
    entries = cut(paths, tmp_path, SFT_SCHEMA, seed=17, **SMALL)
    count = len(entries)
    names = [f"train-{n:05d}-of-{count:05d}.parquet" for n in range(count)]
    assert [entry.name for entry in entries] == names
    assert sorted(p.name for p in tmp_path.iterdir()) == ["README.md", "spills", *names]


def test_the_hash_is_the_file_s(tmp_path: Path) -> None:
    (entry,) = cut(spilled(tmp_path, sft_rows(3)), tmp_path, SFT_SCHEMA, seed=17)
    assert hashlib.sha256((tmp_path / entry.name).read_bytes()).hexdigest() == entry.sha256


def test_an_empty_set_still_has_a_file_that_loads(tmp_path: Path) -> None:
    (entry,) = cut(spilled(tmp_path, []), tmp_path, SFT_SCHEMA, seed=17)
    assert (entry.split, entry.rows) == ("train", 0)
    assert pq.read_table(tmp_path / entry.name).schema.names == SFT_SCHEMA.names


def test_validation_is_a_split_of_its_own(tmp_path: Path) -> None:
    rows = sft_rows(10)
    with Spill(tmp_path / "s", SFT_SCHEMA, 2, seed=17) as spill:
        for n, row in enumerate(rows):
            spill.add(row, "validation" if n < 8 else "train")
    entries = cut([tmp_path / "s"], tmp_path, SFT_SCHEMA, seed=17)
    assert [(e.name, e.rows) for e in entries] == [
        ("train-00000-of-00001.parquet", 32),
        ("validation-00000-of-00001.parquet", 8),
    ]


def test_large_tests_stand_once_in_the_side_table(tmp_path: Path) -> None:
    step = Rl(max_inline_bytes=10)
    specs = [json.dumps({"tests": [f"assert f({n % 2})"]}) for n in range(6)]
    asked = [
        query(id=f"q{n}", into=["rl"], verifier=Verifier("code", spec), answer=None)
        for n, spec in enumerate(specs)
    ]
    rows = [row for one in asked for row in step.rows(one, CTX)]
    paths = spilled(tmp_path, rows, num_spills=3, partitions=2, schema=RL_SCHEMA)
    entries = cut(paths, tmp_path, RL_SCHEMA, seed=17)
    assert [(e.name, e.rows) for e in entries] == [
        ("train-00000-of-00001.parquet", 6),
        ("tests-00000-of-00001.parquet", 2),
    ]
    table = {row["sha256"]: row["spec"] for row in read(tmp_path, entries[1:])}
    for row in read(tmp_path, entries[:1]):
        sha256 = row["reward_model"]["ground_truth"].removeprefix("sha256:")
        assert table[sha256] == specs[int(row["id"][1:])]


def test_same_id_twice_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    rows = sft_rows(3)
    paths = spilled(tmp_path, [*rows, rows[5]], num_spills=2)
    with pytest.raises(RunError, match=f"two rows with id '{rows[5]['id']}'"):
        cut(paths, tmp_path / "out", SFT_SCHEMA, seed=17)
    assert list((tmp_path / "out").iterdir()) == []


def test_a_torn_spill_is_an_error(tmp_path: Path) -> None:
    (path,) = spilled(tmp_path, sft_rows(3))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RunError, match="is not whole"):
        cut([path], tmp_path / "out", SFT_SCHEMA, seed=17)


def test_a_spill_has_its_name_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "s"
    spill = Spill(path, SFT_SCHEMA, 1, seed=17)
    spill.add(sft_rows(1)[0], "train")
    assert not path.exists()
    spill.abandon()
    assert list(tmp_path.iterdir()) == []


def test_another_seed_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="has seed 17 and 1 partitions, asked were seed 18"):
        cut(spilled(tmp_path, sft_rows(1)), tmp_path / "out", SFT_SCHEMA, seed=18)


def test_spills_of_other_partitions_are_an_error(tmp_path: Path) -> None:
    paths = [*spilled(tmp_path, [], partitions=1), *spilled(tmp_path, [], partitions=2)]
    with pytest.raises(RunError, match="has seed 17 and 2 partitions, asked were seed 17 and 1"):
        cut(paths, tmp_path / "out", SFT_SCHEMA, seed=17)


def test_row_with_other_columns_is_an_error(tmp_path: Path) -> None:
    row = sft_rows(1)[0]
    del row["vote"]
    with (
        pytest.raises(ValueError, match=r"differ from the schema: \['text', 'vote'\]"),
        Spill(tmp_path / "s", SFT_SCHEMA, 1, seed=17) as spill,
    ):
        spill.add({**row, "text": "x"}, "train")


def test_sizes_that_leave_no_room_are_an_error() -> None:
    Limits(384, 256, row_group_bytes=64)
    with pytest.raises(ConfigError, match="raise max_file_bytes to at least 384"):
        Limits(383, 256, row_group_bytes=64)
    with pytest.raises(ConfigError, match="must be positive"):
        Limits(384, 256, row_group_bytes=64, row_group_rows=0)


@pytest.mark.parametrize(("mib", "partitions"), [(0, 1), (32, 1), (33, 2), (3200, 100)])
def test_partitions_hold_about_32_mib(mib: int, partitions: int) -> None:
    assert partitions_for(mib * 2**20) == partitions


def test_golden(tmp_path: Path) -> None:
    """Fixed rows give this logical content; change it only with a step's version."""
    entries = cut(spilled(tmp_path, sft_rows(5, text=40)), tmp_path, SFT_SCHEMA, seed=17)
    content = json.dumps([SFT_SCHEMA.to_string(), read(tmp_path, entries)], sort_keys=True)
    assert hashlib.sha256(content.encode()).hexdigest() == GOLDEN


GOLDEN = "eb75d6620eace1dba28ceb5c5d70157888f82e94abdc0f842d7e9921fec81c21"


def test_another_process_writes_the_same_bytes(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from tests.vtdata.shards.test_cut import *\n"
        "tmp = Path(sys.argv[1])\n"
        "cut(spilled(tmp, sft_rows(20), num_spills=3), tmp / 'out', SFT_SCHEMA, seed=17)"
    )
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": f"UTC-{seed}"}
        subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / seed)], check=True, env=environment
        )
    assert contents(tmp_path / "1" / "out") == contents(tmp_path / "2" / "out")
    metadata = pq.read_metadata(tmp_path / "1" / "out" / "train-00000-of-00001.parquet")
    assert metadata.metadata is None
    assert metadata.created_by == f"parquet-cpp-arrow version {pa.__version__}"
