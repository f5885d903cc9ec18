"""The generation store: reading back, and memory that does not grow with what is stored.

    python -m tests.bench.bench_store [--rows 1000000] [--engine sqlite|segments] [--huge]

1. 100,000 finished requests are read back through the client, as a run does whose stage folders
   were deleted (well under 30 s).
2. A store is filled with small rows, in the order of buckets, as a rank walks them: rows per
   second, resident memory along the way, and what that says about 40 million. ``--huge`` fills 4
   million.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from hashlib import sha256
from pathlib import Path

from vtdata.llm import Client, Ledger, open_store
from vtdata.llm.answer import Answer
from vtdata.llm.model import ModelSpec
from vtdata.llm.store import Store
from vtdata.records import Turn
from vtdata.seeds import NUM_BUCKETS
from vtdata.steps import Request

SPEC = ModelSpec(model="fake", revision="unpinned", max_tokens=512, url="http://127.0.0.1:9/v1")
TEXT = "We add the tens, then the ones, and carry what is over. " * 20
SAMPLES = 8
TOGETHER = 512


def resident_mib() -> float:
    """Memory of this process that is in RAM."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


async def read_back(folder: Path, engine: str, total: int) -> None:
    """Put answers in, then take them out through the client, in groups as a query does."""
    requests = [
        Request("m", (Turn("user", f"question {n // SAMPLES}"),), n, n * NUM_BUCKETS // total)
        for n in range(total)
    ]
    with Ledger(folder / "ledger", 1) as ledger:
        with open_store(folder / "store", range(64), engine=engine) as store:
            async with Client({"m": SPEC}, store, ledger=ledger) as client:
                for start in range(0, total, TOGETHER):
                    await put_answers(store, client, requests[start : start + TOGETHER])
        with open_store(folder / "store", range(64)) as store:
            async with Client({"m": SPEC}, store, ledger=ledger) as client:
                before, start, cpu = resident_mib(), time.perf_counter(), time.process_time()
                await take_all(client, requests)
                took, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(
        f"read back {total} answers of {len(TEXT)} characters ({engine}): {took:.1f} s "
        f"({cpu:.1f} s of CPU), "
        f"{total / took:.0f}/s, memory +{resident_mib() - before:.0f} MiB"
    )


async def put_answers(store: Store, client: Client, requests: list[Request]) -> None:
    puts = []
    for request in requests:
        answer = Answer("stop", f"{TEXT} {request.seed}", None, None, 20, 400, "fake")
        key = client.key_of(request)
        puts.append(store.put(request.bucket, key, answer.to_bytes("fake", "unpinned")))
    await asyncio.gather(*puts)


async def take_all(client: Client, requests: list[Request]) -> None:
    """Four times the slots in work, each a query's samples at once."""
    groups = iter(range(0, len(requests), SAMPLES))

    async def work() -> None:
        for start in groups:
            group = requests[start : start + SAMPLES]
            got = await asyncio.gather(*(client.generate(request) for request in group))
            assert all(g.cached for g in got)

    await asyncio.gather(*(work() for _ in range(128)))


async def fill(folder: Path, engine: str, total: int) -> None:
    """Small rows; memory is looked at ten times."""
    start, marks = time.perf_counter(), []
    with open_store(folder / "full", range(64), engine=engine) as store:
        for first in range(0, total, TOGETHER):
            numbers = range(first, min(first + TOGETHER, total))
            keys = [sha256(str(n).encode()).hexdigest() for n in numbers]
            pairs = zip(numbers, keys, strict=True)
            await asyncio.gather(
                *(store.put(n * NUM_BUCKETS // total, key, b"x" * 60) for n, key in pairs)
            )
            if first * 10 // total >= len(marks):
                marks.append(resident_mib())
        took = time.perf_counter() - start
    size = sum(path.stat().st_size for path in (folder / "full").iterdir()) / 2**20
    grown = marks[-1] - marks[len(marks) // 2]
    print(
        f"filled {total} rows ({engine}): {total / took:.0f}/s, {size:.0f} MiB on the disk; "
        f"resident {' '.join(f'{mark:.0f}' for mark in marks)} MiB"
    )
    per_million = grown / (0.4 * total / 1e6)
    print(
        f"  grown by {grown:.1f} MiB in the second half: {40 * per_million:+.0f} MiB at 40 million"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--engine", choices=["sqlite", "segments"], default="sqlite")
    parser.add_argument("--huge", action="store_true", help="4 million rows")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(read_back(Path(name), given.engine, 100_000))
        asyncio.run(fill(Path(name), given.engine, 4_000_000 if given.huge else given.rows))


if __name__ == "__main__":
    main()
