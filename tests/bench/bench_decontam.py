"""Decontamination end to end beside its peer, `decon` (PyPI: decontaminate), in one run.

    python -m tests.bench.bench_decontam [--mb 200] [--rounds 2] [--python PYTHON] [--no-peer]

Two corpora of the same size, as zstd Parquet with a prompt and a response in each row: ``siblings``
is the clean side of ../shared/cases/decontam, repeated (MATH, GSM8K and AIME problems, so nearly
everything comes near to some item), ``other`` is prose and documentation of the Python packages
that are installed here, without repeated paragraphs, then repeated as a whole. Benchmarks: nine of
../shared/benchmarks, some 4,000 items.

On one core, each in a process of its own:

- decode: the two text columns are read from Parquet, and nothing else;
- decon: with its defaults and one thread, over JSON Lines, which it demands. Only what it reports
  as its detection time counts, so its index is in place;
- ours: ``vtdata.decontam.audit``, as `vtdata decontam` runs it. What counts is from where the index
  stands to where all hits are judged: reading, scan, alignment, the evidence store and verdicts.
  ``whole`` is all of the command but for the imports: also hashes of the files, the index, the
  evidence for people, near-duplicates of what was hit, and the measured power.

Then two cores against one, memory at 50, 100 and 200 MB, the time from an empty prompt to the first
result, and the index alone. decon needs Python 3.12 or newer: the bench makes an environment for
it in the user's cache, with a Python found by name or named by --python.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.bench_decontam_cases import FILES, SHARED, benchmark
from tests.bench.decontam_corpora import Rows, other, siblings, written
from tests.bench.decontam_one import Took

PEER = "decontaminate==0.3.0.post4"


# Processes


def child(*words: str, cores: int = 1) -> dict[str, Any]:
    """Run one measurement on the last cores of those that this process may use."""
    command = [sys.executable, "-m", "tests.bench.decontam_one", *words]
    return json.loads(pinned(command, cores).splitlines()[-1])


def pinned(command: list[str], cores: int) -> str:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[-cores:])
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    finally:
        os.sched_setaffinity(0, allowed)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def best(rounds: int, *words: str, cores: int = 1) -> dict[str, Any]:
    """The round with the least CPU seconds."""
    found = (child(*words, cores=cores) for _ in range(rounds))
    return min(found, key=lambda one: one["scan"]["cpu"])


# The peer


def peer_python(named: str | None) -> str | None:
    """A Python that has decon, which is installed if need be; None where there is none."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vtdata"
    environment = home / "bench-decon"
    own = environment / "bin" / "python"
    for python in filter(None, [named, str(own)]):
        if shutil.which(python) and _says(python, "import decon"):
            return python
    versions = ("3.12", "3.13", "3.14")
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    there = [str(path) for v in versions for path in sorted(pyenv.glob(f"{v}*/bin/python"))]
    for python in filter(None, [named, *(shutil.which(f"python{v}") for v in versions), *there]):
        if _says(python, "import sys; assert sys.version_info >= (3, 12)"):
            subprocess.run([python, "-m", "venv", str(environment)], check=True)
            subprocess.run([str(own), "-m", "pip", "install", "-q", PEER], check=True)
            return str(own)
    return None


def _says(python: str, code: str) -> bool:
    return subprocess.run([python, "-c", code], check=False, capture_output=True).returncode == 0


PEER_CODE = """
import resource, sys
import decon
decon.detect(decon.Config(*sys.argv[1:4], worker_threads=1))
usage = resource.getrusage(resource.RUSAGE_SELF)
print("CPU", usage.ru_utime + usage.ru_stime)
with open("/proc/self/status") as status:
    peak = next(line for line in status if line.startswith("VmHWM"))
print("RSS", int(peak.split()[1]) * 1024 / 10**6)
"""


