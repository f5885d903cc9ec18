"""``vtdata decontam``: exit codes, what goes to stdout, what to people."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.vtdata.decontam.double import SLOW, bench_file
from tests.vtdata.decontam.program import UNIT

ROOT = Path(__file__).parents[3]
ITEM = "How many sheep are in the 12 fields?"
PROGRAM = [sys.executable, "-m", "tests.vtdata.decontam.program"]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", **more}


def cli(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *words], cwd=folder, env=environment(**more), capture_output=True, text=True
    )


def corpus(folder: Path, *prompts: str, name: str = "c.parquet", rows_per_group: int = 2) -> None:
    pq.write_table(pa.table({"prompt": prompts}), folder / name, row_group_size=rows_per_group)


def test_contamination_under_check_is_exit_code_5(tmp_path: Path) -> None:
    corpus(tmp_path, ITEM, "x")
    bench_file(tmp_path, "aime", ITEM)
    found = cli(tmp_path, "decontam", "c.parquet", "--against", "aime.jsonl", "--check", "--json")
    assert found.returncode == 5
    told = json.loads(found.stdout)
    assert (told["num_dropped"], told["hits"], told["units_scanned"]) == (
        1,
        {"aime": {"exact": 1}},
        1,
    )
    assert found.stderr.startswith("scanning prompt of c.parquet\n2 rows, 2 texts, ")
    assert "1 hit, 1 of them of a class that is dropped" in found.stderr
    bench_file(tmp_path, "none", "nowhere")
    clean = cli(tmp_path, "decontam", "c.parquet", "--against", "none.jsonl", "--check")
    assert (clean.returncode, clean.stdout) == (0, "")
    assert "clean" not in clean.stderr
    without = cli(tmp_path, "decontam", "c.parquet", "--against", "aime.jsonl")
    assert without.returncode == 0
    assert "0 units scanned, 1 known" in without.stderr


def test_a_template_is_no_contamination_unless_asked(tmp_path: Path) -> None:
    corpus(tmp_path, "How many sheep are in the 13 fields?")
    bench_file(tmp_path, "aime", ITEM)
    words = ("decontam", "c.parquet", "--against", "aime.jsonl", "--check")
    assert cli(tmp_path, *words).returncode == 0
    assert cli(tmp_path, *words, "--drop", "template, suspect").returncode == 5


def test_everything_that_is_written(tmp_path: Path) -> None:
    corpus(tmp_path, ITEM, "x")
    bench_file(tmp_path, "aime", ITEM)
    words = ["c.parquet", "--against", "aime.jsonl", "--out", "clean", "--marks", "marks.jsonl"]
    done = cli(tmp_path, "decontam", *words, "--report", "out/audit.html")
    assert done.returncode == 0
    assert "c.parquet: 2 rows in, 1 kept, 1 removed" in done.stderr
    names = sorted(str(p.relative_to(tmp_path)) for p in (tmp_path / "out").glob("audit*"))
    assert names == [
        "out/audit.card.json",
        "out/audit.card.md",
        "out/audit.html",
        "out/audit.parquet",
    ]
    assert (tmp_path / "out" / "decontam" / "lease.json").exists()  # beside the report
    assert pq.read_table(tmp_path / "clean" / "c.parquet").to_pylist() == [{"prompt": "x"}]
    verify = ("decontam", "c.parquet", "--against", "aime.jsonl", "--verify-card")
    same = cli(tmp_path, *verify, "out/audit.card.json")
    assert (same.returncode, same.stderr) == (
        0,
        "out/audit.card.json agrees with corpus, evidence and benchmarks\n",
    )
    corpus(tmp_path, "y", "x")
    other = cli(tmp_path, *verify, "out/audit.card.json", "--json")
    assert other.returncode == 1
    assert any(one["kind"] == "differs" for one in json.loads(other.stdout))


def test_a_dry_run_scans_nothing(tmp_path: Path) -> None:
    corpus(tmp_path, ITEM, "x")
    bench_file(tmp_path, "aime", ITEM)
    done = cli(tmp_path, "decontam", "c.parquet", "--against", "aime.jsonl", "--dry-run", "--check")
    assert done.returncode == 0
    assert done.stderr.splitlines()[1:] == [
        "1 benchmarks with 1 items, profile exact",
        "1 files, 0.0 MB of text",
        "to scan: 0.0 MB in 1 units of 1 files; known: 0 units",
    ]
    assert not list((tmp_path / "decontam").glob("shards/*"))


def test_wrong_input_is_exit_code_2(tmp_path: Path) -> None:
    corpus(tmp_path, ITEM)
    for words, said in (
        (["c.parquet"], "vtdata: nothing to audit against"),
        (["c.parquet", "--against", "nobody"], "vtdata: benchmark 'nobody' is not known"),
        (["c.parquet", "--against", "x", "--bogus"], "vtdata: No such option"),
    ):
        done = cli(tmp_path, "decontam", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(said)
        assert len(done.stderr.splitlines()) == 1


def test_interrupted_it_says_how_to_go_on_and_does(tmp_path: Path) -> None:
    corpus(tmp_path, *[f"{at} {ITEM} " * 10 for at in range(40)], rows_per_group=1)
    bench_file(tmp_path, "aime", ITEM)
    words = [*PROGRAM, "decontam", "c.parquet", "--against", "aime.jsonl", "--workers", "1"]
    process = subprocess.Popen(
        words,
        cwd=tmp_path,
        env=environment(**{SLOW: "0.1", UNIT: "300"}),
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 30
    while not list(tmp_path.glob("decontam/shards/*/unit-*.parquet")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert (process.returncode, said.splitlines()[-1]) == (
        130,
        "vtdata: interrupted; run again to go on",
    )
    kept = len(list(tmp_path.glob("decontam/shards/*/unit-*.parquet")))
    told = json.loads(cli(tmp_path, *words[len(PROGRAM) :], "--json", **{UNIT: "300"}).stdout)
    assert told["units_known"] == kept >= 1
    assert told["units_scanned"] == 40 - kept


def test_help_has_examples(tmp_path: Path) -> None:
    said = cli(tmp_path, "decontam", "--help").stdout
    assert said.count("vtdata decontam ") >= 4
    for option in ("--against", "--out", "--report", "--field", "--profile", "--check", "--json"):
        assert option in said
