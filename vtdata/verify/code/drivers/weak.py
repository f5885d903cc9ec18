"""The program and its test in one process, for tests that can't be asked from outside.

That the mark is printed says that the test came to its end; a program that looks for the mark can
print it itself, so this is weak evidence.
"""

from __future__ import annotations

import os
import sys
import types


def main(program: str, code: str) -> None:
    """Run both in one namespace, then print what came on standard input."""
    mark = sys.stdin.read()
    out = os.dup(1)
    module = types.ModuleType("solution")
    sys.modules["solution"] = module
    exec(compile(program, "solution.py", "exec", dont_inherit=True), module.__dict__)
    exec(compile(code, "tests.py", "exec", dont_inherit=True), module.__dict__)
    os.write(out, f"\n{mark}\n".encode())
    os._exit(0)
