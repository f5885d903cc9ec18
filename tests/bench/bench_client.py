"""The client against a bare aiohttp loop, and how full it keeps its slots.

    python -m tests.bench.bench_client [--rounds 3] [--requests 4000] [--slots-requests 8000]

Prints requests per second of both, their ratio (at least 0.8), and the share of 512 slots that is
busy until the queue is empty, measured at the server (at least 0.95).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp

from tests.fake_server import start_fake
from vtdata.llm import Client, Ledger, open_store
from vtdata.llm.model import ModelSpec
from vtdata.records import Turn
from vtdata.seeds import NUM_BUCKETS
from vtdata.steps import Request

PROMPT = "What is 17 + 25? Think about it, then put the answer into a box. " * 4


def request_of(n: int, total: int) -> Request:
    """The n-th request, in the order of buckets as a rank walks them."""
    return Request(
        "fake", (Turn("user", f"{n} of {total}: {PROMPT}"),), n, n * NUM_BUCKETS // total
    )


@contextlib.asynccontextmanager
async def client_for(url: str, slots: int) -> AsyncIterator[Client]:
    """A client with its store on."""
    spec = ModelSpec(model="fake", revision="unpinned", max_tokens=512, url=url, concurrency=slots)
    with (
        tempfile.TemporaryDirectory() as folder,
        open_store(Path(folder) / "store", range(64)) as store,
        Ledger(Path(folder) / "ledger", 1) as ledger,
    ):
        async with Client({"fake": spec}, store, ledger=ledger) as client:
            await client.generate(request_of(0, 10**9))  # its preflight
            yield client


async def bare(url: str, total: int, slots: int) -> float:
    """Requests per second of the least that can be done: post, read, forget."""
    numbers = iter(range(total))
    timeout = aiohttp.ClientTimeout(total=None)
    connector = aiohttp.TCPConnector(limit=0)

    async def work(session: aiohttp.ClientSession) -> None:
        for n in numbers:
            body = {
                "model": "fake",
                "messages": [{"role": "user", "content": f"{n}: {PROMPT}"}],
                "seed": n,
                "max_tokens": 512,
                "temperature": 1.0,
                "top_p": 0.95,
                "top_k": -1,
                "min_p": 0.0,
                "repetition_penalty": 1.0,
            }
            async with session.post(f"{url}/chat/completions", json=body) as response:
                await response.json()

    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        start = time.perf_counter()
        await asyncio.gather(*(work(session) for _ in range(slots)))
        return total / (time.perf_counter() - start)


async def ours(url: str, total: int, slots: int) -> float:
    """Requests per second of the client, each answer committed."""
    async with client_for(url, slots) as client:
        start = time.perf_counter()
        await ask_all(client, total, slots)
        return total / (time.perf_counter() - start)


async def ask_all(client: Client, total: int, slots: int) -> None:
    """Keep four times the slots in work, as a run does."""
    numbers = iter(range(total))

    async def work() -> None:
        for n in numbers:
            generation = await client.generate(request_of(n, total))
            assert generation.state == "ok", generation

    await asyncio.gather(*(work() for _ in range(4 * slots)))


async def throughput(rounds: int, total: int, slots: int = 64) -> None:
    with start_fake(own_process=True, latency_s=0.05) as fake:
        pairs = []
        for _ in range(rounds):
            plain = await bare(fake.url, total, slots)
            mine = await ours(fake.url, total, slots)
            pairs.append((plain, mine))
            print(f"  bare {plain:7.0f}/s   client {mine:7.0f}/s   ratio {mine / plain:.2f}")
    ratio = statistics.median(mine / plain for plain, mine in pairs)
    print(f"client / bare at {slots} in flight, 50 ms: {ratio:.2f} (at least 0.80)")


async def fullness(total: int, slots: int = 512) -> None:
    with start_fake(own_process=True, latency_s=2.0, tail=1.0) as fake:
        async with client_for(fake.url, slots) as client:
            before = fake.counters()
            fake.reset()
            await ask_all(client, total, slots)
        found = fake.counters()
    share = found["mean_in_flight"] / slots
    print(
        f"slots busy until the queue is empty, {slots} in flight, lognormal around 2 s, "
        f"{found['chat']} requests in {found['arrivals_s']:.1f} s: {share:.3f} (at least 0.95); "
        f"preflight took {before['chat'] - 1} calls"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=4000)
    parser.add_argument("--slots-requests", type=int, default=8000)
    given = parser.parse_args()
    asyncio.run(throughput(given.rounds, given.requests))
    asyncio.run(fullness(given.slots_requests))


if __name__ == "__main__":
    main()
