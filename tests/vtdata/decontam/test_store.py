"""Nothing that was scanned is scanned again, whatever ends the process."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.vtdata.decontam.double import LOG, SLOW, bench_file, engine
from tests.vtdata.decontam.program import UNIT
from vtdata import api
from vtdata.decontam.audit import Audit
from vtdata.errors import RunError
from vtdata.lease import Lease

ROOT = Path(__file__).parents[3]
ITEM = "How many sheep are in the 12 fields?"
OTHER = "Which goat of the seven is not a goat?"


def corpus(folder: Path, name: str = "a.parquet", *, first: int = 0, rows: int = 40) -> Path:
    """Every seventh prompt holds an item, every eleventh response another."""
    numbers = range(first, first + rows)
    table = {
        "id": [f"{name}-{at}" for at in numbers],
        "prompt": [f"{at}: {ITEM if at % 7 == 0 else 'nothing'} {at}" for at in numbers],
        "response": [f"{'r' * 50}{OTHER if at % 11 == 0 else at}" for at in numbers],
    }
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(table), path, row_group_size=2, use_dictionary=False)
    return path


@pytest.fixture
def small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vtdata.decontam.inputs.parquet.UNIT_BYTES", 500)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(LOG, str(tmp_path / "scans.log"))
    return tmp_path / "scans.log"


def scans(log: Path) -> list[list[int]]:
    """Texts and items of each scan since the last look."""
    lines = log.read_text().splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return [json.loads(line) for line in lines]


def run(folder: Path, *against: str, inputs: Any = None, **more: Any) -> Audit:
    settings = {"engine": engine(), "store": folder / "store", "spread": False, "workers": 2}
    return api.decontam(inputs or [folder / "in"], against=against, **{**settings, **more})


def test_an_unchanged_pair_is_never_scanned_again(
    tmp_path: Path, small_units: None, log: Path
) -> None:
    corpus(tmp_path / "in")
    corpus(tmp_path / "in", "b.parquet", first=100)
    first = run(tmp_path, bench_file(tmp_path, "aime", ITEM, OTHER))
    assert sum(texts for texts, _ in scans(log)) == 2 * 2 * 40
    assert first.passed.units > 8
    again = run(tmp_path, bench_file(tmp_path, "aime", ITEM, OTHER))
    assert scans(log) == []
    assert (again.passed.units, again.known_units) == (0, first.passed.units)
    assert again.evidence.equals(first.evidence)
    assert again.counts == first.counts


def test_a_new_benchmark_is_scanned_for_alone(tmp_path: Path, small_units: None, log: Path) -> None:
    corpus(tmp_path / "in")
    aime = bench_file(tmp_path, "aime", ITEM)
    run(tmp_path, aime)
    scans(log)
    goats = bench_file(tmp_path, "goats", OTHER, "nowhere", "nowhere else")
    both = run(tmp_path, aime, goats)
    found = scans(log)
    assert {items for _, items in found} == {3}  # only what is new
    assert sum(texts for texts, _ in found) == 80
    run(tmp_path, goats)  # and what was found for several stands for each
    assert scans(log) == []
    fresh = run(tmp_path, aime, goats, store=tmp_path / "fresh")
    assert fresh.evidence.equals(both.evidence)


def test_only_a_changed_file_is_scanned(tmp_path: Path, small_units: None, log: Path) -> None:
    a = corpus(tmp_path / "in")
    corpus(tmp_path / "in", "b.parquet", first=100)
    aime = bench_file(tmp_path, "aime", ITEM)
    run(tmp_path, aime)
    scans(log)
    corpus(tmp_path / "in", "b.parquet", first=200)
    run(tmp_path, aime)
    assert sum(texts for texts, _ in scans(log)) == 80
    a.rename(tmp_path / "in" / "renamed.parquet")  # content counts, names don't
    moved = run(tmp_path, aime)
    assert scans(log) == []
    assert set(moved.evidence.column("file").to_pylist()) == {"renamed.parquet", "b.parquet"}


def test_a_changed_threshold_needs_no_scan(tmp_path: Path, log: Path) -> None:
    corpus(tmp_path / "in")
    aime = bench_file(tmp_path, "aime", ITEM)
    run(tmp_path, aime)
    scans(log)
    strict = run(tmp_path, aime, engine=engine(short=100))
    assert scans(log) == []
    assert set(strict.evidence.column("verdict").to_pylist()) == {"short_exact"}
    other = run(tmp_path, aime, engine=engine(hash="exact-2"))
    assert sum(texts for texts, _ in scans(log)) == 80  # other candidates, another scan
    assert set(other.evidence.column("verdict").to_pylist()) == {"exact"}


def test_other_columns_and_renamed_benchmarks(tmp_path: Path, log: Path) -> None:
    corpus(tmp_path / "in")
    run(tmp_path, bench_file(tmp_path, "aime", ITEM))
    scans(log)
    renamed = run(tmp_path, bench_file(tmp_path, "sheep", ITEM))
    assert scans(log) == []
    assert set(renamed.evidence.column("bench").to_pylist()) == {"sheep"}
    prompts = run(tmp_path, bench_file(tmp_path, "aime", ITEM), fields=["prompt"])
    assert sum(texts for texts, _ in scans(log)) == 40
    assert prompts.counts.texts == 40


def test_a_pair_without_candidates_is_known_too(tmp_path: Path, log: Path) -> None:
    corpus(tmp_path / "in")
    nothing = bench_file(tmp_path, "none", "nowhere to be found")
    assert run(tmp_path, nothing).evidence.num_rows == 0
    scans(log)
    assert run(tmp_path, nothing).evidence.num_rows == 0
    assert scans(log) == []


def command(folder: Path, *more: object) -> list[str]:
    words = ["decontam", "in", "--against", "aime.jsonl", "--store", "store", "--report", "r.json"]
    return [sys.executable, "-m", "tests.vtdata.decontam.program", *words, *map(str, more)]


def environment(folder: Path, **more: str) -> dict[str, str]:
    known = {"PYTHONPATH": str(ROOT), LOG: str(folder / "scans.log"), UNIT: "500"}
    return {**os.environ, **known, **more}


def units_kept(folder: Path) -> set[str]:
    return {path.name for path in (folder / "store").glob("shards/*/unit-*.parquet")}


def texts_of(files: Iterable[Path]) -> int:
    """How many texts were scanned for these files, as they say themselves."""
    about = [pq.read_metadata(path).metadata[b"vtdata.decontam"] for path in files]
    return sum(json.loads(one)["counts"]["texts"] for one in about)


def test_killed_at_any_moment_it_goes_on_where_it_was(tmp_path: Path) -> None:
    corpus(tmp_path / "in", rows=60)
    bench_file(tmp_path, "aime", ITEM, OTHER)
    calm = tmp_path / "calm"
    corpus(calm / "in", rows=60)
    bench_file(calm, "aime", ITEM, OTHER)
    calm_run = subprocess.run(
        command(calm, "--json"), cwd=calm, env=environment(calm), check=True, capture_output=True
    )
    num_units = json.loads(calm_run.stdout)["units_scanned"]
    assert num_units > 10
    dice = random.Random(5)
    ended = False
    kept: set[str] = set()
    for _ in range(12):
        process = subprocess.Popen(
            [*command(tmp_path), "--workers", "2", "--json"],
            cwd=tmp_path,
            env=environment(tmp_path, **{SLOW: "0.03"}),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        wanted = len(kept) + dice.randint(1, 4)
        deadline = time.monotonic() + 20
        while process.poll() is None and len(units_kept(tmp_path)) < wanted:
            assert time.monotonic() < deadline
            time.sleep(0.002)
        time.sleep(dice.random() * 0.05)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if process.returncode == 0:
            ended = True
            break
        assert kept <= units_kept(tmp_path) or not units_kept(tmp_path)
        kept = units_kept(tmp_path)
        if len(kept) >= 8:
            break
    if not ended:
        (tmp_path / "scans.log").unlink()
        finished_texts = texts_of((tmp_path / "store").glob("shards/*/unit-*.parquet"))
        done = subprocess.run(
            [*command(tmp_path), "--json", "--no-spread"],
            cwd=tmp_path,
            env=environment(tmp_path),
            check=True,
            capture_output=True,
        )
        told = json.loads(done.stdout)
        assert told["units_known"] == len(kept)
        assert told["units_scanned"] + told["units_known"] == num_units
        seen = [json.loads(line) for line in (tmp_path / "scans.log").read_text().splitlines()]
        assert sum(texts for texts, _ in seen) == 2 * 60 - finished_texts
    # the same evidence, and the same files in the store, byte for byte
    assert (tmp_path / "r.json").read_bytes() == (calm / "r.json").read_bytes()
    ours, theirs = (sorted((f / "store").glob("shards/*/all-*.parquet")) for f in (tmp_path, calm))
    for path in ours:
        twin = calm / path.relative_to(tmp_path)
        assert path.read_bytes() == twin.read_bytes()
    assert len(ours) >= 1
    assert len(theirs) >= 1


def test_a_benchmark_that_comes_while_another_is_half_done(
    tmp_path: Path, small_units: None, log: Path
) -> None:
    corpus(tmp_path / "in")
    aime, goats = bench_file(tmp_path, "aime", ITEM), bench_file(tmp_path, "goats", OTHER)
    whole_run = run(tmp_path, aime)
    (whole,) = (tmp_path / "store").glob("shards/*/all-*.parquet")
    assert not list(whole.parent.glob("unit-*"))
    scans(log)
    broken = engine()
    calls = []

    class Dies:
        def __init__(self, index: Any) -> None:
            self.index = index

        def scan(self, texts: pa.Array, side: Any) -> pa.Table:
            calls.append(side)
            if len(calls) > 9:
                raise RunError("out of power")
            return self.index.scan(texts, side)

    from dataclasses import replace

    dying = replace(broken, build=lambda benches, profile: Dies(broken.build(benches, profile)))
    with pytest.raises(RunError, match="out of power"):
        run(tmp_path, goats, engine=dying, workers=1)
    kept = list(whole.parent.glob("unit-*"))
    assert 0 < len(kept) < whole_run.passed.units
    done = texts_of(kept)
    scans(log)
    third = bench_file(tmp_path, "third", "r7")
    every = run(tmp_path, aime, goats, third)
    found = scans(log)
    assert {items for _, items in found} == {1, 2}
    assert [sum(t for t, items in found if items == n) for n in (1, 2)] == [done, 80 - done]
    assert not list(whole.parent.glob("unit-*"))
    fresh = run(tmp_path, aime, goats, third, store=tmp_path / "fresh")
    assert fresh.evidence.equals(every.evidence)


def test_the_store_is_used_by_one_audit_at_a_time(tmp_path: Path) -> None:
    corpus(tmp_path / "in")
    (tmp_path / "store").mkdir()
    with (
        Lease(tmp_path / "store" / "lease.json"),
        pytest.raises(RunError, match=r"evidence store .* is in use by process"),
    ):
        run(tmp_path, bench_file(tmp_path, "aime", ITEM))


def test_a_damaged_file_of_the_store_is_named(tmp_path: Path) -> None:
    corpus(tmp_path / "in")
    run(tmp_path, bench_file(tmp_path, "aime", ITEM))
    (path,) = (tmp_path / "store").glob("shards/*/all-*.parquet")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(RunError, match=r"is damaged .*: delete it and run again"):
        run(tmp_path, bench_file(tmp_path, "aime", ITEM))
    path.unlink()
    assert run(tmp_path, bench_file(tmp_path, "aime", ITEM)).evidence.num_rows == 6


def test_a_file_that_changes_while_it_is_scanned_is_no_evidence(tmp_path: Path) -> None:
    path = corpus(tmp_path / "in")
    plain = engine()

    class Touches:
        def scan(self, texts: pa.Array, side: Any) -> pa.Table:
            os.utime(path)
            return plain.build([], plain.profile("")).scan(texts, side)

    from dataclasses import replace

    with pytest.raises(RunError, match="changes while it is audited"):
        run(
            tmp_path,
            bench_file(tmp_path, "aime", ITEM),
            engine=replace(plain, build=lambda _benches, _profile: Touches()),
        )
    assert not list((tmp_path / "store").glob("shards/*/*.parquet"))


def test_hashes_are_remembered_only_of_files_that_have_settled(tmp_path: Path) -> None:
    path = corpus(tmp_path / "in")
    aime = bench_file(tmp_path, "aime", ITEM)
    run(tmp_path, aime)
    known = json.loads((tmp_path / "store" / "hashes.json").read_text())
    assert known == {}  # written a moment ago: a change could go unseen
    old = time.time_ns() - 10**11
    os.utime(path, ns=(old, old))
    time.sleep(2.1)  # ctime can't be set
    run(tmp_path, aime)
    known = json.loads((tmp_path / "store" / "hashes.json").read_text())
    assert list(known) == [str(path.resolve())]
    same_size = path.read_bytes()
    other = corpus(tmp_path / "in", first=1)
    assert other.read_bytes() != same_size
    os.utime(path, ns=(old, old))
    assert run(tmp_path, aime).passed.units > 0
