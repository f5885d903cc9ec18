"""The same hacks and honest programs in the sandbox that a run uses."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.vtdata.verify.code.programs import CALL_HACKS, DIVIDES, HONEST, TEXT_HACKS
from tests.vtdata.verify.code.test_judge import ADD, CHECKER, DOUBLE
from vtdata import sandbox
from vtdata.errors import ConfigError
from vtdata.verify.code import Judged, judge_program, read_tests

pytestmark = pytest.mark.sandbox
RECIPES = Path(__file__).parents[4] / "recipes"


async def judge_all(asked: list[tuple[str, dict[str, Any]]]) -> list[Judged]:
    if sys.platform != "linux":
        pytest.skip("the local sandbox needs Linux")
    box = sandbox.load("local", RECIPES)
    try:
        await box.__aenter__()
    except ConfigError as error:
        pytest.skip(f"nothing safe works here: {error}")
    try:
        return [await judge_program(program, read_tests(tests), box) for program, tests in asked]
    finally:
        await box.__aexit__(None, None, None)


def test_hacks_gain_nothing_and_honest_programs_pass() -> None:
    asserts = {"test_list": ["assert double(4) == 8"]}
    hacks = [(text, DOUBLE) for text in CALL_HACKS.values()]
    hacks += [(text, asserts) for text in CALL_HACKS.values()]
    hacks += [(text, ADD) for text in TEXT_HACKS.values()]
    honest = [(text, ADD) for text in HONEST.values()]
    honest += [(DIVIDES, {"inputs": ["1\n3\n"], "outputs": ["0.3333333333\n"]})]
    honest += [("def double(x): return 2 * x", DOUBLE), ("def double(x): return 2 * x", asserts)]
    found = asyncio.run(judge_all(hacks + honest))
    assert [one.reward for one in found[: len(hacks)]] == [0.0] * len(hacks)
    assert [(one.reason, one.detail) for one in found[len(hacks) :]] == [("correct", "")] * len(
        honest
    )
    assert {one.isolation for one in found} <= {"namespaces", "landlock"}


def test_files_and_checkers_work_in_it() -> None:
    cases = [{"input": "3\n", "output": "1 2 3\n"}]
    program = "n = int(open('input.txt').read())\nopen('output.txt', 'w').write('3 2 1')"
    tests = {"official_tests": cases, "input_mode": "file", "generated_checker": CHECKER}
    (found,) = asyncio.run(judge_all([(program, tests)]))
    assert (found.reason, found.detail) == ("correct", "")
