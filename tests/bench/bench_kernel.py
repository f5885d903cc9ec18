"""The scan for n-grams against bare decoding, on one core, in CPU seconds.

    python -m tests.bench.bench_kernel [--megabytes 200] [--rounds 3]

Text: ../shared/cases/decontam, repeated, as zstd Parquet. N-grams: of all items of
../shared/benchmarks. Prints MB/s of text (10**6 bytes of UTF-8) of memcpy, of decoding, of each
form compiled and plain, and of decoding and scanning together as a share of decoding alone (paper
at least 0.25 with n = 10).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from vtdata.decontam.kernel import Grams, Hits
from vtdata.decontam.normal.tokens import words

SHARED = Path(__file__).parents[2] / ".." / "shared"
FIELDS = ("question", "problem", "prompt", "Problem", "text")
SIZES = {"paper": 10, "evidence": 5}
IMPORT = "from vtdata.decontam.kernel import compiled"


def items() -> list[str]:
    rows = [
        json.loads(line)
        for file in sorted((SHARED / "benchmarks").glob("*.jsonl"))
        for line in file.read_text().splitlines()
    ]
    found = [next((row[name] for name in FIELDS if name in row), None) for row in rows]
    return [text for text in found if isinstance(text, str)]


def grams(form: str, n: int) -> Grams:
    found: dict[tuple[str, ...], None] = {}
    shorts: dict[tuple[str, ...], None] = {}
    for text in items():
        all_words = words(text, form)
        if 0 < len(all_words) <= 12:
            shorts[tuple(all_words)] = None
        for first in range(len(all_words) - n + 1):
            found[tuple(all_words[first : first + n])] = None
    begun = time.process_time()
    made = Grams.compile(list(found), list(shorts), form, n)
    made.hits(pa.array([""]), way="compiled")
    print(
        f"{form}: {len(found):,} n-grams of {n}, {len(shorts):,} short items,"
        f" compiled in {time.process_time() - begun:.2f} s"
    )
    return made


def parquet(path: Path, num_bytes: int) -> int:
    """Write the corpus again and again until it is that large; returns the bytes of text."""
    rows = pq.read_table(SHARED / "cases" / "decontam" / "corpus.parquet")
    texts = [
        f"{prompt}\n{response}"
        for prompt, response in zip(
            *(rows[n].to_pylist() for n in ("prompt", "response")), strict=True
        )
    ]
    once = pa.table({"text": texts})
    size = sum(len(text.encode()) for text in texts)
    times = max(1, num_bytes // size)
    with pq.ParquetWriter(path, once.schema, compression="zstd") as writer:
        for _ in range(times):
            writer.write_table(once, row_group_size=2_000)
    return size * times


def decoded(path: Path) -> Iterator[pa.ChunkedArray]:
    file = pq.ParquetFile(path)
    for group in range(file.num_row_groups):
        yield file.read_row_group(group, columns=["text"], use_threads=False)["text"]


def cpu(work: Callable[[], object], rounds: int) -> float:
    """Seconds of the fastest round."""
    out = []
    for _ in range(rounds):
        begun = time.process_time()
        work()
        out.append(time.process_time() - begun)
    return min(out)


def found(texts: Iterable[pa.ChunkedArray], made: Grams) -> list[Hits]:
    return [made.hits(column, way="compiled") for column in texts]


def start_s() -> float:
    """Seconds until the compiled scan is there, from the cache, beyond an empty Python."""
    out = []
    for code in ("import numpy, pyarrow", f"import numpy, pyarrow; {IMPORT}"):
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        out.append(time.perf_counter() - begun)
    return out[1] - out[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "corpus.parquet"
        mb = parquet(path, options.megabytes * 10**6) / 10**6
        texts = list(decoded(path))
        bare = cpu(lambda: [len(column) for column in decoded(path)], options.rounds)
        print(f"{mb:.0f} MB; decoding {mb / bare:,.0f} MB/s")
        block = np.zeros(2**24, np.uint8)
        print(
            f"memcpy {block.nbytes * 16 / 10**6 / cpu(lambda: [block.copy() for _ in range(16)], 3):,.0f} MB/s"
        )
        for form, n in SIZES.items():
            made = grams(form, n)
            alone = cpu(lambda made=made: found(texts, made), options.rounds)
            both = cpu(lambda made=made: found(decoded(path), made), options.rounds)
            hits = found(texts, made)
            none = Grams.compile([], [], form, n)
            tokens_alone = cpu(lambda none=none: found(texts, none), options.rounds)
            few = texts[0].slice(0, 200)
            few_mb = sum(len(text.as_py().encode()) for text in few) / 10**6
            plain = cpu(lambda made=made, few=few: made.hits(few, way="plain"), 1)
            print(
                f"{form}: {mb / alone:,.0f} MB/s, {mb / tokens_alone:,.0f} with nothing to find; with decoding {mb / both:,.0f} MB/s,"
                f" {bare / both:.2f} of decoding alone; plain {few_mb / plain:.2f} MB/s;"
                f" {sum(map(len, hits)):,} hits, {sum(len(h.shorts) for h in hits):,} short"
            )
    print(f"from the cache in {start_s():.2f} s")


if __name__ == "__main__":
    main()
