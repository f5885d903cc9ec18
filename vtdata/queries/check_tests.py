"""Reject code queries whose tests can't be relied on."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import pyarrow as pa
from pydantic import Field

from vtdata.records import Query
from vtdata.steps import Async, Context, step
from vtdata.verify.code import read_spec
from vtdata.verify.code.quality import score_tests


@step
class CheckTests(Async):
    """Reject code queries whose tests refuse a right program, or pass too many wrong ones.

    This is the gold check of code: a right program of the source (``accepted`` in the spec, or
    CodeContests' ``solutions``) must pass. Then the source's wrong programs (``rejected``,
    ``incorrect_solutions``) and mutants of the right one should fail. Where no right program is
    known, or no sandbox could judge one, the tests are ``unverified``, which is written down.

    Reads the verifier's spec; queries of other kinds pass untouched. Writes ``tests_state`` (good,
    unverified, no_wrong_programs) and ``tests_killed`` (share of wrong programs that fail, in
    [0, 1]; null where there were none). Notes queries by state. Holds one query in memory.

    Drops: ``bad_tests`` (they can't be read), ``bad_reference`` (a right program fails),
    ``weak_tests``, and with ``unverified: drop`` also ``unverified``.

    Raises:
        ConfigError: the recipe names no sandbox, or nothing safe works on this machine.

    Source: ours; CodeContests gives wrong programs for this end.
    """

    min_killed: Annotated[float, Field(ge=0, le=1)] = 0.8
    """Smallest share of wrong programs that must fail, in [0, 1] (ours); mutants that do what the
    right program does can't fail, so good tests may stay below 1."""
    max_mutants: Annotated[int, Field(ge=0)] = 20
    """Most mutants that are tried for one query (ours)."""
    unverified: Literal["keep", "drop"] = "keep"
    """What becomes of queries without a right program (ours)."""
    weak: bool = False
    """Whether tests count that can only run beside the program, which could report for them."""

    wants_sandbox = True
    writes: ClassVar[dict[str, pa.DataType]] = {
        "tests_state": pa.string(),
        "tests_killed": pa.float64(),
    }
    reasons = ("bad_tests", "bad_reference", "weak_tests", "unverified")

    async def process(self, query: Query, ctx: Context) -> list[Query]:
        query.extra |= {"tests_state": None, "tests_killed": None}
        if query.verifier.kind != "code":
            return [query]
        assert ctx.sandbox is not None
        tests = read_spec(query.verifier.spec)
        score = await score_tests(
            tests,
            tests.accepted,
            tests.rejected,
            ctx.sandbox,
            min_killed=self.min_killed,
            max_mutants=self.max_mutants,
            weak=self.weak,
        )
        query.extra |= {"tests_state": score.reason, "tests_killed": score.killed}
        ctx.note(score.reason, 1)
        if score.reason in ("bad_reference", "weak_tests") or (
            score.reason == "unverified" and self.unverified == "drop"
        ):
            killed = "" if score.killed is None else f"{score.killed:.2f} of wrong programs fail"
            query.drop("check_tests", score.reason, score.detail or killed)
        return [query]
