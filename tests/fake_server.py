"""A real OpenAI-compatible server that answers by hash and can fail in every way we know.

The same request always gets the same answer (``stream`` and other operational keys aside), so a run
that is killed and resumed must end with the same rows.

    from tests.fake_server import start_fake

    with start_fake(answer="sum", right_share=0.5, latency_s=0.05) as fake:
        ...                      # fake.url ends in /v1; the model is called "fake"
        fake.counters()          # {"chat": 12, "models": 1, "most_in_flight": 4, ...}; of "chat",
                                 # "probe" came from preflights, and "repeated" came before
        fake.configure(model="other")             # while it runs
        fake.reset()                              # counters anew

``start_fake(own_process=True)`` runs it in a process of its own (for benchmarks, and for tests that
kill things); ``python -m tests.fake_server --port 8000 --answer sum`` runs it by hand and prints its
url. Options are the fields of ``Setting``: ``--latency-s 0.05 --ignores seed,stop --shares 500*1=0.1``.

Faults. A marker in any message asks for one: ``[[500]]`` always, ``[[500*2]]`` for the first two
tries of that request only. ``shares={"500*1": 0.1}`` gives a fault to a share of the requests, by
hash. Names:

    429            too many requests, without Retry-After
    429-after      the same with Retry-After: retry_after_s
    500 502        server errors
    400            "maximum context length" (also sent for prompts longer than max_prompt_chars)
    401 404        wrong key, with the key echoed in the body; no such model
    hang           never answers
    drop           sends half of the answer and breaks the connection
    slow           answers after slow_s
    null empty     content null, "" with finish_reason stop
    usage-extra usage-none usage-null     additional keys in usage; no usage; usage: null
    weird          finish_reason "tool_calls"
    abort          finish_reason "abort"
    filter         finish_reason "content_filter"
    repetition     finish_reason "repetition"
    length         finish_reason "length" half way
    refusal        message.refusal
    reasoning-content reasoning           the thought in a field of its own
    think think-closer think-open         <think>..</think>, only </think>, only <think> and length
    half-pair      the content ends in half of a surrogate pair, which JSON can hold and UTF-8 can't
    echo           the content repeats the Authorization header
    parts          content as a list of parts
    error-200 garbage no-choices          200 with an error, with something that isn't JSON, empty
    other-model    the answer says that another model gave it
    other-print    another system_fingerprint

``change_model_after=N``: from chat request N on, every answer says another model gave it.
``ignores={"seed"}`` (all samples of a prompt are one), also ``temperature``, ``stop``,
``max_tokens``. ``key="..."`` refuses other keys with a 401 that echoes what it got.
``GET /fake/counters`` and ``POST /fake/configure`` do over HTTP what the two methods do.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import json
import math
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from statistics import NormalDist
from typing import Any

from aiohttp import web

from tests.fake_answers import (
    MARKER,
    Setting,
    completion_of,
    digest_of,
    fraction_of,
    parsed,
    spelled,
)

PROBE = "Write a long list of unusual animals and colors, one word each."
"""What a preflight asks; counted as ``probe`` beside ``chat``."""


class Fake:
    """State and handlers."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.counts: Counter[str] = Counter()
        self.tries: Counter[str] = Counter()
        self.seen: set[bytes] = set()
        self.in_flight = 0
        self.most = 0
        self.first: float | None = None
        self.last = 0.0
        self._area = 0.0
        self._until_last = 0.0
        self._since = 0.0

    def app(self) -> web.Application:
        app = web.Application(client_max_size=1 << 28)
        app.router.add_get("/v1/models", self.models)
        app.router.add_post("/v1/chat/completions", self.chat)
        app.router.add_get("/fake/counters", self.get_counters)
        app.router.add_post("/fake/configure", self.post_configure)
        app.router.add_post("/fake/reset", self.post_reset)
        return app

    async def get_counters(self, _: web.Request) -> web.Response:
        return web.json_response(self.counters())

    async def post_configure(self, request: web.Request) -> web.Response:
        self.configure(await request.json())
        return web.json_response({})

    async def post_reset(self, _: web.Request) -> web.Response:
        self.counts.clear()
        self.seen.clear()
        self.tries.clear()
        self.most, self.first, self._area, self._until_last = self.in_flight, None, 0.0, 0.0
        return web.json_response({})

    def configure(self, changes: dict[str, Any]) -> None:
        for name, value in changes.items():
            setattr(self.setting, name, frozenset(value) if name == "ignores" else value)

    def counters(self) -> dict[str, Any]:
        """Counts, and calls in flight over time."""
        lasted = self.last - (self.first or 0.0)
        return {
            **self.counts,
            "in_flight": self.in_flight,
            "most_in_flight": self.most,
            "arrivals_s": lasted,
            "mean_in_flight": self._until_last / lasted if lasted else 0.0,
        }

    def _moved(self, step: int) -> None:
        """Add up the area under calls in flight; its part up to the last arrival counts."""
        now = time.monotonic()
        self._area += self.in_flight * (now - self._since)
        self._since = now
        self.in_flight += step
        self.most = max(self.most, self.in_flight)
        if step > 0:
            self.first = now if self.first is None else self.first
            self.last, self._until_last = now, self._area

    async def models(self, request: web.Request) -> web.Response:
        self.counts["models"] += 1
        if self.setting.no_models:
            return web.json_response({"error": "not found"}, status=404)
        if (refused := self._unknown_key(request)) is not None:
            return refused
        entry = {"id": self.setting.model, "object": "model", "created": int(time.time())}
        entry |= {"root": self.setting.root, "max_model_len": self.setting.max_model_len}
        return web.json_response({"object": "list", "data": [entry]})

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.counts["chat"] += 1
        if body["messages"][0]["content"] == PROBE:
            self.counts["probe"] += 1  # once a run, and not what slots are busy with
            return await self._chat(request, body)
        self._moved(1)
        try:
            return await self._chat(request, body)
        finally:
            self._moved(-1)

    async def _chat(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if (refused := self._unknown_key(request)) is not None:
            return refused
        if self.setting.most_at_once is not None and self.in_flight > self.setting.most_at_once:
            return self._error(429, "too many requests at once")
        digest = digest_of(self.setting, body)
        self.counts["repeated"] += digest in self.seen and body["messages"][0]["content"] != PROBE
        self.seen.add(digest)
        fault = self._fault(body, digest)
        if fault:
            self.counts[f"fault {fault}"] += 1
        await asyncio.sleep(self._latency(digest))
        if (answer := await self._broken(request, body, fault)) is not None:
            return answer
        limit = self.setting.change_model_after
        changed = limit is not None and self.counts["chat"] > limit
        key = request.headers.get("Authorization", "")
        completion = completion_of(self.setting, body, fault, key, changed=changed)
        if body.get("stream"):
            return await self._stream(request, completion, fault)
        if fault == "drop":
            return await self._drop(request, json.dumps(completion).encode())
        return web.json_response(completion)

    def _unknown_key(self, request: web.Request) -> web.Response | None:
        got = request.headers.get("Authorization", "")
        if self.setting.key is None or got == f"Bearer {self.setting.key}":
            return None
        if got == f"Basic {base64.b64encode(self.setting.key.encode()).decode()}":
            return None
        return self._error(401, f"Incorrect API key provided: {got}")

    def _fault(self, body: dict[str, Any], digest: bytes) -> str | None:
        text = " ".join(str(m.get("content")) for m in body.get("messages", []))
        wanted = [(m[1], m[2]) for m in MARKER.finditer(text)]
        for name, portion in self.setting.shares.items():
            found = MARKER.fullmatch(f"[[{name}]]")
            if found and fraction_of(digest, f"fault {name}") < portion:
                wanted.append((found[1], found[2]))
        for name, times in wanted:
            tried = f"{digest.hex()} {body.get('seed')} {name}"
            self.tries[tried] += 1
            if times is None or self.tries[tried] <= int(times):
                return name
        return "400" if len(text) > self.setting.max_prompt_chars else None

    def _latency(self, digest: bytes) -> float:
        mean, sigma = self.setting.latency_s, self.setting.tail
        if not sigma:
            return mean
        z = NormalDist().inv_cdf(min(max(fraction_of(digest, "latency"), 1e-9), 1 - 1e-9))
        return mean * math.exp(sigma * z - sigma * sigma / 2)

    async def _broken(
        self, request: web.Request, body: dict[str, Any], fault: str | None
    ) -> web.Response | None:
        if fault in ("429", "500", "502", "404"):
            return self._error(int(fault), f"this is a {fault}")
        if fault == "429-after":
            wait = {"Retry-After": str(self.setting.retry_after_s)}
            return self._error(429, "slow down", wait)
        if fault == "400":
            return self._error(400, f"maximum context length is {self.setting.max_model_len}")
        if fault == "401":
            got = request.headers.get("Authorization", "")
            return self._error(401, f"Incorrect API key provided: {got}")
        if fault == "hang":
            await asyncio.sleep(3600)
        if fault == "slow":
            await asyncio.sleep(self.setting.slow_s)
        if fault == "error-200":
            return web.json_response({"error": {"message": "backend lost", "code": 500}})
        if fault == "garbage":
            return web.Response(text="<html>it works</html>")
        if fault == "no-choices":
            return web.json_response({"choices": [], "model": body.get("model")})
        return None

    @staticmethod
    def _error(status: int, text: str, headers: dict[str, str] | None = None) -> web.Response:
        body = {"error": {"message": text, "type": "error", "code": status}}
        return web.json_response(body, status=status, headers=headers)

    async def _drop(self, request: web.Request, raw: bytes) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": str(len(raw))})
        await response.prepare(request)
        await response.write(raw[: len(raw) // 2])
        if request.transport is not None:
            request.transport.close()
        return response

    async def _stream(
        self, request: web.Request, whole: dict[str, Any], fault: str | None
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b": hello\n\n")
        choice = whole["choices"][0]
        pieces = [
            {name: text[i : i + 7]}
            for name, text in choice["message"].items()
            if isinstance(text, str) and name != "role"
            for i in range(0, len(text), 7)
        ]
        for n, delta in enumerate([{"role": "assistant"}, *pieces]):
            if fault == "drop" and n == len(pieces) // 2:
                if request.transport is not None:
                    request.transport.close()
                return response
            event = {**whole, "choices": [{"delta": delta, "finish_reason": None}], "usage": None}
            await response.write(f"data: {json.dumps(event)}\n\n".encode())
        last = {**whole, "choices": [{"delta": {}, "finish_reason": choice["finish_reason"]}]}
        await response.write(f"data: {json.dumps(last)}\n\ndata: [DONE]\n\n".encode())
        return response


class Handle:
    """A running fake server."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}/v1"

    def counters(self) -> dict[str, Any]:
        return self._ask("/fake/counters", None)

    def configure(self, **changes: Any) -> None:
        raw = json.dumps(changes, default=sorted).encode()
        self._ask("/fake/configure", raw)

    def reset(self) -> None:
        """Start counting anew; nothing may be in flight."""
        self._ask("/fake/reset", b"{}")

    def _ask(self, path: str, data: bytes | None) -> Any:
        url = f"http://127.0.0.1:{self.port}{path}"
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())


async def _serve(setting: Setting, port: int, tell: Any, stop: asyncio.Event) -> None:
    runner = web.AppRunner(
        Fake(setting).app(), access_log=None, shutdown_timeout=0, handler_cancellation=True
    )
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=4096)
    await site.start()
    tell(runner.addresses[0][1])
    await stop.wait()
    await runner.cleanup()


@contextlib.contextmanager
def start_fake(*, port: int = 0, own_process: bool = False, **options: Any) -> Iterator[Handle]:
    """Serve until the end of the block; options are the fields of ``Setting``."""
    setting = Setting(**options)
    with (_process if own_process else _thread)(setting, port) as handle:
        yield handle


@contextlib.contextmanager
def _thread(setting: Setting, port: int) -> Iterator[Handle]:
    ready, found = threading.Event(), []
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    def tell(port: int) -> None:
        found.append(port)
        ready.set()

    def run() -> None:
        try:
            loop.run_until_complete(_serve(setting, port, tell, stop))
        finally:
            ready.set()
            loop.close()

    thread = threading.Thread(target=run, name="fake-server", daemon=True)
    thread.start()
    ready.wait(30)
    assert found, f"the fake server did not start on port {port}"
    try:
        yield Handle(found[0])
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)


@contextlib.contextmanager
def _process(setting: Setting, port: int) -> Iterator[Handle]:
    arguments = [f"--port={port}"]
    for option in fields(Setting):
        value = getattr(setting, option.name)
        if value != getattr(Setting(), option.name):
            arguments.append(f"--{option.name.replace('_', '-')}={spelled(value)}")
    command = [sys.executable, "-m", "tests.fake_server", *arguments]
    root = Path(__file__).parents[1]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline().decode().strip()
            assert line.startswith("http"), f"the fake server did not start: {line!r}"
            yield Handle(int(line.rsplit(":", 1)[1].split("/")[0]))
        finally:
            process.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description="A fake OpenAI-compatible server.")
    parser.add_argument("--port", type=int, default=0)
    for option in fields(Setting):
        parser.add_argument(f"--{option.name.replace('_', '-')}", default=None)
    given = vars(parser.parse_args())
    port = given.pop("port")
    setting = Setting(**{name: parsed(name, text) for name, text in given.items() if text})

    def tell(port: int) -> None:
        print(f"http://127.0.0.1:{port}/v1", flush=True)

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(setting, port, tell, asyncio.Event()))


if __name__ == "__main__":
    main()
