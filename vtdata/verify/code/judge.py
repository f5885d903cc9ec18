"""Judge a program by its tests: it runs in a sandbox, and what it gave is compared outside.

Nothing that the program could look for, count or change decides about it: expected outputs, the
comparison and the verdict are in this process, and what comes back is bytes. A program that prints
our marks, walks our frames or makes objects that are equal to everything only sends another answer.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Iterator, Sequence

from vtdata.sandbox import Limits, Sandbox
from vtdata.verify.code.finding import Finding, Runner, Witness
from vtdata.verify.code.model import NOT_THE_PROGRAMS, Judged, Tests
from vtdata.verify.code.program import whole
from vtdata.verify.code.runners import runner_for

FIRST_BATCH, GROWTH, LARGEST_BATCH = 4, 4, 64
"""Tests that go to the sandbox at once: few at first, as most wrong programs fail early (ours)."""
BATCH_BYTES = 64 << 20
"""Most bytes of inputs and expected outputs in a batch (ours)."""


async def judge_program(
    program: str,
    tests: Tests,
    sandbox: Sandbox,
    *,
    limits: Limits | None = None,
    all_tests: bool = False,
    weak: bool = False,
) -> Judged:
    """Run a program against its tests.

    Args:
        program: its text; ``extract_program`` takes it from a response.
        tests: its tests.
        sandbox: where it runs, entered already.
        limits: what one test may use; None takes the tests' own.
        all_tests: go on behind the first failure.
        weak: whether a test that can only be run beside the program, where the program could
            report for it, counts; without it such a test is ``weak_evidence`` and unscored.

    Returns:
        Judged: 1.0 ``correct`` where every test passed; 0.0 with the first verdict that is the
        program's fault; None where none is, but a sandbox, a checker or the tests themselves left
        something open.
    """
    began = time.perf_counter()
    if not program.isascii() and program != program.encode(errors="ignore").decode():
        detail = "the program has half a surrogate pair in it"
        return Judged(0.0, "runtime_error", 0, len(tests.tests), detail=detail)
    witness = Witness(sandbox)
    runner = runner_for(whole(program, tests), tests, witness, weak=weak)
    given = limits or tests.limits()
    findings: list[Finding] = []
    for batch in batches(range(len(tests.tests)), runner):
        findings += await runner.run(batch, given)
        if any(found.verdict != "ok" for found in findings) and not all_tests:
            break
    if not all_tests:
        findings = list(_to_first_failure(findings))
    judged = closed(findings, len(tests.tests))
    took = (time.perf_counter() - began) * 1_000
    return dataclasses.replace(judged, isolation=witness.isolation, ms=took)


def _to_first_failure(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Findings up to the first that is the program's fault."""
    for found in findings:
        yield found
        if found.verdict != "ok" and found.verdict not in NOT_THE_PROGRAMS:
            return


def batches(numbers: Sequence[int], runner: Runner) -> Iterator[list[int]]:
    """Cut tests into batches that grow, and are not too large."""
    size, batch, weight = FIRST_BATCH, [], 0
    for number in numbers:
        weight += runner.size(number)
        if batch and (len(batch) >= size or weight > BATCH_BYTES):
            yield batch
            size, batch, weight = min(size * GROWTH, LARGEST_BATCH), [], runner.size(number)
        batch.append(number)
    if batch:
        yield batch


def closed(findings: Sequence[Finding], total: int) -> Judged:
    """Return what the verdicts on single tests mean for the program.

    >>> closed([Finding("ok"), Finding("sandbox_error"), Finding("wrong_answer")], 3).reward
    0.0
    >>> closed([Finding("ok"), Finding("sandbox_error")], 3).reward is None
    True
    """
    verdicts = tuple(found.verdict for found in findings)
    passed = verdicts.count("ok")
    failed = [found for found in findings if found.verdict != "ok"]
    faults = [found for found in failed if found.verdict not in NOT_THE_PROGRAMS]
    if faults:
        first = faults[0]
        return Judged(0.0, first.verdict, passed, total, verdicts, detail=first.detail)
    if failed:
        first = failed[0]
        return Judged(None, first.verdict, passed, total, verdicts, detail=first.detail)
    if not total:
        return Judged(None, "bad_tests", 0, 0, detail="there is no test")
    return Judged(1.0, "correct", passed, total, verdicts)
