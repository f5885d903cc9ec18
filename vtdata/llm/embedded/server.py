"""The HTTP server: ``python -m vtdata.llm.embedded.server --model embedded --port 8000``.

The event loop only parses and writes; torch works on the engine's thread and lets go of the
interpreter while it computes, so ``/health`` answers at once whatever is being decoded.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import socket
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import torch
from aiohttp import web

from vtdata.errors import ConfigError
from vtdata.llm.embedded.answers import Writer, error_body, usage
from vtdata.llm.embedded.engine import MAX_ROWS, Engine, Row
from vtdata.llm.embedded.fields import ChatBody, CompletionBody, Refused, parse
from vtdata.llm.embedded.load import Loaded, load
from vtdata.llm.embedded.orphan import end_with_parent
from vtdata.seeds import derive_seed

_MAX_BODY = 16 << 20
ENGINE: web.AppKey[Engine] = web.AppKey("engine", Engine)


class _Answer:
    """The rows of one request, and the pieces they send from the engine's thread."""

    def __init__(self, body: ChatBody | CompletionBody, prompt: list[int], loaded: Loaded) -> None:
        loop = asyncio.get_running_loop()
        self.pieces: asyncio.Queue[tuple[int, str, int, str | None]] = asyncio.Queue()
        sampling = body.sampling(len(prompt), loaded.max_model_len)
        seed = secrets.randbits(63) if body.seed is None else body.seed
        self.rows = [
            Row(prompt, sampling, choice_seed(seed, i), self._deliver, stream=body.stream)
            for i in range(body.n)
        ]
        self._loop = loop
        self._index = {id(row): i for i, row in enumerate(self.rows)}

    def _deliver(self, row: Row, text: str) -> None:
        event = (self._index[id(row)], text, len(row.tokens), row.finish)
        self._loop.call_soon_threadsafe(self.pieces.put_nowait, event)

    async def events(self, engine: Engine) -> AsyncIterator[tuple[int, str, int, str | None]]:
        """Decode, and yield (choice, new text, tokens so far, finish reason) until all are done."""
        try:
            for row in self.rows:
                engine.submit(row)
            running = len(self.rows)
            while running:
                event = await self.pieces.get()
                running -= event[3] is not None
                yield event
        finally:
            for row in self.rows:
                row.canceled = True


def choice_seed(seed: int, index: int) -> int:
    """Return the seed of choice ``index``: the first has the request's own.

    >>> choice_seed(17, 0)
    17
    >>> choice_seed(17, 1) != choice_seed(18, 0)
    True
    """
    return seed if index == 0 else derive_seed("choice", seed, index)


def encode(loaded: Loaded, body: ChatBody | CompletionBody) -> list[int]:
    """Return the prompt's tokens; a chat goes through the model's own template."""
    if isinstance(body, ChatBody):
        turns = [message.model_dump() for message in body.messages]
        text = loaded.tokenizer.apply_chat_template(
            turns, tokenize=False, add_generation_prompt=True
        )
        return loaded.tokenizer.encode(text, add_special_tokens=False)
    if isinstance(body.prompt, list):
        size = loaded.net.config.vocab_size
        if max(body.prompt) >= size:
            raise Refused(
                f"prompt holds token {max(body.prompt)}; the vocabulary ends at {size - 1}",
                param="prompt",
            )
        return body.prompt
    return loaded.tokenizer.encode(body.prompt)


async def _complete(request: web.Request, kind: type[ChatBody] | type[CompletionBody]) -> Any:
    engine = request.app[ENGINE]
    loaded = engine.loaded
    body = parse(await request.read(), kind)
    if body.model not in (None, loaded.id):
        raise Refused(
            f"model '{body.model}' is not served here; this server has '{loaded.id}'",
            param="model",
            status=404,
        )
    prompt = encode(loaded, body)
    if not prompt:
        raise Refused("the prompt is empty: 0 tokens, at least 1 is needed", param="prompt")
    answer = _Answer(body, prompt, loaded)
    if not engine.alive:
        return web.json_response(error_body("the decoding thread has died", 500), status=500)
    prefix = "chatcmpl" if kind is ChatBody else "cmpl"
    writer = Writer(
        loaded.id,
        loaded.tokenizer,
        f"{prefix}-{secrets.token_hex(12)}",
        int(time.time()),
        chat=kind is ChatBody,
    )
    if body.stream:
        return await _stream(request, body, answer, writer)
    async for _event in answer.events(engine):
        pass
    if any(row.finish == "error" for row in answer.rows):
        return web.json_response(error_body("the server is shutting down", 503), status=503)
    return web.json_response(writer.whole(answer.rows))


