"""Tokens per CPU-second: the embedded server over HTTP at 32 in flight, against generate.

Run: python -m tests.bench.bench_embedded [--tokens 48] [--rounds 2]

Both sides sample the same number of tokens for the same 32 prompts on one thread in the same dtype,
prompts included. ``apart``: short prompts that share nothing, so that taking over beginnings helps
nobody. ``toy``: the few-shot turns of the toy recipe before each question, as a run sends them.
Exit code 1 where ``apart`` falls below 0.7.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import time
from pathlib import Path
from typing import Any

import aiohttp
import torch
import yaml

from vtdata.llm.embedded.load import Loaded, load
from vtdata.llm.embedded.start import RunningServer, start_server

ROWS = 32
FLOOR = 0.7
FEW_SHOT = Path(__file__).parents[2] / "recipes" / "data" / "few-shot.yaml"


def cpu_s(pid: int) -> float:
    """CPU seconds of a process so far, user and system (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def questions(loaded: Loaded, *, few_shot: bool) -> list[list[int]]:
    """32 prompts as token ids."""
    rng = random.Random(17)
    if not few_shot:
        return [[rng.randrange(100, 40_000) for _ in range(16 + i % 8)] for i in range(ROWS)]
    shots = yaml.safe_load(FEW_SHOT.read_text(encoding="utf-8"))["messages"]
    prompts = []
    for _ in range(ROWS):
        question = f"What is {rng.randrange(10, 99)} + {rng.randrange(10, 99)}?"
        text = loaded.tokenizer.apply_chat_template(
            [*shots, {"role": "user", "content": question}],
            tokenize=False,
            add_generation_prompt=True,
        )
        prompts.append(loaded.tokenizer.encode(text, add_special_tokens=False))
    return prompts


def generate(loaded: Loaded, prompts: list[list[int]], num_tokens: int) -> float:
    """Tokens per CPU-second of transformers' generate on one padded batch."""
    width = max(map(len, prompts))
    ids = torch.tensor([[2] * (width - len(p)) + p for p in prompts])
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
    start = time.process_time()
    with torch.inference_mode():
        loaded.net.generate(
            ids,
            attention_mask=mask,
            do_sample=True,
            top_k=0,
            max_new_tokens=num_tokens,
            min_new_tokens=num_tokens,
            pad_token_id=2,
        )
    return len(prompts) * num_tokens / (time.process_time() - start)


def serve(server: RunningServer, prompts: list[list[int]], num_tokens: int) -> float:
    """Tokens per CPU-second of the server's process."""

    async def post(session: aiohttp.ClientSession, seed: int, prompt: list[int]) -> int:
        body: dict[str, Any] = {"prompt": prompt, "max_tokens": num_tokens, "seed": seed}
        async with session.post(
            server.url + "/completions", json=body | {"ignore_eos": True}
        ) as reply:
            return (await reply.json())["usage"]["completion_tokens"]

    async def run() -> int:
        timeout = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            return sum(await asyncio.gather(*(post(session, i, p) for i, p in enumerate(prompts))))

    start = cpu_s(server.pid)
    done = asyncio.run(run())
    return done / (cpu_s(server.pid) - start)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    worst = float("inf")
    with start_server() as server:
        loaded = load("embedded", getattr(torch, server.dtype))
        loaded.net.set_attn_implementation("sdpa")
        for name, few_shot in (("apart", False), ("toy", True)):
            prompts = questions(loaded, few_shot=few_shot)
            for _ in range(options.rounds if name == "apart" else 1):
                plain = generate(loaded, prompts, options.tokens)
                ours = serve(server, prompts, options.tokens)
                print(
                    f"{name}: server {ours:.0f}, generate {plain:.0f} tokens per CPU-second, "
                    f"ratio {ours / plain:.2f} ({server.dtype}, {options.tokens} tokens each)"
                )
                worst = min(worst, ours / plain) if name == "apart" else worst
    print(f"apart: worst ratio {worst:.2f}, at least {FLOOR} wanted")
    return 0 if worst >= FLOOR else 1


if __name__ == "__main__":
    raise SystemExit(main())
