r"""The job ``math``: math-verify on two answers, in both directions."""

from __future__ import annotations

import random
from typing import Any

import sympy
from math_verify import parse, verify
from sympy.core.random import seed as seed_sympy

_TYPICAL = (
    "42", "-7", "3.14", r"\frac{3}{4}", r"-\frac{1}{2}", r"2\sqrt{3}", r"\sqrt[3]{5}", "x^2+2x+1",
    r"\frac{x+1}{x-1}", r"\pi/2", r"(1,2)", r"[0,\infty)", r"\{1,2,3\}", "x=3", r"x \leq 5",
    r"1<x<2", r"3+4i", r"1.5\times10^3", r"50\%", r"\log_2 8", r"\sin x", r"e^{x}",
    r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", "5!", r"\binom{5}{2}", r"|x|", "1,2,3",
    r"x \in \mathbb{R}", r"a_1+a_2", r"\frac{\sqrt{2}}{2}", r"(-1)^n", r"12\text{ cm}", r"90^\circ",
)  # fmt: skip
"""Answers of every common form: what they take in the parser is then hot."""


def compare(gold: str, pred: str) -> dict[str, bool | None]:
    r"""Return ``{"forward": verify(gold, pred), "backward": verify(pred, gold)}``.

    None where an answer can't be parsed: then math-verify's own False says nothing about the two.
    What it raises while comparing is raised, for the same reason; it would answer False.

    >>> compare("1/2", "0.5")
    {'forward': True, 'backward': True}
    >>> compare("a circle of radius 3", r"\frac{")
    {'forward': None, 'backward': None}
    """
    left, right = _read(gold), _read(pred)
    return {"forward": _same(left, right), "backward": _same(right, left)}


def warm() -> None:
    """Fill ANTLR's and sympy's caches: the first thirty parses of a process take a second."""
    for answer in _TYPICAL:
        compare(answer, answer)
    compare(r"2\sqrt{3}", r"\sqrt{12}")
    compare("(x+1)^2", "x^2+2x+1")
    compare("3+4i", r"1.5\times10^3")


def _read(answer: str) -> list[Any]:
    return parse(rf"\boxed{{{answer}}}", parsing_timeout=None)  # ty: ignore[invalid-argument-type]


def _same(left: list[Any], right: list[Any]) -> bool | None:
    random.seed(0)  # some of sympy's tests of equality try random points
    seed_sympy(0)
    same = verify(
        left, right, allow_set_relation_comp=True, timeout_seconds=None, raise_on_error=True
    )
    return same or (False if _parsed(left) and _parsed(right) else None)


def _parsed(answers: list[Any]) -> bool:
    return any(isinstance(a, sympy.Basic | sympy.MatrixBase) for a in answers)
