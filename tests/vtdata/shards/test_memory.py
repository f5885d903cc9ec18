"""Peak memory of a rank that spills and of the process that cuts, on real RSS of a child."""

from __future__ import annotations

import base64
import random
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.factories import query, rollout
from vtdata.records import Query
from vtdata.shards.sft import SFT_SCHEMA, Sft
from vtdata.shards.spill import Spill, partitions_for
from vtdata.steps import Context

CTX = Context(seed=17)
LIMIT_MB = 600
IMPORTS = f"from pathlib import Path; from {__name__} import *; from vtdata.shards.cut import cut"


def peak_mb() -> int:
    """Peak RSS of this process; ``ru_maxrss`` would include that of the parent it came from."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(row for row in status.read_text().splitlines() if row.startswith("VmHWM"))
        return int(line.split()[1]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 2**20  # macOS counts bytes


def queries(num_queries: int, num_rollouts: int, text_bytes: int) -> Iterator[Query]:
    for n in range(num_queries):
        said = base64.b64encode(random.Random(n).randbytes(text_bytes * 3 // 4)).decode()
        made = [rollout(sample_idx=at, reasoning=f"{at}{said}") for at in range(num_rollouts)]
        yield query(question=f"What is {n}+{n}?", into=["sft"], rollouts=made)


def spill_all(path: Path, num_queries: int, num_rollouts: int, text_bytes: int) -> None:
    raw_bytes = num_queries * num_rollouts * text_bytes
    with Spill(path, SFT_SCHEMA, partitions_for(raw_bytes), seed=17) as spill:
        for asked in queries(num_queries, num_rollouts, text_bytes):
            for row in Sft().rows(asked, CTX):
                spill.add(row, "train")


def child(call: str) -> int:
    program = f"{IMPORTS}\n{call}\nprint(peak_mb())"
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    return int(done.stdout)


def measure(tmp: Path, *shape: int) -> tuple[int, int]:
    spill, out = tmp / "s.spill", tmp / "out"
    spilled = child(f"spill_all(Path({str(spill)!r}), *{shape})")
    written = child(f"cut([Path({str(spill)!r})], Path({str(out)!r}), SFT_SCHEMA, seed=17)")
    print(f"{shape}: spill {spilled} MB, cut {written} MB")
    return spilled, written


def check_files(folder: Path, num_rows: int) -> None:
    files = sorted(folder.glob("*.parquet"))
    sizes = [path.stat().st_size for path in files]
    assert max(sizes) <= 512 * 2**20
    assert min(sizes[:-1], default=256 * 2**20) >= 256 * 2**20
    metadata = [pq.read_metadata(path) for path in files]
    assert sum(one.num_rows for one in metadata) == num_rows
    groups = [one.row_group(at) for one in metadata for at in range(one.num_row_groups)]
    assert max(group.total_byte_size for group in groups) < 66 * 2**20


@pytest.mark.slow
def test_memory_of_a_small_set(tmp_path: Path) -> None:
    """190 MB of rows: more than what may be held."""
    spilled, written = measure(tmp_path, 30, 16, 400_000)
    assert spilled < 260
    assert written < LIMIT_MB
    check_files(tmp_path / "out", 30 * 16)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("shape", [(2000, 16, 100_000), (50, 64, 300_000)])
def test_memory_of_a_large_set(tmp_path: Path, shape: tuple[int, int, int]) -> None:
    spilled, written = measure(tmp_path, *shape)
    assert spilled < LIMIT_MB
    assert written < LIMIT_MB
    check_files(tmp_path / "out", shape[0] * shape[1])
