"""Beside the program: makes the calls that come on standard input, and sends the results out.

A call is ``["name", NAME]``, ``["get", k, NAME]``, ``["set", k, NAME, value]`` or ``["call", k,
args, kwargs]``, where ``k`` is the number of an earlier one whose result is meant. The answer to
each is ``["data", value, changed]``, with the arguments that the call changed; ``["object", type]``
for what is no data; or ``["raised", type, text]``. They stand between two marks in what the process
prints.
"""

from __future__ import annotations

import json
import os
import sys
import types
from itertools import islice
from typing import Any

from vtdata.verify.code.drivers.nodes import ListNode, TreeNode, dressed, stripped
from vtdata.verify.code.wire import Malformed, pack, tagged, unpack

MOST_ITEMS = 1_000_000
"""Items that are taken from an iterator that the program returns."""


def main(program: str, hints: list[str] | None = None, returns: str = "") -> None:
    """Run the program as a module, then the calls.

    Args:
        program: its text.
        hints: which arguments are made of LeetCode's nodes; None where nobody has such.
        returns: the same of the result.
    """
    out = os.dup(1)  # the program may close or replace what is standard output
    asked = json.loads(sys.stdin.buffer.read())
    module = types.ModuleType("solution")
    sys.modules["solution"] = module
    if hints is not None:
        module.__dict__.update(ListNode=ListNode, TreeNode=TreeNode)
    exec(compile(program, "solution.py", "exec", dont_inherit=True), module.__dict__)
    run = Run(module.__dict__, hints or [], returns)
    for call in asked["calls"]:
        run.make(call)
    told = f"\n{asked['mark']}{json.dumps(run.answers)}{asked['mark']}\n".encode()
    while told:
        told = told[os.write(out, told) :]
    os._exit(0)  # threads that the program left behind would be waited for


class Run:
    """The calls of one process, with what they gave."""

    def __init__(self, names: dict[str, Any], hints: list[str], returns: str) -> None:
        self.names = names
        self.hints = hints
        self.returns = returns
        self.results: list[Any] = []
        self.answers: list[list[Any]] = []

    def make(self, call: list[Any]) -> None:
        result = None
        try:
            if call[0] == "call":
                result, answer = self._call(*call[1:])
            else:
                result = self._look(*call)
                answer = _told(result, [])
        except MemoryError:
            raise  # the process's end, and no answer
        except Exception as error:  # noqa: BLE001 - whatever a program raises is its answer
            answer = ["raised", type(error).__name__, str(error)[:200]]
        self.results.append(result)
        self.answers.append(answer)

    def _look(self, kind: str, *where: Any) -> Any:
        if kind == "get":
            return getattr(self.results[where[0]], where[1])
        if kind == "set":
            value = unpack(where[2], self.results.__getitem__)
            return setattr(self.results[where[0]], where[1], value)
        name = where[0]
        if name in self.names:
            return self.names[name]
        if "Solution" in self.names:
            return getattr(self.names["Solution"](), name)
        raise NameError(f"name '{name}' is not defined")

    def _call(self, k: int, args: list[Any], kwargs: dict[str, Any]) -> tuple[Any, list[Any]]:
        given = [unpack(arg, self.results.__getitem__) for arg in args]
        named = {key: unpack(arg, self.results.__getitem__) for key, arg in kwargs.items()}
        for at, hint in enumerate(self.hints[: len(given)]):
            given[at] = dressed(given[at], hint, self.names)
        result = self.results[k](*given, **named)
        if self.returns:
            result = stripped(result, self.returns)
        elif hasattr(type(result), "__next__"):
            result = list(islice(result, MOST_ITEMS))
            return result, ["data", tagged("iter", [pack(item) for item in result]), []]
        return result, _told(result, _changed(args, given))


def _told(result: Any, changed: list[Any]) -> list[Any]:
    try:
        return ["data", pack(result), changed]
    except Malformed:
        return ["object", type(result).__name__]


def _changed(before: list[Any], after: list[Any]) -> list[Any]:
    """Arguments that are not what they were, with their places."""
    found: list[Any] = []
    for at, (old, value) in enumerate(zip(before, after)):  # noqa: B905 - as many
        if isinstance(value, (list, dict, set, bytearray)):
            try:
                new = pack(value)
            except Malformed:
                continue
            if new != old:
                found.append([at, new])
    return found
