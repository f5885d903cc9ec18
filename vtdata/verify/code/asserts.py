"""Tests that are code: run without the program, which answers their calls from another sandbox.

A test runs alone, in a sandbox of its own, with stand-ins for what the program defines. That gives
the calls it makes; the program makes them in its sandbox; with the answers the test runs again and
its assertions decide. Where calls hang on answers, there are more rounds. So the expected values,
written out or computed, never meet the program, and every form of assertion works.

A test that gives the program what is no data, a function say, can't be asked so. It is run beside
the program if ``weak`` allows it, which the test alone decides and never what a program answers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from vtdata.sandbox import Limits, Outcome
from vtdata.verify.code.drivers import source_of
from vtdata.verify.code.exchange import answers_of, ask, is_answer, new_mark
from vtdata.verify.code.finding import Finding, Witness, failure
from vtdata.verify.code.model import Asserts, Tests

MAX_ROUNDS = 16
"""Rounds of questions to the program, for calls that hang on answers (ours)."""
_KEPT = 1_024
"""Tests whose first calls are remembered: they are the same for every program (ours)."""
_first: OrderedDict[str, list[Any]] = OrderedDict()


@dataclass(slots=True)
class _State:
    """How far one test is."""

    code: str
    calls: list[Any] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)
    finding: Finding | None = None
    unsendable: bool = False

    @property
    def open(self) -> bool:
        return self.finding is None and not self.unsendable


@dataclass(slots=True)
class AssertRunner:
    """Runs the tests in one sandbox and the program in another, in turns."""

    program: str
    tests: Tests
    sandbox: Witness
    weak: bool

    def size(self, number: int) -> int:
        return len(self._code(number))

    def _code(self, number: int) -> str:
        test = self.tests.tests[number]
        assert isinstance(test, Asserts)
        return test.code

    async def run(self, numbers: Sequence[int], limits: Limits) -> list[Finding]:
        states = [_State(self._code(number)) for number in numbers]
        await self._plan(states, limits)
        for _ in range(MAX_ROUNDS):
            waiting = [state for state in states if state.open]
            if not waiting:
                break
            await self._ask_program(waiting, limits)
            answered = [state for state in waiting if state.open]
            for state, said in zip(answered, await self._ask(answered, limits), strict=True):
                _hear(state, said)
        for state in states:
            if state.unsendable:
                state.finding = await self._beside(state.code, limits)
        late = Finding("bad_tests", f"the test's calls were not settled in {MAX_ROUNDS} rounds")
        return [state.finding or late for state in states]

    async def _plan(self, states: list[_State], limits: Limits) -> None:
        """Find out which calls the tests make; no program has a say in it."""
        fresh = [state for state in states if state.code not in _first]
        for state, said in zip(fresh, await self._ask(fresh, limits), strict=True):
            _hear_first(state, said)
        for state in states:
            state.calls = _first.get(state.code, state.calls)
        while len(_first) > _KEPT:
            _first.popitem(last=False)

    async def _ask(self, states: list[_State], limits: Limits) -> list[list[Any] | Finding]:
        """Let the tests go as far as the answers reach."""
        if not states:
            return []
        mark = new_mark()
        inputs = [ask(mark, s.calls, answers=s.answers, code=s.code) for s in states]
        outcomes = await self.sandbox.run(source_of("oracle"), inputs, limits)
        return [answers_of(outcome, mark) for outcome in outcomes]

    async def _ask_program(self, states: list[_State], limits: Limits) -> None:
        mark = new_mark()
        source = source_of("calls", program=self.program)
        inputs = [ask(mark, state.calls) for state in states]
        outcomes = await self.sandbox.run(source, inputs, limits)
        for state, outcome in zip(states, outcomes, strict=True):
            answers = answers_of(outcome, mark)
            if isinstance(answers, Finding):
                state.finding = answers
            elif len(answers) == len(state.calls) and all(map(is_answer, answers)):
                state.answers = answers
            else:
                state.finding = Finding("runtime_error", "the program wrote over its results")

    async def _beside(self, code: str, limits: Limits) -> Finding:
        if not self.weak:
            return Finding("weak_evidence", "the test gives the program what is no data")
        mark = new_mark()
        source = source_of("weak", program=self.program, code=code)
        (outcome,) = await self.sandbox.run(source, [mark.encode()], limits)
        return _beside(outcome, mark)


def _hear_first(state: _State, said: list[Any] | Finding) -> None:
    """Take the calls that a test makes; that it fails by itself is not the program's doing."""
    if isinstance(said, Finding):
        verdict = "sandbox_error" if said.verdict == "sandbox_error" else "bad_tests"
        state.finding = Finding(verdict, f"the test alone: {said.verdict} {said.detail}")
    elif said[0] == "more":
        _first[state.code] = said[1]
    elif said[0] == "unsendable":
        state.unsendable = True
    else:
        why = said[1] if len(said) > 1 else "it asserts nothing about the program"
        state.finding = Finding("bad_tests", why)


def _hear(state: _State, said: list[Any] | Finding) -> None:
    """Take what a test came to with the program's answers."""
    if isinstance(said, Finding):
        ours = said.verdict == "sandbox_error"
        why = f"with these answers the test ends as {said.verdict}"
        state.finding = said if ours else Finding("wrong_answer", why)
    elif said[0] == "more":
        state.calls = said[1]
    elif said[0] == "passed":
        state.finding = Finding("ok")
    elif said[0] == "failed":
        state.finding = Finding("wrong_answer", said[1])
    else:
        state.finding = Finding("bad_tests", said[1])


def _beside(outcome: Outcome, mark: str) -> Finding:
    if (failed := failure(outcome)) is not None:
        wrong = failed.verdict == "runtime_error" and "AssertionError" in failed.detail
        return Finding("wrong_answer", failed.detail) if wrong else failed
    if mark.encode() in outcome.stdout:
        return Finding("ok", "weak evidence")
    return Finding("runtime_error", "the program ended before its test")
