"""Runs that are asked to end, lose a worker, or meet another run in their folder."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.fake_server import Handle, start_fake
from tests.runs import (
    cli,
    full_recipe,
    kill_group,
    run_here,
    sent,
    shard_bytes,
    stage_rows,
    start_cli,
    sum_row,
    wait_until,
    write_rows,
)
from vtdata.errors import RunError, Stopped
from vtdata.run import fused
from vtdata.run.folder import MANIFEST, clear


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


def workers(pid: int) -> list[int]:
    """The pool's processes, without multiprocessing's tracker."""
    lines = {child: Path(f"/proc/{child}/cmdline").read_bytes() for child in children(pid)}
    return [child for child, line in lines.items() if b"spawn_main" in line]


def test_sigterm_ends_a_run_that_goes_on_later(tmp_path: Path, original: Path) -> None:
    with start_fake(answer="sum", latency_s=0.15) as fake:
        recipe = full_recipe(tmp_path)
        process = start_cli("run", recipe, "--out", "run", "--workers", 1, cwd=tmp_path, fake=fake)
        assert wait_until(lambda: sent(fake) >= 12)
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=60)
        assert process.returncode == 3
        assert "SIGTERM: finishing what is in flight; run again to go on" in told
        assert told.strip().endswith("vtdata: SIGTERM was received")
        assert not list((tmp_path / "run").glob(f"03-*/{MANIFEST}"))
        bought = sent(fake)
        assert bought < 60
        assert cli("run", recipe, "--out", "run", cwd=tmp_path, fake=fake).returncode == 0
        assert sent(fake) == 60
        assert fake.counters()["repeated"] == 0, "what was in flight was waited for and stored"
    assert shard_bytes(tmp_path / "run") == shard_bytes(original / "run")
    assert stage_rows(tmp_path / "run") == stage_rows(original / "run")


def test_a_hanging_server_does_not_keep_a_run_from_ending(
    tmp_path: Path, fake: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fused, "GRACE_S", 1.0)
    recipe = full_recipe(tmp_path, until="rollouts")
    write_rows(tmp_path / "sums.jsonl", [sum_row(n, " [[hang]]") for n in range(4)])
    began = time.monotonic()
    with pytest.raises(Stopped, match=r"^--stop-after 1 s is over$"):
        run_here(recipe, stop_after_s=1.0)
    assert time.monotonic() - began < 15


def test_stop_after_ends_with_exit_code_3(tmp_path: Path) -> None:
    with start_fake(answer="sum", latency_s=0.3) as fake:
        recipe = full_recipe(tmp_path, 40, until="rollouts")
        done = cli("run", recipe, "--stop-after", "2s", "--workers", 1, cwd=tmp_path, fake=fake)
    assert done.returncode == 3
    assert done.stderr.strip().endswith("vtdata: --stop-after 2 s is over")


def test_a_killed_worker_ends_the_run_at_once(tmp_path: Path, fake: Handle) -> None:
    recipe = full_recipe(tmp_path, 80, until="rollouts")
    fake.configure(latency_s=1.5)
    process = start_cli("run", recipe, "--workers", 2, cwd=tmp_path, fake=fake)
    try:
        assert wait_until(lambda: sent(fake) >= 8)
        os.kill(workers(process.pid)[0], signal.SIGKILL)
        _, told = process.communicate(timeout=60)
    finally:
        fake.configure(latency_s=0.0)
        kill_group(process)
    assert sent(fake) < 80, "the other worker stops too, with 320 calls to go"
    assert process.returncode == 1
    assert told.strip().splitlines()[-1] == (
        "vtdata: a worker process died (killed from outside, or by the kernel for want of memory: "
        "see dmesg); run again to go on, with fewer --workers if memory was short"
    )


def test_workers_die_with_a_killed_parent(tmp_path: Path, fake: Handle) -> None:
    recipe = full_recipe(tmp_path, until="rollouts")
    write_rows(tmp_path / "sums.jsonl", [sum_row(n, " [[hang]]") for n in range(12)])
    process = start_cli("run", recipe, "--workers", 2, cwd=tmp_path, fake=fake)
    try:
        assert wait_until(lambda: sent(fake) >= 8)
        left = workers(process.pid)
        assert len(left) == 2
        process.kill()
        assert wait_until(lambda: not any(Path(f"/proc/{pid}/cwd").exists() for pid in left), 10)
    finally:
        kill_group(process)


def test_two_runs_in_one_folder(tmp_path: Path, fake: Handle) -> None:
    recipe = full_recipe(tmp_path, until="rollouts")
    write_rows(tmp_path / "sums.jsonl", [sum_row(n, " [[hang]]") for n in range(3)])
    process = start_cli("run", recipe, "--out", "run", "--workers", 1, cwd=tmp_path, fake=fake)
    try:
        assert wait_until(lambda: sent(fake) >= 1)
        with pytest.raises(RunError) as second:
            run_here(recipe)
    finally:
        kill_group(process)
    assert str(second.value).startswith(
        f"run folder {tmp_path}/run is in use by process {process.pid} on "
    )
    assert f"(kill {process.pid}) and try again" in str(second.value)
    write_rows(tmp_path / "sums.jsonl", [sum_row(n) for n in range(3)])
    third = cli("run", recipe, "--out", "run", "--workers", 1, cwd=tmp_path, fake=fake)
    assert third.returncode == 0
    assert f"took over the lease of process {process.pid} on " in third.stderr
    assert "that process is gone" in third.stderr


def test_the_marker_goes_first_when_a_folder_is_removed(tmp_path: Path) -> None:
    """A kill in the midst of removing must not leave a manifest whose files are gone."""
    folder = tmp_path / "01-corpora-0"
    (folder / "set").mkdir(parents=True)
    for place in (folder, folder / "set"):
        (place / MANIFEST).write_text("{}")
        (place / "a.parquet").write_bytes(b"")
    removed: list[str] = []
    watching = True

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if watching and event in ("os.remove", "shutil.rmtree"):
            removed.append(Path(str(arguments[0])).name)

    sys.addaudithook(hook)
    clear(folder)
    watching = False
    assert removed[:3] == [MANIFEST, MANIFEST, folder.name]
    assert removed.count("a.parquet") == 2
    assert not folder.exists()
