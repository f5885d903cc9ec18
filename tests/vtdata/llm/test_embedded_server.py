"""The embedded model over HTTP, with plain aiohttp on the other side."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest

pytest.importorskip("torch", reason='needs torch: pip install "vtdata[local]"')

import torch

from vtdata.llm.embedded.start import RunningServer, start_server
from vtdata.llm.embedded.weights import embedded_revision

SUM = [
    {"role": "user", "content": "What is 14 + 27?"},
    {"role": "assistant", "content": "14 + 27 = 41. The answer is \\boxed{41}."},
    {"role": "user", "content": "What is 3 + 5?"},
]


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with start_server() as server:
        yield server


def ask(
    server: RunningServer, *bodies: dict[str, Any], path: str = "/chat/completions"
) -> list[Any]:
    """Send all bodies at once; return (status, answer) for each."""

    async def post(session: aiohttp.ClientSession, body: dict[str, Any]) -> Any:
        async with session.post(server.url + path, json=body) as response:
            return response.status, await response.json()

    async def run() -> list[Any]:
        async with aiohttp.ClientSession() as session:
            return await asyncio.gather(*(post(session, body) for body in bodies))

    return asyncio.run(run())


def chat(**changes: Any) -> dict[str, Any]:
    return {"messages": SUM, "max_tokens": 16, "temperature": 0.0, "model": "embedded", **changes}


def texts(answer: Any) -> list[str]:
    status, body = answer
    assert status == 200, body
    return [c["message"]["content"] for c in body["choices"]]


def test_models_says_who_is_served(server: RunningServer) -> None:
    async def get() -> Any:
        async with (
            aiohttp.ClientSession() as session,
            session.get(server.url + "/models") as response,
        ):
            return (await response.json())["data"]

    (card,) = asyncio.run(get())
    assert card["id"] == "embedded" == server.model
    assert card["root"] == "HuggingFaceTB/SmolLM2-135M-Instruct"
    assert card["revision"] == embedded_revision() == server.revision
    assert (card["max_model_len"], card["dtype"]) == (4096, server.dtype)


def test_greedy_answer_and_usage(server: RunningServer) -> None:
    ((status, body),) = ask(server, chat(max_tokens=40))
    assert status == 200
    assert body["choices"][0]["message"]["content"] == "3 + 5 = 8. The answer is \\boxed{8}."
    assert body["choices"][0]["finish_reason"] == "stop"
    usage = body["usage"]
    assert usage["completion_tokens"] == 17 + 1  # the end token counts
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


def test_seed_temperature_and_stop_are_each_rows_own(server: RunningServer) -> None:
    """One batch with all kinds; the same requests one by one give the same texts."""
    bodies = [
        chat(temperature=1.2, seed=5),
        chat(),
        chat(temperature=1.2, seed=6),
        chat(stop=["="]),
        chat(temperature=1.2, seed=5),
        chat(max_tokens=3),
        chat(temperature=0.7, top_p=0.9, top_k=20, min_p=0.02, repetition_penalty=1.1, seed=5),
    ]
    together = [texts(a)[0] for a in ask(server, *bodies)]
    assert together[0] == together[4] != together[2]
    assert together[1].startswith(together[3])
    assert together[3] == "3 + 5 "
    assert together[1].startswith(together[5])
    assert together == [texts(ask(server, body)[0])[0] for body in bodies]


def test_n_choices_differ_and_the_first_is_the_seeds_own(server: RunningServer) -> None:
    several, single = ask(server, chat(n=4, temperature=1.2, seed=9), chat(temperature=1.2, seed=9))
    assert texts(several)[0] == texts(single)[0]
    assert len(set(texts(several))) > 1
    assert [c["index"] for c in several[1]["choices"]] == [0, 1, 2, 3]


def test_logprobs_in_both_forms(server: RunningServer) -> None:
    ((_, body),) = ask(server, chat(logprobs=True, top_logprobs=2, max_tokens=4))
    entries = body["choices"][0]["logprobs"]["content"]
    assert [e["token"] for e in entries] == ["3", " +", " ", "5"]
    for entry in entries:
        assert entry["logprob"] == entry["top_logprobs"][0]["logprob"] <= 0
        assert len(entry["top_logprobs"]) == 2
    plain = {"prompt": [100, 200, 300], "max_tokens": 2, "temperature": 0, "logprobs": 1}
    ((_, body),) = ask(server, plain, path="/completions")
    assert len(body["choices"][0]["logprobs"]["token_logprobs"]) == 2


@pytest.fixture(scope="module")
def reference() -> Any:
    from vtdata.llm.embedded.load import load

    return load("embedded", torch.float32)


def test_greedy_equals_generate(server: RunningServer, reference: Any) -> None:
    if server.dtype != "float32":
        pytest.skip(
            f"the server computes in {server.dtype} here, which rounds a near tie either way"
        )
    prompts = ["The capital of France is", "One, two, three,"]
    bodies = [{"prompt": p, "max_tokens": 12, "temperature": 0} for p in prompts]
    served = [a[1]["choices"][0]["text"] for a in ask(server, *bodies, path="/completions")]
    for prompt, text in zip(prompts, served, strict=True):
        ids = torch.tensor([reference.tokenizer.encode(prompt)])
        with torch.inference_mode():
            out = reference.net.generate(
                ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=12
            )
        new = out[0, ids.shape[1] :]
        assert text == reference.tokenizer.decode(new, skip_special_tokens=True)


def test_prompt_logprobs_equal_a_plain_forward_pass(server: RunningServer, reference: Any) -> None:
    text = "The capital of France is Paris, and that of Italy is Rome."
    ids = reference.tokenizer.encode(text)
    with torch.inference_mode():
        lines = reference.net(torch.tensor([ids])).logits[0].log_softmax(-1)
    plain = [lines[i, token].item() for i, token in enumerate(ids[1:])]
    body = {"prompt": ids, "max_tokens": 1, "temperature": 0, "prompt_logprobs": 0}
    ((_, answer),) = ask(server, body, path="/completions")
    first, *rest = answer["choices"][0]["prompt_logprobs"]
    assert first is None
    tolerance = 1e-3 if server.dtype == "float32" else 0.2
    served = [line[str(t)]["logprob"] for line, t in zip(rest, ids[1:], strict=True)]
    assert served == pytest.approx(plain, abs=tolerance)


def test_a_stream_adds_up_to_the_whole(server: RunningServer) -> None:
    async def stream(body: dict[str, Any]) -> list[str]:
        async with (
            aiohttp.ClientSession() as session,
            session.post(server.url + "/chat/completions", json=body) as response,
        ):
            assert response.headers["Content-Type"].startswith("text/event-stream")
            return [line.decode()[6:].strip() async for line in response.content if line.strip()]

    options = {"stream": True, "stream_options": {"include_usage": True}, "stop": ["boxed{8"]}
    lines = asyncio.run(stream(chat(max_tokens=40, **options)))
    assert lines[-1] == "[DONE]"
    events = [json.loads(line) for line in lines[:-1]]
    pieces = [e["choices"][0] for e in events[:-1]]
    # the backslash and what follows is held back until it can't be the stop string any more
    assert "".join(p["delta"]["content"] for p in pieces) == "3 + 5 = 8. The answer is \\"
    assert [p["finish_reason"] for p in pieces][-1] == "stop"
    assert len(pieces) > 5
    assert events[-1]["usage"]["completion_tokens"] > 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"topp": 0.5},
            "unknown field 'topp', which this server would ignore: did you mean 'top_p'?",
        ),
        ({"temperature": -1}, "temperature is -1: input should be greater than or equal to 0"),
        ({"top_p": 1.5}, "top_p is 1.5: input should be less than or equal to 1"),
        ({"n": 0}, "n is 0: input should be greater than or equal to 1"),
        ({"max_tokens": "9"}, 'max_tokens is "9": input should be a valid integer'),
        ({"stop": ["a", ""]}, "stop holds an empty string, which would end every response"),
        ({"top_logprobs": 3}, "top_logprobs is 3 but logprobs is false: set logprobs to true"),
        (
            {"max_tokens": 5000},
            "the prompt has 80 tokens and max_tokens is 5000; together they may be at most 4096 "
            "(max_model_len): shorten the prompt or ask for fewer tokens",
        ),
        (
            {"messages": [{"role": "user", "content": "x " * 5000}]},
            "the prompt has 5031 tokens and max_tokens is 16; together they may be at most 4096 "
            "(max_model_len): shorten the prompt or ask for fewer tokens",
        ),
        (
            {"messages": []},
            "messages is []: list should have at least 1 item after validation, not 0",
        ),
    ],
)
def test_what_is_refused(server: RunningServer, change: dict[str, Any], message: str) -> None:
    ((status, body),) = ask(server, chat(**change))
    assert (status, body["error"]["message"]) == (400, message)
    assert body["error"]["type"] == "invalid_request_error"


def test_another_model_and_another_path_are_not_found(server: RunningServer) -> None:
    ((status, body),) = ask(server, chat(model="gpt"))
    assert (status, body["error"]["message"]) == (
        404,
        "model 'gpt' is not served here; this server has 'embedded'",
    )
    ((status, body),) = ask(server, {}, path="/embeddings")
    assert (status, body["error"]["message"]) == (404, "POST /v1/embeddings: 404 Not Found")


def test_health_answers_while_32_rows_decode(server: RunningServer) -> None:
    async def run() -> list[float]:
        waits = []
        async with aiohttp.ClientSession() as session:

            async def post(seed: int) -> None:
                body = chat(temperature=1.0, seed=seed, max_tokens=12, ignore_eos=True)
                async with session.post(server.url + "/chat/completions", json=body) as response:
                    assert response.status == 200

            busy = asyncio.gather(*(post(seed) for seed in range(32)))
            while not busy.done():
                start = time.monotonic()
                async with session.get(server.url.removesuffix("/v1") + "/health") as response:
                    assert response.status == 200
                waits.append(time.monotonic() - start)
                await asyncio.sleep(0.05)
            await busy
        return waits

    waits = sorted(asyncio.run(run()))
    assert len(waits) > 10
    assert waits[len(waits) // 2] < 0.25


def test_a_client_that_leaves_frees_its_row(server: RunningServer) -> None:
    """Else 32 abandoned requests of 2,000 tokens would block everyone for minutes."""

    async def leave() -> None:
        timeout = aiohttp.ClientTimeout(total=1.0)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            for _ in range(2):
                body = chat(max_tokens=2000, ignore_eos=True, n=16)
                with pytest.raises(TimeoutError):
                    await session.post(server.url + "/chat/completions", json=body)

    asyncio.run(leave())
    start = time.monotonic()
    ask(server, chat(max_tokens=2))
    assert time.monotonic() - start < 10
