"""The one way to a model: from the store, or from a server and then into the store.

A call that fails in a way that may pass is made again after a pause, outside its slot. An answer is
committed before it is returned. What a request's own fault is, that request alone bears.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

try:
    import aiohttp
except ImportError as error:  # pragma: no cover
    raise ImportError("vtdata.llm.client needs aiohttp: pip install aiohttp") from error

from vtdata.errors import ConfigError, RunError, Stopped, VtdataError
from vtdata.llm.answer import FINAL, Answer, Reading, read
from vtdata.llm.lane import Lane
from vtdata.llm.ledger import Ledger
from vtdata.llm.model import ModelSpec
from vtdata.llm.preflight import Known
from vtdata.llm.secrets import SHORTEST_IN_CONTENT, Secrets
from vtdata.llm.slots import share_of
from vtdata.llm.store import Store
from vtdata.llm.transport import Transport
from vtdata.llm.wire import wire_for, wires_of
from vtdata.steps import Generation, Request

IDLE_CONNECTION_S = 30.0
"""How long an unused connection is kept (ours)."""


class Client:
    """Makes the model calls of one worker.

    Args:
        models: the recipe's entries, by the names that requests use.
        store: the ranges that this worker owns; no request of another range comes here.
        ledger: the run's.
        workers: number of workers among which a model's ``concurrency`` is split.
        worker: this one's number, and its slot in the ledger.
        endpoints: base URL of each model whose entry has no url.
        revisions: revision of each model whose entry has none.
        stopping: whether the run was asked to end.
        offline: answer from the store alone, failed answers too; for replays.
        pace: scale of every pause, so that tests need not wait.
        folder: where relative ``file:`` urls start.
        known: what earlier clients of this process found out, by model; added to.

    Raises:
        ConfigError: a model without a revision, a budget in dollars without a price.
    """

    def __init__(
        self,
        models: Mapping[str, ModelSpec],
        store: Store,
        *,
        ledger: Ledger,
        workers: int = 1,
        worker: int = 0,
        endpoints: Mapping[str, str] | None = None,
        revisions: Mapping[str, str] | None = None,
        stopping: Callable[[], bool] = lambda: False,
        offline: bool = False,
        pace: float = 1.0,
        folder: Path | None = None,
        known: dict[str, Known] | None = None,
    ) -> None:
        ledger.budget.check(models)
        self._store = store
        self._ledger = ledger
        self._stopping = stopping
        self._offline = offline
        self._secrets = Secrets()
        self._random = random.Random()
        self._wires = wires_of(models, revisions)
        self._lanes = {
            name: Lane(
                wire,
                share_of(wire.spec.concurrency, workers, worker),
                (endpoints or {}).get(name),
                self._secrets,
                ledger.writer(worker),
                pace,
                folder,
                ({} if known is None else known).setdefault(name, Known()),
            )
            for name, wire in self._wires.items()
        }
        self._running: dict[str, asyncio.Task[Generation]] = {}
        self._session: aiohttp.ClientSession | None = None
        self._fatal: VtdataError | OSError | None = None

    async def __aenter__(self) -> Client:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_CONNECTION_S),
            timeout=aiohttp.ClientTimeout(total=None),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        for lane in self._lanes.values():
            spec = lane.wire.spec
            lane.transport = Transport(
                self._session, self._secrets, lane.wire.name, spec.model, spec.idle_timeout_s
            )
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait for what is in flight, so that it is stored; after an error, let it go."""
        tasks = list(self._running.values())
        if kind is not None and not issubclass(kind, Stopped):
            for task in tasks:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    @property
    def slots(self) -> int:
        """How many calls this worker may have in flight, over all models."""
        return sum(lane.slots.most for lane in self._lanes.values())

    def key_of(self, request: Request) -> str:
        """The store's key of a request; no I/O."""
        return wire_for(self._wires, request).key(request)

    def stats(self) -> dict[str, dict[str, Any]]:
        """Counts per model, what its preflight found and which endpoints it has."""
        return {name: lane.report() for name, lane in self._lanes.items()}

    def fatal(self) -> VtdataError | OSError | None:
        """The error for which no request can succeed, if there was one."""
        return self._fatal

    def failed_share(self) -> float:
        """Failed requests per finished one, in this worker; 0.0 before the first."""
        states = [lane.stats.states for lane in self._lanes.values()]
        done = sum(sum(count.values()) for count in states)
        return sum(count["failed"] for count in states) / done if done else 0.0

    async def generate(self, request: Request) -> Generation:
        """Answer from the store, or ask the server and store before returning.

        Returns:
            The answer, in whatever state; a failed one is returned, not raised.

        Raises:
            Stopped: a budget is used up or the run was asked to end, before this was sent.
            RunError: no request can succeed: a wrong key, a missing model, another model under
                the same name, a store that can't be written.
            ConfigError: a setting that only a call can find wrong.
        """
        key = self.key_of(request)
        if (task := self._running.get(key)) is None:
            lane = self._lanes[request.model]
            found = await self._store.get(request.bucket, [key], failed=self._offline)
            if key in found:
                lane.stats.cached += 1
                answer = Answer.from_bytes(found[key])
                return lane.generation(request, key, answer, read(answer), cached=True)
            task = self._running.get(key) or self._start(lane, request, key)
        return await asyncio.shield(task)  # whoever gives up, what was bought is stored

    def _start(self, lane: Lane, request: Request, key: str) -> asyncio.Task[Generation]:
        """Buy in a task of its own, which all who ask for the same wait for."""
        task = asyncio.get_running_loop().create_task(self._buy(lane, request, key))
        self._running[key] = task
        task.add_done_callback(lambda done: self._settled(key, done))
        return task

    def _settled(self, key: str, task: asyncio.Task[Generation]) -> None:
        del self._running[key]
        if not task.cancelled():
            task.exception()  # whoever waited has it; nobody may have waited

    async def _buy(self, lane: Lane, request: Request, key: str) -> Generation:
        if self._offline:
            raise RunError(
                f"the store holds no answer to request {key} of model '{request.model}': "
                "it can't be replayed; run the recipe to buy it"
            )

        async def keep(answer: Answer, found: Reading) -> Generation:
            answer, found = self._washed(answer, found)
            payload = answer.to_bytes(lane.wire.spec.model, lane.wire.revision)
            await self._store.put(request.bucket, key, payload, final=found.state in FINAL)
            return lane.generation(request, key, answer, found, cached=False)

        try:
            return await lane.buy(request, self._may_send, keep, self._random)
        except (RunError, ConfigError, OSError) as error:
            self._end(error)  # what can't be kept must not be bought
            raise

    def _may_send(self) -> None:
        """Raise what keeps the next call from being sent, if anything does."""
        if self._fatal is not None:
            raise Stopped(f"the run ends: {self._fatal}")
        if reason := self._ledger.stop_reason() or self._ledger.exceeded():
            raise Stopped(reason)
        if self._stopping():
            raise Stopped("the run was asked to end")

    def _end(self, error: VtdataError | OSError) -> None:
        """No request can succeed: keep this worker and the others from sending more."""
        self._fatal = self._fatal or error
        self._ledger.request_stop(str(error))

    def _washed(self, answer: Answer, found: Reading) -> tuple[Answer, Reading]:
        """The answer without our secrets, which a broken server may send back."""
        if not self._secrets:
            return answer, found

        def wash(text: str | None) -> str | None:
            return text and self._secrets.wash(text, shortest=SHORTEST_IN_CONTENT)

        clean = replace(
            answer,
            content=wash(answer.content),
            reasoning=wash(answer.reasoning),
            refusal=wash(answer.refusal),
            served=wash(answer.served),
            error=answer.error and self._secrets.wash(answer.error),
        )
        return clean, read(clean)
