"""Queries per second and core through all six stages without model calls.

    python -m tests.bench.bench_pipeline [--queries 60000] [--profile]

The peer is pyarrow alone: the same queries with four rollouts of 100 bytes, read and written six
times as Python objects, in the same run. The first pass of corpora reads JSON lines.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from vtdata import api
from vtdata.records import Query, Rollout
from vtdata.steps import Context, Map, step

RECIPE = """
name: bench
seed: 1
stages:
  - corpora:
      - jsonl: {path: q.jsonl, license: MIT, verifier: math, columns: {question: question, answer: answer}}
  - queries:
      - length: {min_chars: 3}
  - rollouts:
      - use: tests.bench.bench_pipeline:Invent
  - scores:
      - verify
  - selections:
      - verified: {into: sft}
      - pass_rate: {truncated: wrong, into: rl, min_scored: 4}
  - shards:
      - sft
      - rl
"""


@step
class Invent(Map):
    """Give each query four rollouts of about 100 bytes, half of them right."""

    gives = ("rollouts",)

    def rollout_set(self) -> str | None:
        return "teacher"

    def process(self, query: Query, ctx: Context) -> list[Query]:
        del ctx
        for index in range(4):
            right = int(query.id[index], 16) % 2
            said = query.answer if right else "7"
            query.rollouts.append(
                Rollout(
                    "teacher",
                    index,
                    index,
                    "m",
                    "r",
                    "{}",
                    None,
                    "x" * 80 + f" so \\boxed{{{said}}}",
                    "none",
                    "stop",
                    "ok",
                    20,
                    30,
                )
            )
        return [query]


def ours(folder: Path, num_queries: int) -> float:
    rows = (
        {"question": f"What is {n} + {n + 1}? Say it.", "answer": str(2 * n + 1)}
        for n in range(num_queries)
    )
    (folder / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "r.yaml").write_text(RECIPE)
    started = time.process_time()
    result = api.run(folder / "r.yaml", out=folder / "run", workers=1)
    passed = time.process_time() - started
    for outcome in result.outcomes:
        print(
            f"  {outcome.block.name:12} {num_queries / max(outcome.seconds, 1e-9):9,.0f} queries/s"
        )
    assert result.outcomes[0].manifest.rows == num_queries
    return num_queries / passed


def peer(folder: Path) -> float:
    """Read and write the selections' part six times."""
    source = next((folder / "run").glob("*-selections-*"))
    tables = [pq.read_table(path) for path in sorted(source.glob("part-*.parquet"))]
    table = pa.concat_tables(tables)
    started = time.process_time()
    for number in range(6):
        path = folder / f"peer-{number}.parquet"
        rows = table.to_pylist()
        pq.write_table(pa.Table.from_pylist(rows, table.schema), path, compression="zstd")
        table = pq.read_table(path)
    return table.num_rows / (time.process_time() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=60_000)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.profile:
            profile = cProfile.Profile()
            profile.runcall(ours, folder, options.queries)
            pstats.Stats(profile).sort_stats("tottime").print_stats(35)
            return
        mine = ours(folder, options.queries)
        theirs = peer(folder)
        print(f"vtdata, all six stages   {mine:8,.0f} queries/s of CPU")
        print(f"pyarrow, six times       {theirs:8,.0f} queries/s of CPU")
        print(f"ratio                    {mine / theirs:8.2f}")


if __name__ == "__main__":
    main()
