"""What goes to a driver, and what comes back from it between two marks."""

from __future__ import annotations

import json
import secrets
from typing import Any

from vtdata.sandbox import Outcome
from vtdata.verify.code.finding import Finding, failure


def new_mark() -> str:
    """A text that nobody prints by chance."""
    return secrets.token_hex(16)


def ask(mark: str, calls: list[Any], **more: Any) -> bytes:
    """The input of a driver."""
    return json.dumps({"mark": mark, "calls": calls, **more}).encode()


def answers_of(outcome: Outcome, mark: str) -> list[Any] | Finding:
    """What a driver sent between its marks; a finding where there is nothing."""
    if (failed := failure(outcome)) is not None:
        return failed
    parts = outcome.stdout.split(mark.encode())
    if len(parts) < 3:
        return Finding("runtime_error", "the program ended without a result")
    try:
        found = json.loads(parts[-2])
    except (ValueError, RecursionError) as error:
        return Finding("runtime_error", f"the program wrote over its result: {error}")
    well_made = isinstance(found, list) and bool(found)
    return found if well_made else Finding("runtime_error", "the program wrote over its result")


def is_answer(answer: Any) -> bool:
    """Whether something has the form of an answer to a call; a program may send anything."""
    shapes = {"data": 3, "object": 2, "raised": 3}
    if not isinstance(answer, list) or not answer or not isinstance(answer[0], str):
        return False
    if len(answer) != shapes.get(answer[0]):
        return False
    if answer[0] == "data":
        return isinstance(answer[2], list)
    return all(isinstance(text, str) for text in answer)
