r"""The program in a response, and the program that is run."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass

from vtdata.verify.code.imports import imports_of
from vtdata.verify.code.model import Tests
from vtdata.verify.spoken import after_thoughts

_FENCE = re.compile(r"^[ \t]*(?P<ticks>`{3,}|~{3,})[ \t]*(?P<tag>[^\s`]*)[^\n`]*$", re.MULTILINE)
_PYTHON = frozenset({"python", "py", "python3"})
_MAX_CHARS = 200_000
"""Longer texts are no programs (ours)."""


@dataclass(frozen=True, slots=True)
class _Block:
    tag: str
    text: str


def extract_program(response: str, fn_name: str | None = None) -> str | None:
    r"""Return the program that a response gives, or None where it gives none.

    1. Thoughts don't count; after an unfinished thought there is no program.
    2. A fence that is never closed was cut off, so there is none, whatever stands before it.
    3. Of the closed fences those tagged python, py or python3 count; where there is none, those
       without a tag. Another language is no program.
    4. The last one that is a program counts: that parses and, for a function that is called by
       name, defines it. Where none does, the last one.
    5. Without any fence, the whole text counts if it parses and is more than an expression.

    Args:
        response: the whole text, with or without ``<think>`` tags.
        fn_name: the function that the tests call.

    Source: ours; graders take the last fence (LiveCodeBench) or the first (open-r1).

    >>> extract_program("Read it.\n```python\nprint(input())\n```\nDone.")
    'print(input())'
    >>> extract_program("```python\nprint(1)") is None
    True
    >>> extract_program("print(int(input()) + 1)")
    'print(int(input()) + 1)'
    >>> extract_program("It is 5.") is None
    True
    """
    text = after_thoughts(response)
    if text is None:
        return None
    blocks = _blocks(text)
    if blocks is None:
        return None
    if not blocks:
        return _unfenced(text)
    tagged = [block.text for block in blocks if block.tag.lower() in _PYTHON]
    programs = tagged or [block.text for block in blocks if not block.tag]
    good = [text for text in programs if _is_program(text, fn_name)]
    return next(iter(reversed(good or programs)), None)


def _blocks(text: str) -> list[_Block] | None:
    """The closed fences; None where the last one is never closed."""
    found: list[_Block] = []
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence["ticks"].startswith(opened["ticks"]) and not fence["tag"]:
            found.append(_Block(opened["tag"], text[opened.end() + 1 : fence.start()].rstrip("\n")))
            opened = None
    return found if opened is None else None


def _unfenced(text: str) -> str | None:
    tree = parse(text)
    if tree is None or all(isinstance(node, ast.Expr) and _is_plain(node) for node in tree.body):
        return None
    return text.strip("\n")


def _is_plain(node: ast.Expr) -> bool:
    return not isinstance(node.value, ast.Call)


def _is_program(text: str, fn_name: str | None) -> bool:
    tree = parse(text)
    if tree is None:
        return False
    return fn_name is None or fn_name in defined(tree)


def parse(text: str) -> ast.Module | None:
    """Return a program's tree, or None where it has none."""
    if len(text) > _MAX_CHARS:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in somebody's strings
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def defined(tree: ast.Module) -> set[str]:
    """Return what a program defines at its top, and the methods of its classes."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {inner.name for inner in node.body if isinstance(inner, ast.FunctionDef)}
        if isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def whole(program: str, tests: Tests) -> str:
    """Return the program that is run: with what its tests promise to stand before it.

    A program for ``assert`` tests that doesn't define the function goes on from the starter code;
    one that does gets the starter code's imports and helpers. Where LiveCodeBench's runner imports
    modules for a solution, those that it names are imported.
    """
    before = imports_of(program) if tests.imports else ""
    if tests.style == "assert" and tests.starter_code:
        before += _starter(program, tests)
    if not before:
        return program
    head, rest = _future(program)
    return f"{head}{before}{rest}"


def _starter(program: str, tests: Tests) -> str:
    tree = parse(program)
    if tree is None or tests.fn_name not in defined(tree):
        return tests.starter_code.rstrip() + "\n"
    start = re.search(rf"^def {re.escape(tests.fn_name or '')}\b", tests.starter_code, re.MULTILINE)
    return tests.starter_code[: start.start()] if start else ""


def _future(program: str) -> tuple[str, str]:
    """Split a program behind its ``from __future__`` lines, which must come first."""
    lines = program.splitlines(keepends=True)
    future = [at for at, line in enumerate(lines) if line.startswith("from __future__")]
    last = max(future, default=-1)
    return "".join(lines[: last + 1]), "".join(lines[last + 1 :])
