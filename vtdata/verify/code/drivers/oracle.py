"""The tests alone, without the program: which calls they make, and whether answers satisfy them.

Prints, between two marks, ``["passed"]``, ``["failed", why]``, ``["more", calls]`` where answers
are missing, ``["unsendable", why]`` where an argument is no data, or ``["broken", why]`` where the
test fails before it has called the program.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import json
import os
import sys
from typing import Any

from vtdata.verify.code.drivers.stand_ins import Need, Unsendable, World

BEGIN, END = "_vt_begin", "_vt_end"
SEED = 0
"""Tests that draw at random draw the same in every run."""


def main() -> None:
    """Judge the test that comes on standard input, with the calls and answers so far."""
    out = os.dup(1)
    asked = json.loads(sys.stdin.buffer.read())
    if "random" in asked["code"]:  # it takes longer to import than most tests run
        importlib.import_module("random").seed(SEED)
    told = json.dumps(outcome(asked["code"], World(asked["calls"], asked["answers"])))
    raw = f"\n{asked['mark']}{told}{asked['mark']}\n".encode()
    while raw:
        raw = raw[os.write(out, raw) :]
    os._exit(0)


def outcome(code: str, world: World) -> list[Any]:
    """Run a test to its end, or to where an answer is missing."""
    try:
        tree = ast.parse(code)
        names: dict[str, Any] = {"__name__": "tests", BEGIN: world.begin, END: world.end}
        names |= _programs_names(foreign(tree), world)
        guarded = ast.fix_missing_locations(Guarded().visit(tree))
        exec(compile(guarded, "tests.py", "exec", dont_inherit=True), names)
    except (MemoryError, Unsendable, Need):
        return _open(world)
    except BaseException as error:  # noqa: BLE001 - a test fails by raising, whatever it raises
        if world.guessing or world.unsendable:
            return _open(world)
        why = f"{type(error).__name__}: {str(error)[:200]}"
        ours = world.asked() or world.spoiled or isinstance(error, NameError)
        return ["failed" if ours else "broken", why]
    return _open(world)


def _programs_names(wanted: set[str], world: World) -> dict[str, Any]:
    """What the program defines of these; what it doesn't is missing where it is used."""
    names: dict[str, Any] = {}
    for name in sorted(wanted):
        with contextlib.suppress(Exception):
            names[name] = world.make(["name", name])
    return names


def _open(world: World) -> list[Any]:
    if world.unsendable:
        return ["unsendable", world.unsendable]
    return ["more", world.calls] if world.guessing else ["passed"]


class Guarded(ast.NodeTransformer):
    """Lets a run go on behind an assertion about an answer that nobody has yet."""

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        begin = ast.Expr(ast.Call(ast.Name(BEGIN, ast.Load()), [], []))
        goes_on = ast.Call(ast.Name(END, ast.Load()), [], [])
        escape = ast.If(ast.UnaryOp(ast.Not(), goes_on), [ast.Raise()], [])
        caught = ast.ExceptHandler(ast.Name("BaseException", ast.Load()), None, [escape])
        return ast.Try([begin, node], [caught], [ast.Expr(goes_on)], [])


def foreign(tree: ast.AST) -> set[str]:
    """Return the names that a test uses and nobody but the program can define.

    A program that defines ``abs`` must not be asked for it: the test means Python's. Only where a
    test calls one builtin and nothing else is that the program's function.
    """
    used: set[str] = set()
    called: set[str] = set()
    own: set[str] = {"__name__"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else own).add(node.id)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called.add(node.func.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            own.add(node.name)
        elif isinstance(node, ast.arg):
            own.add(node.arg)
        elif isinstance(node, ast.alias):
            own.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            own.add(node.name)
    found = used - own - set(dir(builtins))
    return found or (called - own if len(called - own) == 1 else set())
