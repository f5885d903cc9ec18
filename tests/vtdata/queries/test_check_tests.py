"""``check_tests``: the gold check of code queries."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.factories import query
from tests.vtdata.verify.code.plain_sandbox import PlainSandbox
from vtdata.queries.check_tests import CheckTests
from vtdata.records import Query, Verifier
from vtdata.steps import Context

TESTS = {"inputs": [[1], [4], [-2]], "outputs": [2, 5, -1], "fn_name": "f"}
RIGHT = "def f(x):\n    return x + 1"


def checked(spec: dict[str, Any], **settings: Any) -> Query:
    asked = query(question="Write f.", verifier=Verifier("code", json.dumps(spec)), answer=None)

    async def go() -> Query:
        ctx = Context(seed=1, sandbox=PlainSandbox())
        (found,) = await CheckTests(**settings).process(asked, ctx)
        return found

    return asyncio.run(go())


@pytest.mark.parametrize(
    ("more", "settings", "state", "killed", "dropped"),
    [
        ({"accepted": [RIGHT]}, {}, "good", 1.0, None),
        ({"accepted": [RIGHT], "rejected": [RIGHT]}, {"min_killed": 0.75}, "good", 0.75, None),
        ({"accepted": [RIGHT], "rejected": [RIGHT]}, {}, "weak_tests", 0.75, "weak_tests"),
        ({"accepted": ["def f(x): return x"]}, {}, "bad_reference", None, "bad_reference"),
        ({}, {}, "unverified", None, None),
        ({}, {"unverified": "drop"}, "unverified", None, "unverified"),
    ],
)
def test_tests_are_good_weak_or_unverified(
    more: dict[str, Any],
    settings: dict[str, Any],
    state: str,
    killed: float | None,
    dropped: str | None,
) -> None:
    found = checked({**TESTS, **more}, **settings)
    assert found.extra == {"tests_state": state, "tests_killed": killed}
    assert found.drop_reason == dropped
    if dropped == "weak_tests":
        assert found.drop_detail == "0.75 of wrong programs fail"


def test_other_queries_pass_untouched() -> None:
    asked = query()
    (found,) = asyncio.run(CheckTests().process(asked, Context(seed=1)))
    assert (found.live, found.extra["tests_state"]) == (True, None)
