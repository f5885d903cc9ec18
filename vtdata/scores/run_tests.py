"""A verdict per rollout of a code query: its program runs against the query's tests."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Annotated, ClassVar

import pyarrow as pa
from pydantic import Field

from vtdata.records import Query, Rollout, Verdict
from vtdata.sandbox import Sandbox
from vtdata.scores.rates import CUT_OFF, record
from vtdata.steps import Async, Context, step
from vtdata.verify.code import Judged, Tests, extract_program, judge_program, read_spec

KIND = "code"
RUNS = pa.schema(
    [
        ("query_id", pa.string()),
        ("set", pa.string()),
        ("sample_idx", pa.int32()),
        ("reward", pa.float64()),
        ("reason", pa.string()),
        ("passed", pa.int32()),
        ("total", pa.int32()),
        ("isolation", pa.string()),
        ("detail", pa.string()),
    ]
)
MAX_CHARS = 500
"""Longer details are cut in the table (ours)."""


@step
class RunTests(Async):
    """Run the program of every live rollout of a code query against the query's tests.

    The spec of a query of kind ``code`` holds its tests, in any form of
    ``vtdata.verify.code.read_tests``. The program is taken from the response by the rules of
    ``extract_program``; equal programs of a query run once. Programs run in the recipe's
    ``sandbox``, and what they print or return is compared outside of it.

    Queries of other kinds pass untouched: ``verify`` judges them, and leaves these alone.

    Reads the rollouts of the set ``of`` and the verifier's spec. Writes their ``verdict``: 1.0
    ``correct``; 0.0 ``no_program``, ``empty`` or what the first failing test came to
    (``wrong_answer``, ``runtime_error``, ``time_limit``, ``memory_limit``, ``output_limit``); None
    where nobody could judge (``sandbox_error``, ``checker_error``, ``bad_tests``,
    ``weak_evidence``, or the state of a response that never came to its end); ``isolation``, how
    the programs were kept apart; the set's pass rate and the summaries. Logs the table
    ``programs``. Notes rollouts by outcome, and ``equal_programs``. Holds one query in memory.

    Drops queries: ``no_rollouts`` (the set has none), ``bad_tests`` (they can't be read).

    Raises:
        ConfigError: the recipe names no sandbox, or nothing safe works on this machine.

    Source: "sandbox execution" of 3B p.4, which doesn't say how; the protocol is ours.
    """

    of: str | None = None
    """The rollout set; None where there is only one."""
    weak: bool = False
    """Whether tests count that can only run beside the program, which could report for them."""
    max_programs: Annotated[int, Field(ge=1)] = 4
    """Programs of one query that run at the same time (ours)."""

    needs = ("rollouts",)
    gives = ("verdicts",)
    wants_sandbox = True
    writes: ClassVar[dict[str, pa.DataType]] = {"isolation": pa.string()}
    reasons = ("no_rollouts", "bad_tests")
    tables: ClassVar[dict[str, pa.Schema]] = {"programs": RUNS}

    async def process(self, query: Query, ctx: Context) -> list[Query]:
        query.extra.setdefault("isolation", None)
        if query.verifier.kind != KIND:
            return [query]
        assert ctx.sandbox is not None
        query.extra["isolation"] = ctx.sandbox.isolation
        name = query.only_set(self.of)
        tests = read_spec(query.verifier.spec)
        programs: dict[str, list[Rollout]] = {}
        for rollout in query.rollouts_of(name):
            rollout.verdict, program = _before(rollout, tests)
            if program is not None:
                programs.setdefault(program, []).append(rollout)
        gate = asyncio.Semaphore(self.max_programs)
        judged = await asyncio.gather(
            *(self._judge(program, tests, ctx.sandbox, gate) for program in programs)
        )
        for found, (program, rollouts) in zip(judged, programs.items(), strict=True):
            for rollout in rollouts:
                rollout.verdict = Verdict(found.reward, found.reason, KIND, program)
                ctx.log("programs", {"query_id": query.id, **_row(rollout, found)})
            query.extra["isolation"] = found.isolation or query.extra["isolation"]
        self._note(query, name, ctx, programs)
        return [query]

    async def _judge(
        self, program: str, tests: Tests, sandbox: Sandbox, gate: asyncio.Semaphore
    ) -> Judged:
        async with gate:
            return await judge_program(program, tests, sandbox, weak=self.weak)

    def _note(
        self, query: Query, name: str, ctx: Context, programs: dict[str, list[Rollout]]
    ) -> None:
        rate = record(query, name)
        counts = Counter({c: getattr(rate, c) for c in ("correct", "wrong", "truncated")})
        counts["unscored"] = rate.unscored
        counts["equal_programs"] = sum(len(rollouts) - 1 for rollouts in programs.values())
        for count, number in counts.items():
            if number:
                ctx.note(count, number)


def _before(rollout: Rollout, tests: Tests) -> tuple[Verdict | None, str | None]:
    """The verdict of a rollout without a program, or its program."""
    if rollout.state in CUT_OFF or rollout.state in ("refused", "failed"):
        return Verdict(None, rollout.state, KIND), None
    if rollout.state == "empty" or not (rollout.content or "").strip():
        return Verdict(0.0, "empty", KIND), None
    if rollout.state != "ok":
        return Verdict(None, "unknown_state", KIND), None
    program = extract_program(rollout.content or "", tests.fn_name)
    return (None, program) if program is not None else (Verdict(0.0, "no_program", KIND), None)


def _row(rollout: Rollout, found: Judged) -> dict[str, str | int | float | None]:
    return {
        "set": rollout.set,
        "sample_idx": rollout.sample_idx,
        "reward": found.reward,
        "reason": found.reason,
        "passed": found.passed,
        "total": found.total,
        "isolation": found.isolation,
        "detail": found.detail[:MAX_CHARS].encode(errors="replace").decode(),
    }