async def _stream(
    request: web.Request, body: ChatBody | CompletionBody, answer: _Answer, writer: Writer
) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)

    async def send(data: dict[str, Any]) -> None:
        await response.write(f"data: {json.dumps(data)}\n\n".encode())

    told = [0] * body.n
    async for index, text, num_tokens, finish in answer.events(request.app[ENGINE]):
        row = answer.rows[index]
        if finish == "error":
            await send(error_body("the server is shutting down", 503))
            continue
        wanted = row.sampling.logprobs is not None
        scored = row.scored[told[index] : num_tokens] if wanted else None
        told[index] = num_tokens
        await send(writer.piece(index, text, finish, scored))
    if body.stream_options and body.stream_options.include_usage:
        await send({**writer.head, "choices": [], "usage": usage(answer.rows)})
    await response.write(b"data: [DONE]\n\n")
    return response


async def _chat(request: web.Request) -> Any:
    return await _complete(request, ChatBody)


async def _completions(request: web.Request) -> Any:
    return await _complete(request, CompletionBody)


async def _models(request: web.Request) -> web.Response:
    loaded = request.app[ENGINE].loaded
    card = {
        "id": loaded.id,
        "object": "model",
        "owned_by": "vtdata",
        "root": loaded.root,
        "max_model_len": loaded.max_model_len,
        "revision": loaded.revision,
        "dtype": str(loaded.dtype).removeprefix("torch."),
    }
    return web.json_response({"object": "list", "data": [card]})


async def _health(request: web.Request) -> web.Response:
    alive = request.app[ENGINE].alive
    return web.json_response({"status": "ok" if alive else "dead"}, status=200 if alive else 503)


@web.middleware
async def _errors(request: web.Request, handler: Any) -> web.StreamResponse:
    try:
        return await handler(request)
    except Refused as error:
        body = error_body(error.message, error.status, error.param)
        return web.json_response(body, status=error.status)
    except web.HTTPException as error:
        message = f"{request.method} {request.path}: {error.status} {error.reason}"
        return web.json_response(error_body(message, error.status), status=error.status)


def make_app(loaded: Loaded, *, max_rows: int = MAX_ROWS) -> web.Application:
    """Return the application; its engine starts and stops with it."""
    app = web.Application(middlewares=[_errors], client_max_size=_MAX_BODY)
    engine = Engine(loaded, max_rows=max_rows)
    app[ENGINE] = engine
    app.router.add_post("/v1/chat/completions", _chat)
    app.router.add_post("/v1/completions", _completions)
    app.router.add_get("/v1/models", _models)
    app.router.add_get("/health", _health)

    async def running(_app: web.Application) -> AsyncIterator[None]:
        engine.start()
        yield
        await asyncio.to_thread(engine.close)

    app.cleanup_ctx.append(running)
    return app


def main(arguments: list[str] | None = None) -> int:
    """Serve until told to end."""
    parser = argparse.ArgumentParser(prog="python -m vtdata.llm.embedded.server")
    parser.add_argument("--model", default="embedded")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--fd", type=int, help="a listening socket to take over instead of --port")
    parser.add_argument("--parent", type=int, help="end when this process does")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"])
    options = parser.parse_args(arguments)
    if options.parent is not None:
        end_with_parent(options.parent)
    torch.set_num_threads(1)
    try:
        loaded = load(options.model, getattr(torch, options.dtype or "", None))
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    if options.fd is not None:
        sock = socket.socket(fileno=options.fd)
    else:
        sock = socket.create_server(("127.0.0.1", options.port))
    sys.stderr.write(
        f"serving {loaded.id} ({loaded.root}, revision {loaded.revision[:12]}, {loaded.dtype}) "
        f"on http://127.0.0.1:{sock.getsockname()[1]}/v1\n"
    )
    web.run_app(
        make_app(loaded), sock=sock, print=None, handler_cancellation=True, shutdown_timeout=2.0
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
