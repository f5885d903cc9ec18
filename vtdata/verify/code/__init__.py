"""Code: what a model wrote against its tests, in a sandbox, with every comparison outside of it."""

from __future__ import annotations

from vtdata.verify.code.formats import READERS, read_spec, read_tests
from vtdata.verify.code.judge import judge_program
from vtdata.verify.code.model import Judged, Tests
from vtdata.verify.code.program import extract_program

__all__ = [
    "READERS",
    "Judged",
    "Tests",
    "extract_program",
    "judge_program",
    "read_spec",
    "read_tests",
]
