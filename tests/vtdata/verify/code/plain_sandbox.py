"""A sandbox that keeps nothing apart: real processes, for our own harmless programs only."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from vtdata.sandbox import Limits, Outcome

AT_ONCE = 2


class PlainSandbox:
    """Honours the contract of a sandbox but for its isolation, which it says is none."""

    isolation = "none"

    def __init__(self) -> None:
        self.sources: list[str] = []
        self.runs = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None

    async def run(self, source: str, inputs: Sequence[bytes], limits: Limits) -> list[Outcome]:
        self.sources.append(source)
        self.runs += len(inputs)
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(data: bytes) -> Outcome:
            async with gate:
                return await asyncio.to_thread(_run, source, data, limits)

        return list(await asyncio.gather(*map(one, inputs)))


def _run(source: str, data: bytes, limits: Limits) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "main.py")
        path.write_text(source, encoding="utf-8", errors="surrogatepass")
        began = time.monotonic()
        try:
            done = subprocess.run(
                [sys.executable, "-I", path],
                input=data,
                capture_output=True,
                timeout=limits.cpu_s,
                cwd=folder,
                check=False,
            )
        except subprocess.TimeoutExpired:
            took = time.monotonic() - began
            return Outcome("time_limit", b"", b"", None, took, took, "none")
        took = time.monotonic() - began
        state = "ok" if done.returncode == 0 else "runtime_error"
        if b"MemoryError" in done.stderr:
            state = "memory_limit"
        if len(done.stdout) > limits.output_mib << 20:
            state = "output_limit"
        return Outcome(state, done.stdout, done.stderr, done.returncode, took, took, "none")
