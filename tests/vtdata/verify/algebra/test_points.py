from __future__ import annotations

import time

import pytest

from vtdata.verify.algebra.parse import parse
from vtdata.verify.algebra.points import agree, value
from vtdata.verify.normal import normal


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (r"\sin 2x", r"2\sin x\cos x", True),
        (r"\sqrt{1/n}", r"\frac{1}{\sqrt n}", True),  # both real where n > 0
        (r"\ln x^2", r"2\ln x", True),
        (r"\sqrt{x^2}", "x", False),
        ("|x|", "x", False),
        (r"x^{1/3}", r"\sqrt[3]{x}", True),
        ("e^{i\\pi}", "-1", True),
        (r"\sin\pi", "0", True),  # a zero that is never quite one
        ("e^{-300}", "e^{-301}", False),  # and small numbers that are none
        (r"\pi+10^{-100}", r"\pi", False),
        ("10^{50}+\\pi-10^{50}", r"\pi", True),  # all but ten digits are lost, and found again
        (r"\frac{96-10\sqrt{21}}{1}", r"\frac{6\sqrt{1789-240\sqrt{21}}+8\sqrt{1236-240\sqrt{21}}}{5}", True),
        ("(-1)^n", "(-1)^{n+2}", True),  # real at whole numbers alone
        ("(-1)^n", "(-1)^{n+1}", False),
        ("n!", "n(n-1)!", True),
        ("n!", "n(n-2)!", False),
        (r"\binom{n}{2}", r"\frac{n(n-1)}{2}", True),
        ("(2n)!!", "2^n n!", True),
        (r"\lfloor x\rfloor", "x", False),
        (r"\lfloor n/2\rfloor+\lceil n/2\rceil", "n", True),  # n is a whole number
        (r"\lfloor n/2\rfloor", "n/2", False),
        ("i", "j", False),
        ("5^{5^{5^{5^5}}}", "1", None),
        ("1000000000!", "1", None),
        (r"\ln(-1-x^2)", "x", None),  # nowhere real
        (r"\frac{1}{x-x}", "1", None),
    ],
)  # fmt: skip
def test_points_refute_and_never_prove(left: str, right: str, *, expected: bool | None) -> None:
    a, b = parse(normal(left)), parse(normal(right))
    start = time.process_time()
    assert agree(a, b) is expected
    assert agree(b, a) is expected
    assert time.process_time() - start < 1.0


def test_the_value_of_a_number() -> None:
    assert value(parse(r"\sqrt{2}")) == pytest.approx(2**0.5)
    assert value(parse("x")) is None
    assert value(parse("9^{9^{9^9}}")) is None
    assert value(parse(r"\sqrt{-1}")) is None
