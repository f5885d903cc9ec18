"""A program that reads ``input.txt`` and writes ``output.txt``, where the judge uses streams."""

from __future__ import annotations

import contextlib
import os
import sys


def main(program: str) -> None:
    """Run the program between a file made of standard input and one that becomes its output."""
    out = os.dup(1)
    with open("input.txt", "wb") as file:
        file.write(sys.stdin.buffer.read())
    names = {"__name__": "__main__", "__builtins__": __builtins__}
    with contextlib.suppress(SystemExit):
        exec(compile(program, "main.py", "exec", dont_inherit=True), names)
    with open("output.txt", "rb") as file:
        told = file.read()
    while told:
        told = told[os.write(out, told) :]
    os._exit(0)
