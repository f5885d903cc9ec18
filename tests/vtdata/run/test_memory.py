"""Long rollouts: what a worker holds is bounded by bytes, whatever the number of queries."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from tests.fake_server import start_fake
from tests.runs import environment, full_recipe, manifest_of

MIB = 2**20
PROGRAM = """
import re, resource, sys
from pathlib import Path
from vtdata import api
api.run(Path(sys.argv[1]), out=Path(sys.argv[2]), workers=1)
status = Path("/proc/self/status")
if status.exists():  # ru_maxrss counts what the process was forked from: a large test runner
    print(int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read_text())[1]) * 1024)
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("filler_bytes", "n", "num_queries"),
    [(100_000, 16, 2_000), (300_000, 64, 50)],
    ids=["100 KB x 16 x 2,000", "300 KB x 64 x 50"],
)
def test_a_worker_stays_under_600_mb(
    tmp_path: Path, filler_bytes: int, n: int, num_queries: int
) -> None:
    if shutil.disk_usage(tmp_path).free < 12 * 2**30:
        pytest.skip("needs 12 GB of free disk")
    recipe = full_recipe(tmp_path, num_queries, until="scores")
    data = yaml.safe_load(recipe.read_text())
    data["models"]["teacher"]["max_tokens"] = 4096
    data["stages"][2]["rollouts"][0]["sample"]["n"] = n
    recipe.write_text(yaml.safe_dump(data, sort_keys=False))
    with start_fake(answer="sum", filler_bytes=filler_bytes, own_process=True) as fake:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(recipe), str(tmp_path / "run")],
            env=environment(fake),
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-2000:]
    peak = int(done.stdout.splitlines()[-1])
    print(f"peak {peak / MIB:.0f} MiB")
    assert peak < 600 * MIB, f"{peak / MIB:.0f} MiB"
    for block in ("rollouts", "scores"):
        folder = next((tmp_path / "run").glob(f"0*-{block}-*"))
        rows = 0
        for part in manifest_of(tmp_path / "run", block).parts:
            assert part.bytes < 640 * MIB
            with pq.ParquetFile(folder / part.file) as file:
                groups = [file.metadata.row_group(at) for at in range(file.num_row_groups)]
            for group in groups:
                rows += group.num_rows
                assert group.total_byte_size <= 68 * MIB
        assert rows == num_queries
