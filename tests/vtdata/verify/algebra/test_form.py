from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vtdata.verify.algebra.form import Form, NoFormError, form, ratio, same
from vtdata.verify.algebra.parse import parse
from vtdata.verify.algebra.points import agree
from vtdata.verify.algebra.poly import TooLargeError
from vtdata.verify.algebra.tree import Node
from vtdata.verify.normal import normal


def of(text: str) -> Form:
    return form(parse(normal(text)))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("(x+1)^2", "x^2+2x+1", True),
        ("(x+1)^2", "x^2+2x+2", False),
        (r"\frac{x^2-1}{x-1}", "x+1", True),
        (r"\frac1x+\frac1y", r"\frac{x+y}{xy}", True),
        (r"\frac{1}{1+i}", r"\frac{1-i}{2}", True),
        (r"\frac{1}{\sqrt2+\sqrt3}", r"\sqrt3-\sqrt2", True),
        (r"\frac{1}{1+\sqrt2+\sqrt3}", r"\frac{2+\sqrt2-\sqrt6}{4}", True),
        (r"\sqrt{12}", r"2\sqrt3", True),
        (r"\sqrt2\sqrt3", r"\sqrt6", True),
        (r"\sqrt2+\sqrt3", r"\sqrt5", False),
        (r"\sqrt{\frac23}", r"\frac{\sqrt6}{3}", True),
        (r"\sqrt{-4}", "2i", True),
        (r"\sqrt[3]{-8}", "-2", True),
        (r"\sqrt[3]{16}", r"2\sqrt[3]{2}", True),
        (r"\sqrt[4]{4}", r"\sqrt2", True),
        (r"8^{2/3}", "4", True),
        (r"\sqrt[3]{2}", r"\sqrt2", None),  # other roots are not taken apart
        (r"\pi+1", r"1+\pi", True),
        (r"\pi", "e", None),  # nobody has shown that they are independent
        (r"\pi", "3", False),
        (r"\sin x", r"\sin x", True),
        (r"\sin x", r"\cos x", None),
        (r"\sin(x+x)", r"\sin 2x", True),
        (r"\sin 30^\circ", r"\frac12", True),
        (r"\cos\frac{7\pi}{6}", r"-\frac{\sqrt3}{2}", True),
        (r"\tan\frac{3\pi}{4}", "-1", True),
        (r"\tan 75^\circ", r"2+\sqrt3", True),
        (r"\cos\frac{\pi}{5}-\cos\frac{2\pi}{5}", r"\frac12", True),
        (r"\cos\frac{\pi}{7}", r"\frac12", None),
        (r"\sin\frac{\pi}{10}", r"\frac{\sqrt5-1}{4}", True),
        (r"\sin 0", "0", True),
        (r"\sin\frac{\pi}{6}", r"\frac{\sqrt2}{2}", False),
        (r"\ln 36", r"2\ln 6", True),
        (r"\ln\frac12", r"-\ln 2", True),
        (r"\log_4 8", r"\frac32", True),
        (r"\log_2 3", r"\frac{\ln 3}{\ln 2}", True),
        (r"\ln 1", "0", True),
        (r"\ln 2", r"\ln 3", None),  # different, which is for the points to say
        ("2^{100}-1", "2^{100}+1", False),
        ("3^{2025}", "2^{2025}", False),
        (r"\frac{1}{2004!}", r"\frac{1}{2006!}", False),
        (r"\sqrt{10000000000000061}", r"\sqrt{10000000000000069}", None),  # not factored
        ("0.1+0.2", "0.3", True),
    ],
)
def test_forms_are_decided_exactly(left: str, right: str, *, expected: bool | None) -> None:
    assert same(of(left), of(right)) is expected
    assert same(of(right), of(left)) is expected


@pytest.mark.parametrize(
    "text", [r"\frac{1}{0}", r"\frac{1}{x-x}", "0^{-1}", "0^0", r"\infty", r"1+\infty", r"\pm 1"]
)
def test_what_has_no_value(text: str) -> None:
    with pytest.raises(NoFormError):
        of(text)


@pytest.mark.parametrize(
    "text",
    ["9^{9^9}", "2^{1000000}", "(x+y+z)^{60}", "(x+1)^{10000}", "((9!)!)", "(1+x)(1+y)^{400}"],
)
def test_what_is_too_large_is_left_alone(text: str) -> None:
    found = None
    try:
        found = of(text)
    except TooLargeError:
        return
    assert found.value is None, "an atom of its own, not a number"


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("2x+2y-4", "x+y-2", 2),
        ("x-y", "y-x", -1),
        ("x+y", "x-y", None),
        ("x/2", "x", Fraction(1, 2)),
    ],
)
def test_one_form_as_a_multiple_of_another(
    left: str, right: str, expected: Fraction | None
) -> None:
    assert ratio(of(left), of(right)) == expected


LEAVES = st.one_of(
    st.integers(-9, 9).map(lambda value: ("n", value)),
    st.sampled_from([("s", "x"), ("s", "y"), ("k", "i"), ("f", "root", (("n", 2), ("n", 2)))]),
)
NODES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.just("+"), st.tuples(inner, inner)),
        st.tuples(st.just("*"), st.tuples(inner, inner)),
        st.tuples(st.just("^"), inner, st.integers(-2, 3).map(lambda value: ("n", value))),
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(NODES, NODES)
def test_exact_and_numeric_decisions_agree(left: Node, right: Node) -> None:
    """Two ways that share nothing but the tree."""
    try:
        exact = same(form(left), form(right))
    except (NoFormError, TooLargeError):
        return
    numeric = agree(left, right)
    assert exact is not None
    assert numeric in (None, exact)


@settings(max_examples=150, deadline=None)
@given(NODES, NODES)
def test_equal_forms_without_a_denominator_have_one_text(left: Node, right: Node) -> None:
    try:
        a, b = form(left), form(right)
    except (NoFormError, TooLargeError):
        return
    if a.text() == b.text():
        assert same(a, b) is True
    elif a.den == b.den == {(): 1}:
        assert same(a, b) is False