@dataclass(frozen=True, slots=True)
class Peer:
    """decon, with an index of the same items."""

    python: str
    folder: Path

    def prepare(self) -> None:
        items = self.folder / "evals"
        items.mkdir(parents=True)
        for name in FILES:
            lines = [
                {"eval_key": name, "eval_instance_index": item.index, "split": "test",
                 "question": item.text, "fingerprint": item.hash, "doc_id": item.index,
                 "is_correct": True}
                for item in benchmark(name).items
            ]  # fmt: skip
            (items / f"{name}.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))

    def scan(self, jsonl: Path) -> tuple[Took, float]:
        """Its own detection time; CPU seconds less those of a run over nothing. And memory."""
        empty = self.folder / "empty"
        empty.mkdir(exist_ok=True)
        (empty / "corpus.jsonl").write_text(json.dumps({"text": "nothing at all"}) + "\n")
        said = [self._run(folder) for folder in (empty, jsonl.parent)]
        cpus = [float(re.search(r"CPU ([\d.]+)", one)[1]) for one in said]
        wall = re.search(r"Detection time\s+([\d.]+)(m?s)", said[1])
        rss = float(re.search(r"RSS ([\d.]+)", said[1])[1])
        return Took(float(wall[1]) / (1000 if wall[2] == "ms" else 1), cpus[1] - cpus[0]), rss

    def _run(self, folder: Path) -> str:
        out = Path(tempfile.mkdtemp(dir=self.folder))
        command = [self.python, "-c", PEER_CODE, str(folder), str(self.folder / "evals"), str(out)]
        return pinned(command, 1)


# The report


def shown(name: str, mb: float, took: Took, more: str = "") -> None:
    print(
        f"  {name:22}{took.wall:8.2f} s wall {mb / took.wall:8.1f} MB/s"
        f"{took.cpu:10.2f} s CPU {mb / took.cpu:8.1f} MB/s  {more}",
        flush=True,
    )


def held(what: str, value: float, bound: float | None, *, most: bool = False) -> None:
    """Say a ratio, and whether it keeps its bound."""
    if bound is None:
        print(f"       {what:62}{value:9.2f}", flush=True)
        return
    good = value <= bound if most else value >= bound
    sign = "<=" if most else ">="
    print(f"  {'ok  ' if good else 'MISS'} {what:62}{value:9.2f} {sign} {bound}", flush=True)


def took_of(found: dict[str, Any], key: str = "scan") -> Took:
    return Took(**found[key])


BOUNDS = {
    "siblings": {"paper": (30, 0.25), "evidence": (12, 0.12)},
    "other": {"paper": (None, None), "evidence": (25, None)},
}
"""By corpus and profile: times as fast as decon, and share of the speed of decoding, where bound."""


def speeds(name: str, files: tuple[Path, Path, float], rounds: int, peer: Peer | None) -> None:
    """One corpus on one core."""
    parquet, jsonl, mb = files
    print(f"\n{name}: {mb:.0f} MB of text, {parquet.stat().st_size / 10**6:.0f} MB of Parquet;"
          f" load {os.getloadavg()[0]:.1f}")  # fmt: skip
    decoding = took_of(best(max(3, rounds), "decode", str(parquet)))
    shown("decode", mb, decoding)
    theirs = None
    if peer is not None:
        theirs, rss = peer.scan(jsonl)
        shown("decon", mb, theirs, f"{rss:.0f} MB of memory")
    for profile, (times, share) in BOUNDS[name].items():
        found = best(rounds, "audit", str(parquet), profile, "1")
        ours = took_of(found)
        shown(profile, mb, ours, f"{found['hits']:,} hits, {found['rss_mb']:.0f} MB of memory")
        shown(f"{profile}, whole", mb, took_of(found, "whole"),
              f"of it index {found['index']['cpu']:.1f} s"
              + (f", power {found['power']['cpu']:.1f} s" if "power" in found else ""))  # fmt: skip
        for clock in ("wall", "cpu"):
            if theirs is not None:
                ratio = getattr(theirs, clock) / getattr(ours, clock)
                held(f"{profile} against decon, by {clock}", ratio, times)
            ratio = getattr(decoding, clock) / getattr(ours, clock)
            held(f"{profile} as a share of decoding, by {clock}", ratio, share)


def two_cores(parquet: Path, mb: float, rounds: int) -> None:
    print(f"\ntwo cores, {mb:.0f} MB, siblings; load {os.getloadavg()[0]:.1f}")
    for profile in ("paper", "evidence"):
        one = [child("audit", str(parquet), profile, "1") for _ in range(rounds)]
        two = [child("audit", str(parquet), profile, "2", cores=2) for _ in range(rounds)]
        walls = [min(found["scan"]["wall"] for found in some) for some in (one, two)]
        whole = [min(found["whole"]["wall"] for found in some) for some in (one, two)]
        peak = max(found["rss_mb"] + found["beside_mb"] for found in two)
        print(
            f"  {profile}: scan {walls[0]:.2f} s and {walls[1]:.2f} s wall; whole {whole[0]:.2f} s"
            f" and {whole[1]:.2f} s; both processes at most {peak:.0f} MB"
        )
        held(f"{profile}: two cores against one, by wall", walls[0] / walls[1], 1.7)


def memory(rows: Rows, folder: Path, mb: int) -> None:
    print("\nmemory, evidence, siblings")
    sizes = [mb // 4, mb // 2, mb]
    peaks = []
    for size in sizes:
        parquet, _, real = written(rows, folder / f"memory-{size}", size)
        peaks.append(child("audit", str(parquet), "evidence", "1")["rss_mb"])
        print(f"  {real:.0f} MB of text: {peaks[-1]:.0f} MB")
    held("largest peak, in MB", max(peaks), 500, most=True)
    held(
        "growth from the smallest to the largest corpus, in MB", peaks[-1] - peaks[0], 50, most=True
    )


def start(rows: Rows, folder: Path) -> None:
    """The command over ten rows, from the shell's view."""
    print("\nstart to first result, cache warm")
    parquet, _, _ = written(rows[:10], folder / "start", 0)
    few = [f"{SHARED / 'benchmarks' / FILES[name][0]}:{FILES[name][1]}" for name in FILES]
    for name, against, bound in (("aime24 and aime25", few[:2], 1.5), ("all nine", few, None)):
        walls = []
        for turn in range(5):
            command = [str(Path(sys.executable).parent / "vtdata"), "decontam", str(parquet)]
            command += [word for one in against for word in ("--against", one)]
            command += ["--store", str(folder / f"store-{len(against)}-{turn}")]
            begun = time.perf_counter()
            pinned(command, 2)
            walls.append(time.perf_counter() - begun)
        print(
            f"  {name}: {min(walls):.2f} s at best, {statistics.median(walls):.2f} s in the middle"
        )
        held(f"start with {name}, seconds at best", min(walls), bound, most=True)


def index() -> None:
    print("\nindex, warm, one core")
    for profile in ("paper", "evidence"):
        found = best(3, "index", profile)
        took = took_of(found)
        scaled = took.cpu * 4000 / found["items"]
        print(
            f"  {profile}: {found['items']:,} items in {took.wall:.2f} s wall, {took.cpu:.2f} s CPU"
        )
        held(f"{profile}: seconds of CPU for 4,000 items", scaled, 2, most=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mb", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--python", help="with decon, or at least 3.12")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--only", choices=("speed", "cores", "memory", "start", "index"))
    options = parser.parse_args()
    wanted = {options.only} if options.only else {"speed", "cores", "memory", "start", "index"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = siblings()
        files = written(rows, folder / "siblings", options.mb)
        child("warm", str(written(rows[:200], folder / "warm", 0)[0]))
        if "speed" in wanted:
            python = None if options.no_peer else peer_python(options.python)
            peer = Peer(python, folder / "peer") if python else None
            if peer is None:
                print("no Python of 3.12 or newer with decon: name one with --python")
            else:
                peer.prepare()
            speeds("siblings", files, options.rounds, peer)
            speeds("other", written(other(), folder / "other", options.mb), options.rounds, peer)
        if "cores" in wanted:
            two_cores(files[0], files[2], options.rounds)
        if "memory" in wanted:
            memory(rows, folder, options.mb)
        if "start" in wanted:
            start(rows, folder)
        if "index" in wanted:
            index()


if __name__ == "__main__":
    main()
