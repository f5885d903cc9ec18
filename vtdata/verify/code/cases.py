"""Programs with their tests, from a JSON Lines file, judged in their order.

A line is ``{"id", "program", "tests"}``. The tests are an object in any form that ``read_tests``
knows; its columns may also stand in the line itself, as ``{"id", "program", "inputs", "outputs",
"fn_name"}``. The program is bare code or a whole response; ``"form": "program"`` or ``"response"``
says which. ``"equal": true`` or ``false`` is the right verdict, for a measurement.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from vtdata.errors import ConfigError, DataError
from vtdata.sandbox import Sandbox
from vtdata.verify.code.formats import read_tests
from vtdata.verify.code.judge import judge_program
from vtdata.verify.code.model import Judged, Tests
from vtdata.verify.code.program import extract_program, parse
from vtdata.verify.rows import (
    Id,
    id_of,
    must_be_a_file,
    must_have,
    one_of,
    read_lines,
    row_of,
    text_of,
)
from vtdata.verify.spoken import has_marks

Form = Literal["program", "response"]
_EXAMPLE = '{"id": 1, "program": "print(input())", "inputs": ["5"], "outputs": ["5"]}'


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the file."""

    id: Id
    program: str
    tests: Tests
    form: Form | None = None
    equal: bool | None = None


async def judge_case(case: Case, sandbox: Sandbox, *, weak: bool = False) -> Judged:
    """Judge one case; a response without a program is the model's fault."""
    program: str | None = case.program
    if (case.form or form_of(case.program)) == "response":
        program = extract_program(case.program, case.tests.fn_name)
    if program is None:
        return Judged(0.0, "no_program", 0, len(case.tests.tests))
    return await judge_program(program, case.tests, sandbox, weak=weak)


def form_of(text: str) -> Form:
    r"""Decide whether a text is a bare program or a response with one in it.

    >>> form_of("print(1)"), form_of("Here:\n```python\nprint(1)\n```"), form_of("print(")
    ('program', 'response', 'program')
    """
    if parse(text) is not None:
        return "program"
    return "response" if "```" in text or "~~~" in text or has_marks(text) else "program"


def read_code_cases(path: Path) -> Iterator[Case]:
    """Yield the cases of a file; blank lines are none.

    Raises:
        ConfigError: the file isn't there, or a line is malformed; it says which and why.
    """
    for number, line in read_lines(path, _EXAMPLE):
        yield _case(line, f"{path}:{number}")


def count_code_cases(path: Path) -> int:
    """Read a whole file and say how many cases it has, so that no work starts on a bad one.

    Raises:
        ConfigError: see ``read_code_cases``; or it is a pipe, which can't be read twice.
    """
    must_be_a_file(path)
    return sum(1 for _ in read_code_cases(path))


def _case(line: bytes, where: str) -> Case:
    row = row_of(line, where, _EXAMPLE)
    must_have(row, ("id", "program"), where, _EXAMPLE)
    program = text_of(row["program"], "program", where)
    form = one_of(row.get("form"), "form", ("program", "response", None), where)
    equal = one_of(row.get("equal"), "equal", (True, False, None), where)
    given = row.get("tests")
    try:
        tests = read_tests(given if isinstance(given, dict) else row)
    except DataError as error:
        raise ConfigError(f"{where}: {error.detail}") from error
    return Case(id_of(row["id"], where), program, tests, form, equal)
