"""How tests of each style are run: programs on streams, calls of a function, assertions."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from vtdata.sandbox import Limits, Outcome
from vtdata.verify.code.asserts import AssertRunner
from vtdata.verify.code.checker import Checker
from vtdata.verify.code.compare import same_text, same_value
from vtdata.verify.code.drivers import source_of
from vtdata.verify.code.exchange import answers_of, ask, is_answer, new_mark
from vtdata.verify.code.finding import Finding, Runner, Witness, failure
from vtdata.verify.code.hints import node_hints
from vtdata.verify.code.model import Call, Tests, Text
from vtdata.verify.code.wire import Malformed, pack, unpack

OUTPUT_ROOM = 1 << 20
"""Bytes that a program may print beside twice what is expected, before it is cut off (ours)."""
_SHOWN = 200


def runner_for(program: str, tests: Tests, sandbox: Witness, *, weak: bool) -> Runner:
    """Return how the tests are run on the program."""
    if tests.style == "assert":
        return AssertRunner(program, tests, sandbox, weak)
    return (CallRunner if tests.style == "call" else TextRunner)(program, tests, sandbox)


@dataclass(slots=True)
class TextRunner:
    """The program as it is, with a test's input on standard input."""

    program: str
    tests: Tests
    sandbox: Witness

    def size(self, number: int) -> int:
        test = self._test(number)
        return len(test.input) + 2 * len(test.output)

    def _test(self, number: int) -> Text:
        test = self.tests.tests[number]
        assert isinstance(test, Text)
        return test

    async def run(self, numbers: Sequence[int], limits: Limits) -> list[Finding]:
        tests = [self._test(number) for number in numbers]
        room = roomy(limits, max(len(test.output) for test in tests))
        source = source_of("files", program=self.program) if self.tests.files else self.program
        outcomes = await self.sandbox.run(source, [test.input for test in tests], room)
        findings = [self._found(t, o) for t, o in zip(tests, outcomes, strict=True)]
        if self.tests.checker is None:
            return findings
        checker = Checker(self.tests.checker, self.sandbox)
        return await checker.again(tests, outcomes, findings)

    def _found(self, test: Text, outcome: Outcome) -> Finding:
        if (failed := failure(outcome)) is not None:
            return failed
        if same_text(test.output, outcome.stdout, self.tests.order):
            return Finding("ok")
        expected, found = (text[:_SHOWN] for text in (test.output, outcome.stdout))
        return Finding("wrong_answer", f"expected {expected!r}, found {found!r}")


def roomy(limits: Limits, expected: int) -> Limits:
    """Limits under which a program may print what is expected, and not much more."""
    room = -(-(2 * expected + OUTPUT_ROOM) >> 20)
    return dataclasses.replace(limits, output_mib=max(1, min(limits.output_mib, room)))


@dataclass(slots=True)
class CallRunner:
    """A driver calls the function; arguments go in and the result comes out as data."""

    program: str
    tests: Tests
    sandbox: Witness
    _source: str = field(init=False)

    def __post_init__(self) -> None:
        hints = node_hints(self.tests.starter_code, self.tests.fn_name or "")
        given: dict[str, Any] = {"program": self.program}
        if hints is not None:
            given |= {"hints": hints[0], "returns": hints[1]}
        self._source = source_of("calls", **given)

    def size(self, number: int) -> int:
        return len(json.dumps([pack(arg) for arg in self._test(number).args]))

    def _test(self, number: int) -> Call:
        test = self.tests.tests[number]
        assert isinstance(test, Call)
        return test

    async def run(self, numbers: Sequence[int], limits: Limits) -> list[Finding]:
        tests = [self._test(number) for number in numbers]
        mark = new_mark()
        inputs = [
            ask(mark, [["name", self.tests.fn_name], ["call", 0, [pack(a) for a in test.args], {}]])
            for test in tests
        ]
        longest = max(len(json.dumps(pack(test.output))) for test in tests)
        outcomes = await self.sandbox.run(self._source, inputs, roomy(limits, longest))
        return [self._found(t, o, mark) for t, o in zip(tests, outcomes, strict=True)]

    def _found(self, test: Call, outcome: Outcome, mark: str) -> Finding:
        answers = answers_of(outcome, mark)
        if isinstance(answers, Finding):
            return answers
        if len(answers) != 2 or not all(map(is_answer, answers)):
            return Finding("runtime_error", "the program wrote over its result")
        kind, value = answers[1][0], answers[1][1]
        if kind == "raised":
            first = next(answer for answer in answers if answer[0] == "raised")
            return Finding("runtime_error", f"{first[1]}: {first[2]}")
        if kind != "data":
            return Finding("wrong_answer", f"the result is no data but a {value}")
        try:
            found = unpack(value)
        except (Malformed, RecursionError) as error:
            return Finding("wrong_answer", f"the result is no data: {error}")
        return self._compared(test.output, found)

    def _compared(self, expected: Any, found: Any) -> Finding:
        choices = [expected, expected[0]] if self.tests.wrapped else [expected]
        if any(same_value(one, found, self.tests.order) for one in choices):
            return Finding("ok")
        shown = f"expected {expected!r:.{_SHOWN}}, found {found!r:.{_SHOWN}}"
        return Finding("wrong_answer", shown)
