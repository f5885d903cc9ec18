"""Programs with their tests, from a JSON Lines file, judged in their order.

A line is ``{"id", "program", "tests"}``. The tests are an object in any form that ``read_tests``
knows; its columns may also stand in the line itself, as ``{"id", "program", "inputs", "outputs",
"fn_name"}``. The program is bare code or a whole response; ``"form": "program"`` or ``"response"``
says which. ``"equal": true`` or ``false`` is the right verdict, for a measurement.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from vtdata.errors import ConfigError, DataError
from vtdata.sandbox import Sandbox
from vtdata.verify.code.formats import read_tests
from vtdata.verify.code.judge import judge_program
from vtdata.verify.code.model import Judged, Tests
from vtdata.verify.code.program import extract_program, parse
from vtdata.verify.spoken import has_marks

Form = Literal["program", "response"]
Id = str | int | float | bool | None
_EXAMPLE = '{"id": 1, "program": "print(input())", "inputs": ["5"], "outputs": ["5"]}'
_SHOWN = 60


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
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _case(line, f"{path}:{number}")
    except OSError as error:
        raise ConfigError(
            f"{path} can't be read ({error.strerror or error}): give a JSON Lines file with lines "
            f"such as {_EXAMPLE}"
        ) from error


def count_code_cases(path: Path) -> int:
    """Read a whole file and say how many cases it has, so that no work starts on a bad one.

    Raises:
        ConfigError: see ``read_code_cases``; or it is a pipe, which can't be read twice.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ConfigError(f"{path} is a pipe or device, and cases are read twice: give a file")
    return sum(1 for _ in read_code_cases(path))


def _case(line: bytes, where: str) -> Case:
    row = _row(line, where)
    for name in ("id", "program"):
        if name not in row:
            there = _shown(", ".join(row))
            raise ConfigError(f"{where}: no '{name}' among {there}: write {_EXAMPLE}")
    if isinstance(row["id"], (dict, list)):
        raise ConfigError(f"{where}: 'id' is {_shown(row['id'])}: write a text or a number")
    if not isinstance(row["program"], str):
        raise ConfigError(f"{where}: 'program' is {_shown(row['program'])}: write a text")
    form, equal = row.get("form"), row.get("equal")
    if form not in ("program", "response", None):
        raise ConfigError(f"{where}: 'form' is {_shown(form)}: write program or response")
    if equal is not None and not isinstance(equal, bool):
        raise ConfigError(f"{where}: 'equal' is {_shown(equal)}: write true or false")
    given = row.get("tests")
    try:
        tests = read_tests(given if isinstance(given, dict) else row)
    except DataError as error:
        raise ConfigError(f"{where}: {error.detail}") from error
    return Case(row["id"], row["program"], tests, form, equal)


def _row(line: bytes, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{where}: {error.reason} at byte {error.start}: write UTF-8") from error
    except (ValueError, RecursionError) as error:
        shown = _shown(line.decode(errors="replace").strip())
        raise ConfigError(f"{where}: no JSON ({error}) in {shown}: write {_EXAMPLE}") from error
    if not isinstance(row, dict):
        raise ConfigError(f"{where}: {_shown(row)} is no object: write {_EXAMPLE}")
    return row


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
