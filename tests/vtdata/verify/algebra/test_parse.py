from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vtdata.verify.algebra.form import form
from vtdata.verify.algebra.latex import latex
from vtdata.verify.algebra.parse import parse
from vtdata.verify.algebra.points import agree
from vtdata.verify.algebra.tokens import ProseError, UnreadableError, is_product
from vtdata.verify.algebra.tree import Node, dumps, loads, signed, symbols
from vtdata.verify.normal import normal


def read(text: str) -> Node:
    return parse(normal(text))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("2x", "2*x"),
        ("xy", "y*x"),
        ("2(x+1)", "2*x+2"),
        ("(n-2)2^n", "(n-2)*2^n"),
        ("2^a 3^b", "2^a*3^b"),
        ("1/2x", "x/2"),
        ("2^10", "1024"),
        ("2^3^2", "512"),
        ("-2^2", "-4"),
        ("x^-1", "1/x"),
        ("x**2", "x^2"),
        (r"\frac12", "1/2"),
        (r"\frac1{20}", "1/20"),
        (r"\dfrac{x}{2}", "x/2"),
        (r"3\frac{1}{2}", "7/2"),
        (r"3\frac{x}{2}", "3*x/2"),
        ("3 1/2", "7/2"),
        ("-3 1/2", "-7/2"),
        (r"\sqrt2", "sqrt(2)"),
        (r"\sqrt[3]{8}", "2"),
        ("√21", "sqrt(21)"),
        ("√(x+1)", "sqrt(x+1)"),
        (r"\sqrt{x^2+1}", "sqrt(x^2+1)"),
        (r"\left(x\right)^{2}", "x^2"),
        (r"\binom{5}{2}", "10"),
        (r"\lfloor 3.7 \rfloor", "3"),
        (r"\lceil 3.2 \rceil", "4"),
        ("5!", "120"),
        ("7!!", "105"),
        (r"17 \bmod 5", "2"),
        (r"\gcd(12, 18)", "6"),
        (r"\log_2 8", "3"),
        ("|-3|", "3"),
        ("|x||y|", "|x|*|y|"),
        ("50%", "1/2"),
        ("0.(3)", "1/3"),
        (r"0.\dot{3}", "1/3"),
        (r"0.\dot{1}\dot{2}", "12/99"),
        (r"0.1\overline{6}", "1/6"),
        ("i^2", "-1"),
        ("e^{2}", "e*e"),
        (r"x_{1}+x_1", "2*x_1"),
        ("α+β", r"\beta+\alpha"),
        ("x²y³", "x^2*y^3"),
    ],
)
def test_what_an_expression_says(text: str, plain: str) -> None:
    assert form(read(text)).text() == form(read(plain)).text()


@pytest.mark.parametrize(
    ("text", "other"),
    [
        (r"\sin 2x", "sin(2*x)"),
        (r"\sin x\cos x", "sin(x)*cos(x)"),
        (r"\sin^2 x", "(sin(x))^2"),
        (r"\sin^{-1} x", "arcsin(x)"),
        (r"\sin(x)y", "y*sin(x)"),
        (r"\ln 2x + 1", "ln(2*x)+1"),
        (r"\sin\frac{\pi}{2}", "sin(pi/2)"),
        (r"\exp(x)", "e^x"),
        (r"\tan 45^\circ", "1"),
        (r"\lg x", r"\log_{10} x"),
    ],
)
def test_functions_and_their_arguments(text: str, other: str) -> None:
    assert agree(read(text), read(other)) is True


@pytest.mark.parametrize(
    "text",
    [
        "", "+", "1 2", "x2", "1+", "(1", "1)", "(1]", "2^", r"\frac{1}", r"\frac", "a_", "|x", "!", "_2",
        "1,2", r"\int x dx", r"\sum k", r"\frac{dy}{dx}", r"\int_0^1 x", r"\lim_{x\to0^+} x", "x=1", r"\{1\}", "[1]",
        r"\sin", r"\log_2", "2^3^", "√", "@", "1..2",
    ],
)  # fmt: skip
def test_what_is_no_expression(text: str) -> None:
    with pytest.raises(UnreadableError):
        read(text)


@pytest.mark.parametrize("text", ["Evelyn", "no", "5 apples", "odd n", "甲", "the sum"])
def test_words_are_prose(text: str) -> None:
    with pytest.raises(ProseError):
        read(text)


def test_letters_that_are_a_product() -> None:
    assert [
        word for word in ("ABC", "xyz", "pq", "abcd", "kmn", "ABDE") if not is_product(word)
    ] == []
    assert [word for word in ("cat", "or", "DNA", "odd", "Bob", "yes") if is_product(word)] == []


def test_plus_minus_is_two_expressions() -> None:
    assert [form(node).value for node in signed(read(r"1 \pm 2"))] == [3, -1]
    upper, lower = signed(read(r"\pm 1 \mp 2"))
    assert (form(upper).value, form(lower).value) == (-1, 1)
    assert len(signed(read("x+1"))) == 1


@pytest.mark.parametrize("deep", ["(" * 500 + "1" + ")" * 500, "-" * 3_000 + "1", "1^" * 900 + "1"])
def test_depth_is_bounded(deep: str) -> None:
    with pytest.raises((UnreadableError, RecursionError)):
        parse(deep)


NODES = st.recursive(
    st.one_of(
        st.fractions(-50, 50, max_denominator=20).map(lambda value: ("n", value)),
        st.sampled_from([("s", "x"), ("s", "y_1"), ("s", "alpha"), ("k", "pi"), ("k", "e")]),
    ),
    lambda inner: st.one_of(
        st.tuples(st.just("+"), st.tuples(inner, inner)),
        st.tuples(st.just("*"), st.tuples(inner, inner)),
        st.tuples(st.just("^"), inner, st.sampled_from([("n", 2), ("n", 3)])),
        inner.map(lambda node: ("f", "sin", (node,))),
        inner.map(lambda node: ("f", "abs", (node,))),
        inner.map(lambda node: ("f", "root", (node, ("n", 3)))),
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(NODES)
def test_latex_is_read_back_as_the_same_function(node: Node) -> None:
    assert agree(node, read(latex(node))) is not False
    assert symbols(read(latex(node))) == symbols(node)


@settings(max_examples=60, deadline=None)
@given(NODES)
def test_an_expression_crosses_to_another_process(node: Node) -> None:
    assert loads(dumps(node)) == node
