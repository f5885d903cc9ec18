"""What became of one test, and what the runners of all styles share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from vtdata.sandbox import Limits, Outcome, Sandbox
from vtdata.verify.code.model import TestVerdict


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of one test."""

    verdict: TestVerdict
    detail: str = ""


class Runner(Protocol):
    """How tests of one style are run on one program."""

    async def run(self, numbers: Sequence[int], limits: Limits) -> list[Finding]:
        """Run the tests of these numbers, in one batch if it can."""
        ...

    def size(self, number: int) -> int:
        """Bytes that a test moves."""
        ...


@dataclass(slots=True)
class Witness:
    """A sandbox that remembers how it kept programs apart."""

    sandbox: Sandbox
    isolation: str | None = None

    async def run(self, source: str, inputs: Sequence[bytes], limits: Limits) -> list[Outcome]:
        outcomes = await self.sandbox.run(source, inputs, limits)
        for outcome in outcomes:
            self.isolation = outcome.isolation
        return outcomes


def failure(outcome: Outcome) -> Finding | None:
    """What a run that did not end well is; None for one that did."""
    if outcome.state == "ok":
        return None
    detail = outcome.detail or outcome.stderr[-400:].decode("utf-8", "replace")
    return Finding(outcome.state, detail)
