"""Stage folders deleted, store kept: how long until they are there again.

    python -m tests.bench.bench_rebuild [--requests 100000] [--workers 2]

Fills the store by a real run against the fake server, deletes the block folders, and runs again.
At least 100,000 requests in 30 s are asked for.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import tempfile
import time
from pathlib import Path

from tests.fake_server import start_fake
from vtdata import api

RECIPE = """
name: rebuild
seed: 1
models:
  teacher: {{model: fake, revision: r1, url: "{url}", max_tokens: 64, concurrency: 128}}
stages:
  - corpora:
      - jsonl: {{path: q.jsonl, license: MIT, verifier: math, columns: {{question: question, answer: answer}}}}
  - rollouts:
      - sample: {{by: teacher, n: 8}}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    num_queries = options.requests // 8
    with tempfile.TemporaryDirectory() as name, start_fake(answer="sum", own_process=True) as fake:
        folder = Path(name)
        rows = ({"question": f"What is {n} + 1?", "answer": str(n + 1)} for n in range(num_queries))
        (folder / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / "r.yaml").write_text(RECIPE.format(url=fake.url))
        run = folder / "run"
        started = time.monotonic()
        api.run(folder / "r.yaml", out=run, workers=options.workers)
        print(f"bought   {options.requests:,} in {time.monotonic() - started:.1f} s")
        sent = fake.counters()["chat"]
        for path in run.glob("0*-*"):
            shutil.rmtree(path)
        started, cpu = time.monotonic(), _cpu()
        api.run(folder / "r.yaml", out=run, workers=options.workers)
        passed = time.monotonic() - started
        assert fake.counters()["chat"] == sent, "a request was sent again"
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"rebuilt  {options.requests:,} in {passed:.1f} s, {_cpu() - cpu:.1f} s of CPU")
        print(f"peak memory of a worker {peak:.0f} MiB")
        print(f"ratio to the 30 s allowed for 100,000: {30 * options.requests / 1e5 / passed:.2f}")


def _cpu() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


if __name__ == "__main__":
    main()
