"""Slots busy in a whole run, measured at the server, with one and two workers.

    python -m tests.bench.bench_busy [--queries 1000]

512 calls in flight, lognormal latency around 2 s, 8 samples a query: from the first call that
arrives to the last, the mean number in flight must be at least 0.95 of the slots.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from tests.bench.bench_rebuild import RECIPE
from tests.fake_server import start_fake
from vtdata import api

SLOTS = 512


def busy_share(num_queries: int, workers: int) -> float:
    rows = ({"question": f"What is {n} + 1?", "answer": str(n + 1)} for n in range(num_queries))
    with (
        tempfile.TemporaryDirectory() as name,
        start_fake(answer="sum", own_process=True, latency_s=2.0, tail=1.0) as fake,
    ):
        folder = Path(name)
        (folder / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        text = RECIPE.format(url=fake.url).replace("concurrency: 128", f"concurrency: {SLOTS}")
        (folder / "r.yaml").write_text(text)
        api.run(folder / "r.yaml", out=folder / "run", workers=workers)
        return fake.counters()["mean_in_flight"] / SLOTS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1_000)
    options = parser.parse_args()
    for workers in (1, 2):
        share = busy_share(options.queries, workers)
        print(f"{workers} workers: {share:.3f} of {SLOTS} slots busy (at least 0.95)")


if __name__ == "__main__":
    main()
