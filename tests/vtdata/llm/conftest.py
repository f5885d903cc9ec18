"""Shared by the tests of the model calls: one client on one fake server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fake_server import Handle, start_fake
from vtdata.llm import Budget, Client, Ledger, open_store
from vtdata.llm.model import ModelSpec
from vtdata.records import Turn
from vtdata.steps import Generation, Request


@pytest.fixture(scope="module")
def fake() -> Iterator[Handle]:
    """A server that solves sums, shared by the tests of a module."""
    with start_fake(answer="sum", slow_s=0.3, retry_after_s=0.2) as handle:
        yield handle


def spec(url: str | list[str] | None, **changes: Any) -> ModelSpec:
    """A model on the fake server."""
    given = {"model": "fake", "revision": "unpinned", "max_tokens": 64, "url": url}
    return ModelSpec(**(given | changes))


def ask(text: str, seed: int = 1, bucket: int = 0, **overrides: Any) -> Request:
    """A request to the model named ``m``."""
    return Request("m", (Turn("user", text),), seed, bucket, tuple(sorted(overrides.items())))


@contextlib.asynccontextmanager
async def client_on(
    home: Path,
    model: ModelSpec,
    *,
    budget: Budget | None = None,
    engine: str | None = None,
    read_only: bool = False,
    **options: Any,
) -> AsyncIterator[Client]:
    """A client with a store and a ledger in ``home``, and pauses of a hundredth."""
    home.mkdir(parents=True, exist_ok=True)
    store = open_store(home / "store", range(2), engine=engine, read_only=read_only)
    with store as opened, Ledger(home / "ledger", options.get("workers", 1), budget) as ledger:
        settings = {"ledger": ledger, "pace": 0.01} | options
        async with Client({"m": model}, opened, **settings) as client:
            yield client


def generate(home: Path, model: ModelSpec, *requests: Request, **options: Any) -> list[Generation]:
    """The answers to some requests, asked at once."""

    async def work() -> list[Generation]:
        async with client_on(home, model, **options) as client:
            return list(await asyncio.gather(*(client.generate(r) for r in requests)))

    return asyncio.run(work())


def run(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return asyncio.run(work())
