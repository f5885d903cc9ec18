"""How good tests are: whether they take right programs and how many wrong ones they find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vtdata.sandbox import Limits, Sandbox
from vtdata.verify.code.judge import judge_program
from vtdata.verify.code.model import Judged, Tests
from vtdata.verify.code.mutants import mutants

MIN_KILLED = 0.8
"""Least share of wrong programs that tests must find (ours): some mutants do what the program does,
so that good tests don't reach 1."""
MAX_MUTANTS = 20
"""Most mutants that are tried (ours)."""


@dataclass(frozen=True, slots=True)
class TestScore:
    """What tests are worth."""

    __test__ = False

    reason: str
    """``good``, ``weak_tests``, ``bad_reference`` (a right program fails), ``unverified`` (no right
    program is known, or nobody could judge one) or ``no_wrong_programs``."""
    accepted: int = 0
    """Right programs that pass."""
    known: int = 0
    """Wrong programs that somebody sent in, and were judged."""
    known_killed: int = 0
    mutants: int = 0
    """Mutants that were judged."""
    mutants_killed: int = 0
    detail: str = ""

    @property
    def killed(self) -> float | None:
        """Share of wrong programs that fail; None where there are none."""
        tried = self.known + self.mutants
        return (self.known_killed + self.mutants_killed) / tried if tried else None


async def score_tests(
    tests: Tests,
    accepted: Sequence[str],
    rejected: Sequence[str],
    sandbox: Sandbox,
    *,
    min_killed: float = MIN_KILLED,
    max_mutants: int = MAX_MUTANTS,
    weak: bool = False,
) -> TestScore:
    """Score tests by programs that are known to be right and wrong.

    Every right program must pass: else the tests, or it, are wrong, ``bad_reference``. Then the
    wrong programs, and mutants of the first right one, should fail.

    Args:
        tests: the tests.
        accepted: programs that are known to be right.
        rejected: programs that are known to be wrong.
        sandbox: where they run, entered already.
        min_killed: share of wrong programs, in [0, 1], below which tests are weak.
        max_mutants: most mutants.
        weak: see ``judge_program``.

    A program that nobody could judge counts for nothing. Mutants that do the same as the program
    can't be told from those that the tests miss.
    """
    if not accepted:
        return TestScore("unverified", detail="no right program is known")
    for number, program in enumerate(accepted):
        judged = await judge_program(program, tests, sandbox, weak=weak)
        if judged.reward != 1.0:
            reason = "unverified" if judged.reward is None else "bad_reference"
            detail = f"right program {number}: {judged.reason} {judged.detail}".rstrip()
            return TestScore(reason, accepted=number, detail=detail)
    limits = _shorter(tests)
    known = await _kills(rejected, tests, sandbox, tests.limits(), weak=weak)
    made = mutants(accepted[0], max_mutants)
    tried = await _kills(made, tests, sandbox, limits, weak=weak)
    score = TestScore("", len(accepted), len(known), sum(known), len(tried), sum(tried))
    return TestScore(_reason(score, min_killed), *(getattr(score, name) for name in _COUNTS))


_COUNTS = ("accepted", "known", "known_killed", "mutants", "mutants_killed")


def _reason(score: TestScore, min_killed: float) -> str:
    if score.killed is None:
        return "no_wrong_programs"
    return "good" if score.killed >= min_killed else "weak_tests"


def _shorter(tests: Tests) -> Limits:
    """A mutant that goes on for ever is found out sooner."""
    return Tests(tests.style, (), cpu_s=min(tests.cpu_s, 2.0), memory_mib=tests.memory_mib).limits()


async def _kills(
    programs: Sequence[str], tests: Tests, sandbox: Sandbox, limits: Limits, *, weak: bool
) -> list[bool]:
    found: list[Judged] = [
        await judge_program(program, tests, sandbox, limits=limits, weak=weak)
        for program in programs
    ]
    return [judged.reward == 0.0 for judged in found if judged.reward is not None]
