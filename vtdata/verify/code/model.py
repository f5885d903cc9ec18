"""What tests of a program are, and what judging a program by them gives; plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from vtdata.sandbox import Limits

Style = Literal["stdin", "call", "assert"]
Order = Literal["kept", "any"]
TestVerdict = Literal[
    "ok",
    "wrong_answer",
    "runtime_error",
    "time_limit",
    "memory_limit",
    "output_limit",
    "sandbox_error",
    "checker_error",
    "bad_tests",
    "weak_evidence",
]
"""What became of one test. The last four are not the program's doing."""

NOT_THE_PROGRAMS = frozenset({"sandbox_error", "checker_error", "bad_tests", "weak_evidence"})

CPU_S = 6.0
"""CPU seconds for a test whose source gives no limit (LiveCodeBench's runner: 6 s per case, there
by the wall clock)."""
MEMORY_MIB = 1024
"""Memory for a test whose source gives no limit (ours)."""
MIN_MEMORY_MIB = 256
"""Least memory that is given, whatever a source says: limits of contests are for C++, and the
interpreter itself takes some (ours)."""


@dataclass(frozen=True, slots=True)
class Text:
    """A test of a whole program: what it reads, and what it must print."""

    input: bytes
    output: bytes


@dataclass(frozen=True, slots=True)
class Call:
    """A test of a function: its arguments, and what it must return."""

    args: tuple[Any, ...]
    output: Any


@dataclass(frozen=True, slots=True)
class Asserts:
    """A test that is code itself: a piece of Python with ``assert`` in it."""

    code: str


Test = Text | Call | Asserts


@dataclass(frozen=True, slots=True)
class Tests:
    """The tests of one problem, in one of three styles.

    ``stdin`` tests are ``Text``, ``call`` tests are ``Call``, ``assert`` tests are ``Asserts``.
    """

    __test__: ClassVar[bool] = False  # pytest would take the name for its own

    style: Style
    tests: tuple[Test, ...]
    fn_name: str | None = None
    """The function that is called, or a method of a class ``Solution``."""
    starter_code: str = ""
    """Code that the answer goes on from: it says which types of LeetCode's are arguments."""
    imports: bool = False
    """Whether solutions may use what LiveCodeBench's runner imports for them."""
    order: Order = "kept"
    """``any`` where the order of lines, or of a returned list, means nothing."""
    wrapped: bool = False
    """Whether every expected result is a list of one, which then may stand for what is in it."""
    checker: str | None = None
    """A program that decides where several outputs are right."""
    files: bool = False
    """Whether the program reads ``input.txt`` and writes ``output.txt``."""
    cpu_s: float = CPU_S
    memory_mib: int = MEMORY_MIB
    accepted: tuple[str, ...] = field(default=(), repr=False)
    """Programs that are known to be right."""
    rejected: tuple[str, ...] = field(default=(), repr=False)
    """Programs that are known to be wrong."""

    def limits(self) -> Limits:
        """What one test may use; the wall clock is only for programs that sleep.

        >>> Tests("stdin", (), cpu_s=2.0).limits().wall_s
        10.0
        """
        return Limits(
            cpu_s=self.cpu_s,
            wall_s=max(5 * self.cpu_s, self.cpu_s + 2),
            memory_mib=max(self.memory_mib, MIN_MEMORY_MIB),
        )


@dataclass(frozen=True, slots=True)
class Judged:
    """What judging one program by its tests gave."""

    reward: float | None
    reason: str
    """correct, the first verdict that decided, or why nobody could judge."""
    passed: int
    total: int
    verdicts: tuple[TestVerdict, ...] = ()
    """One per test that was run, in their order; the first failure ends it."""
    isolation: str | None = None
    """How the program was kept apart; None where nothing ran."""
    ms: float = 0.0
    detail: str = ""
    """What a person reads: the first test that did not pass, what broke."""

    def row(self) -> dict[str, Any]:
        """The result as plain data."""
        return {
            "reward": self.reward,
            "reason": self.reason,
            "passed": self.passed,
            "total": self.total,
            "verdicts": list(self.verdicts),
            "isolation": self.isolation,
            "ms": round(self.ms, 3),
        }
