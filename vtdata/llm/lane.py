"""One model's way to its servers: slots, endpoints, tries and identity."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vtdata.errors import InfraError, RunError
from vtdata.llm.answer import Answer, Reading, read
from vtdata.llm.endpoints import Endpoint, Endpoints
from vtdata.llm.ledger import Writer
from vtdata.llm.preflight import Findings, Known, identity_of, note_identity, probe
from vtdata.llm.secrets import Secrets
from vtdata.llm.slots import Slots
from vtdata.llm.stats import Stats, dollars
from vtdata.llm.transport import Refusal, Transport, TurnedAway, Unreachable
from vtdata.llm.wire import Wire
from vtdata.steps import Generation, Request

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
"""Pauses between tries double from the first to the longest, each jittered by half (ours)."""
BLANK_TRIES = 3
"""An empty answer that ended by itself is asked for this often, then believed (ours)."""
PATIENCE = 100
"""A busy server is not a broken one: 429 does not use up the tries, but has an end (ours)."""
PASSING = frozenset({"abort", "error"})
"""Reasons for which a server ends an answer because of itself: worth another try (ours)."""
GLANCE_S = 0.5
"""How often a pause looks whether the run was asked to end (ours)."""


class Lane:
    """Everything that a client keeps for one model.

    Args:
        wire: how requests are written.
        most: slots of this worker.
        url: base URL for an entry that has none.
        secrets: the client's.
        writer: this worker's slot in the ledger.
        pace: scale of every pause.
        folder: where relative ``file:`` urls start.
        known: what is known of its servers already.
    """

    def __init__(
        self,
        wire: Wire,
        most: int,
        url: str | None,
        secrets: Secrets,
        writer: Writer,
        pace: float,
        folder: Path | None,
        known: Known,
    ) -> None:
        self.wire = wire
        self.slots = Slots(most, pace)
        self.stats = Stats()
        self.known = known
        self._probed = False
        self.transport: Transport | None = None
        self._endpoints = Endpoints(wire.name, wire.spec, url, secrets, pace, folder)
        self._secrets = secrets
        self._writer = writer
        self._pace = pace

    def report(self) -> dict[str, Any]:
        """Counts, findings and endpoints."""
        found = self.known.findings
        preflight = {name: getattr(found, name) for name in found.__slots__} if found else None
        if preflight and not self._probed:
            preflight["calls"] = 0  # made by an earlier client, and counted there
        return {
            **self.stats.as_dict(),
            "preflight": preflight,
            "endpoints": self._endpoints.labels,
            "slots": self.slots.most,
        }

    def generation(
        self, request: Request, key: str, answer: Answer, found: Reading, *, cached: bool
    ) -> Generation:
        """Put together what a step gets, and count its state."""
        self.stats.states[found.state] += 1
        return Generation(
            key=key,
            state=found.state,
            reasoning=found.reasoning,
            content=found.content,
            think_source=found.think_source,
            finish_reason=answer.finish_reason,
            model=self.wire.spec.model,
            revision=self.wire.revision,
            sampling=self.wire.sampling_of(request),
            n_prompt_tokens=answer.prompt_tokens,
            n_completion_tokens=answer.completion_tokens,
            error=answer.error or _unknown(answer, found.state),
            cached=cached,
        )

    async def buy(
        self,
        request: Request,
        may_send: Callable[[], None],
        keep: Callable[[Answer, Reading], Awaitable[Generation]],
        dice: random.Random,
    ) -> Generation:
        """Send a request until it is answered, refused, or tried often enough.

        The answer's slot is given back when ``keep`` has stored it: after a kill at most as many
        requests are sent again as there are slots, however slow the disk is.

        Raises:
            Stopped: by ``may_send``, before a try.
            RunError: no request can succeed.
            ConfigError: nor can it, and a setting is to blame.
        """
        body = self.wire.body(request)
        chars = sum(len(turn.content) for turn in request.messages)
        tries = _Tries(chars, self.wire.max_tokens(request))
        while True:
            await self.slots.take(first=tries.count > 0)
            try:
                may_send()
                if (answer := await self._try(body, tries, may_send)) is not None:
                    return await keep(answer, tries.found or read(answer))
            finally:
                self.slots.give()
            if tries.failures >= self.wire.spec.attempts or tries.turned_away >= PATIENCE:
                answer = self._nothing("error", f"{tries.trouble} (tried {tries.count} times)")
                return await keep(answer, read(answer))
            await self._pause(tries, may_send, dice)

    async def _try(
        self, body: dict[str, Any], tries: _Tries, may_send: Callable[[], None]
    ) -> Answer | None:
        """Send once; None where it should be tried again."""
        endpoint = self._endpoints.pick()
        endpoint.in_flight += 1
        try:
            await self._greet(endpoint)
            may_send()  # again: many may have waited here, and there is no waiting from here on
            answer = await self._post(endpoint, body, tries)
        except Refusal as refusal:
            return self._nothing(f"http_{refusal.status}", refusal.message)
        except TurnedAway as error:
            self.stats.turned_away += 1
            self.slots.turned_away((error.retry_after_s or 0.0) * self._pace)
            return tries.again(error, turned_away=1, pause_s=error.retry_after_s)
        except InfraError as error:
            self.stats.errors[type(error).__name__] += 1
            if isinstance(error, Unreachable):
                endpoint.rest(self._pace)
            return tries.again(error, failures=1)
        finally:
            endpoint.in_flight -= 1
        endpoint.works()
        self.slots.served()
        tries.found = read(answer)
        if tries.found.state == "empty" and tries.blanks + 1 < BLANK_TRIES:
            return tries.again("an empty answer", blanks=1, pause_s=0.0)
        return answer

    async def _post(self, endpoint: Endpoint, body: dict[str, Any], tries: _Tries) -> Answer:
        """Send, count, and look at what has answered."""
        if tries.posted:
            self.stats.retried += 1
        else:
            self.stats.sent += 1
        tries.posted = True
        self._writer.spend(requests=1)
        answer = await self._open_transport().complete(endpoint, body)
        chars, most = tries.prompt_chars, tries.max_tokens
        self.stats.book(answer, self.wire.spec, self._writer, chars, most)
        self._same_model(endpoint, answer)
        if answer.finish_reason in PASSING:
            raise InfraError(f"the server gave up: finish_reason {answer.finish_reason!r}")
        return answer

    async def _greet(self, endpoint: Endpoint) -> None:
        """Ask an endpoint who it is, once for all who wait, before it gets work."""
        if endpoint.greeted:
            return
        if endpoint.greeting is None:
            endpoint.greeting = asyncio.ensure_future(self._introduce(endpoint))
            endpoint.greeting.add_done_callback(lambda task: _greeted(endpoint, task))
        await asyncio.shield(endpoint.greeting)

    async def _introduce(self, endpoint: Endpoint) -> None:
        transport = self._open_transport()
        listing = await transport.models(endpoint)
        entry = identity_of(listing, self.wire.spec.model)
        root = entry.get("root") if entry else None
        self._unchanged(endpoint, "root", self.known.roots, endpoint.label, root)
        if self.known.findings is None:
            findings = self.known.findings = Findings()
            self._probed = True
            note_identity(findings, listing, self.wire)
            await probe(findings, self.wire, lambda body: self._probe(endpoint, body))

    async def _probe(self, endpoint: Endpoint, body: dict[str, Any]) -> Answer:
        answer = await self._open_transport().complete(endpoint, body)
        self._same_model(endpoint, answer)
        tokens = answer.prompt_tokens or 0, answer.completion_tokens or 0
        usd = dollars(self.wire.spec, *tokens)
        self._writer.spend(usd=usd, prompt_tokens=tokens[0], completion_tokens=tokens[1])
        return answer

    def _same_model(self, endpoint: Endpoint, answer: Answer) -> None:
        """Stop the run where another model answers under the same name."""
        known, label = self.known, endpoint.label
        self._unchanged(endpoint, "model", known.served, "", answer.served)
        prints = known.fingerprints
        self._unchanged(endpoint, "system_fingerprint", prints, label, answer.fingerprint)

    def _unchanged(
        self, endpoint: Endpoint, what: str, known: dict[str, str], key: str, now: Any
    ) -> None:
        if not isinstance(now, str) or not now:
            return
        was = known.setdefault(key, now)
        if was != now:
            said = self._secrets.wash(f"was {was!r} and is now {now!r}")
            raise RunError(
                f"model '{self.wire.name}' at {endpoint.label}: its {what} {said}: another model "
                "answers under the same name; that answer was not stored; serve the first one "
                "again, or give the recipe's entry the new revision"
            )

    def _open_transport(self) -> Transport:
        if self.transport is None:
            raise RunError("the client is not open: use it in `async with Client(...) as client`")
        return self.transport

    @staticmethod
    def _nothing(finish_reason: str, error: str) -> Answer:
        """What stands for the answer of a request that got none."""
        return Answer(finish_reason, error=error)

    async def _pause(
        self, tries: _Tries, may_send: Callable[[], None], dice: random.Random
    ) -> None:
        """Wait before the next try, longer each time and never in step with others."""
        wait = tries.pause_s
        if wait is None:
            wait = min(FIRST_PAUSE_S * 2 ** (tries.count - 1), LONGEST_PAUSE_S)
            wait *= 0.5 + dice.random() / 2
        end = time.monotonic() + wait * self._pace
        while (left := end - time.monotonic()) > 0:
            may_send()
            await asyncio.sleep(min(left, GLANCE_S))


@dataclass(slots=True)
class _Tries:
    """How often a request was tried, and why again."""

    prompt_chars: int
    max_tokens: int
    posted: bool = False
    failures: int = 0
    turned_away: int = 0
    blanks: int = 0
    trouble: str = ""
    found: Reading | None = None
    """The meaning of the answer that came at last."""
    pause_s: float | None = None

    @property
    def count(self) -> int:
        return self.failures + self.turned_away + self.blanks

    def again(
        self,
        why: object,
        *,
        failures: int = 0,
        turned_away: int = 0,
        blanks: int = 0,
        pause_s: float | None = None,
    ) -> None:
        """Note a try that has to be made again."""
        self.failures += failures
        self.turned_away += turned_away
        self.blanks += blanks
        self.trouble, self.pause_s, self.found = str(why), pause_s, None


def _greeted(endpoint: Endpoint, task: asyncio.Future[None]) -> None:
    endpoint.greeting = None
    endpoint.greeted = not task.cancelled() and task.exception() is None


def _unknown(answer: Answer, state: str) -> str | None:
    return f"unknown finish_reason {answer.finish_reason!r}" if state == "failed" else None
