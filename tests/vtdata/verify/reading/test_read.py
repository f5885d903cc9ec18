from __future__ import annotations

from fractions import Fraction

import pytest

from vtdata.verify.algebra.form import form
from vtdata.verify.reading.read import grouped, read
from vtdata.verify.reading.split import cut, enclosed, items
from vtdata.verify.reading.units import unit
from vtdata.verify.reading.values import (
    EMPTY,
    Based,
    Congruence,
    Foreign,
    Group,
    Matrix,
    Named,
    Ratio,
    Reals,
    Relation,
    Scalar,
    Words,
)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("42", Scalar),
        (r"2\sqrt{3}", Scalar),
        ("5 cm", Scalar),
        (r"\$10", Scalar),
        ("3个苹果", Scalar),
        ("twelve", Scalar),
        ("x = 3", Named),
        ("f(x)=x^2", Named),
        ("|AB|=1", Named),
        (r"\angle ABC = 30^\circ", Named),
        ("n=2,3,4", Named),
        ("B. 42", Named),
        ("x+y=2", Relation),
        ("xy=1", Relation),
        ("x<y", Relation),
        ("x<3", Reals),
        ("0<x<1", Reals),
        (r"x\ne 1", Reals),
        ("[2,5)", Reals),
        (r"(-\infty,3)", Reals),
        (r"(-\infty,1)\cup(2,3]", Reals),
        (r"\mathbb{R}\setminus\{1\}", Reals),
        ("x>1 or x<-1", Reals),
        (r"\{x \mid x > 2\}", Reals),
        ("|x|<2", Reals),
        ("all real numbers", Reals),
        ("(1,2)", Group),
        ("[1,2]", Group),
        (r"\{1,2\}", Group),
        ("1, 2 and 3", Group),
        ("x=1,y=2", Group),
        (r"\pm 2", Group),
        ("no solution", Group),
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", Matrix),
        (r"\begin{cases}x=1\\y=2\end{cases}", Group),
        ("2516_8", Based),
        ("101_{(2)}", Based),
        ("3:30", Ratio),
        ("2:3", Ratio),
        (r"x \equiv 3 \pmod 7", Congruence),
        ("Evelyn", Words),
        ("odd $n$", Words),
        ("the first one, and then the second", Words),
        (r"AB \parallel CD", Words),
        (r"\int_0^1 x\,dx", Scalar),
        (r"\int x\,dx", Foreign),
    ],
)
def test_the_type_of_an_answer(answer: str, kind: type) -> None:
    assert type(read(answer)) is kind


@pytest.mark.parametrize(
    ("answer", "shape", "size"),
    [
        ("(1,2,3)", "tuple", 3),
        ("[1,2]", "bracket", 2),
        (r"\{1,2\}", "set", 2),
        ("1,2;3", "list", 3),
        ("(2,2),(6,2)", "list", 2),
        ("1, 2 or 3", "either", 3),
        (r"1 \pm \sqrt{2}", "either", 2),
        (r"\emptyset", "set", 0),
        (r"\langle 1,2 \rangle", "tuple", 2),
        ("19, 46, \\text{ and } 82", "list", 3),
    ],
)
def test_groups(answer: str, shape: str, size: int) -> None:
    found = read(answer)
    assert isinstance(found, Group)
    assert (found.shape, len(found.items)) == (shape, size)


@pytest.mark.parametrize(
    ("answer", "value", "base_unit"),
    [
        ("5 cm", 5, "cm"),
        ("5cm", 5, "cm"),
        (r"10\text{ cm}", 10, "cm"),
        ("60 km/h", 60, "km/h"),
        ("25 m^2", 25, "m^2"),
        ("25 square meters", 25, "m^2"),
        ("5厘米", 5, "cm"),
        ("20元", 20, "yuan"),
        ("¥20", 20, "yuan"),
        (r"-\$5", -5, "dollar"),
        ("$5 dollars", 5, "dollar"),
        ("72 degrees", 72, "degrees"),
        (r"72^\circ", 72, "degrees"),
        (r"-72^\circ", -72, "degrees"),
        ("33.5%", Fraction(67, 2), "%"),
        ("33.5 percent", Fraction(67, 2), "%"),
        ("3.5 hours", Fraction(7, 2), "h"),
        ("5 m/s", 5, "m/s"),
        ("three days", 3, "day"),
        ("9.8 m/s^2", Fraction(49, 5), "m/s^2"),
    ],
)
def test_quantities(answer: str, value: int | Fraction, base_unit: str) -> None:
    found = read(answer)
    assert isinstance(found, Scalar)
    assert form(found.node).value == value
    assert found.unit == unit(base_unit)
    assert unit(base_unit).label == ""


@pytest.mark.parametrize(
    ("answer", "label"), [("3 apples", "apple"), ("17 any text", "any text"), ("5个", "个")]
)
def test_a_unit_that_nobody_knows_is_a_label(answer: str, label: str) -> None:
    found = read(answer)
    assert isinstance(found, Scalar)
    assert found.unit is not None
    assert found.unit.label == label


@pytest.mark.parametrize(
    "answer", ["5 but not 6", "3 if n is odd", "more than 5", "5 or more apples", "at least 3"]
)
def test_a_condition_is_no_unit(answer: str) -> None:
    assert not isinstance(read(answer), Scalar)


def test_compound_quantities_are_one() -> None:
    found = read("1 hour 30 minutes")
    assert isinstance(found, Scalar)
    assert form(found.node).value == 5400


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("twelve", 12),
        ("twenty-one", 21),
        ("十二", 12),
        ("三百零五", 305),
        ("两万", 20000),
        ("3 million", 3000000),
    ],
)
def test_number_words(answer: str, value: int) -> None:
    found = read(answer)
    assert isinstance(found, Scalar)
    assert form(found.node).value == value


def test_a_comma_may_group_digits_or_separate_numbers() -> None:
    assert isinstance(read("100,200"), Scalar)
    other = grouped("100,200")
    assert isinstance(other, Group)
    assert len(other.items) == 2
    assert grouped("100, 200") is None
    assert isinstance(read("1,23,456"), Group)
    assert isinstance(read("(1,234)"), Group)


def test_spans_that_touch_are_one() -> None:
    assert read(r"[0,1)\cup[1,2]") == read("[0,2]") or len(read(r"[0,1)\cup[1,2]").spans) == 1
    assert len(read(r"(0,1)\cup(1,2)").spans) == 2
    assert read("no solution") == read(r"\{\}") == EMPTY


def test_text_is_cut_outside_brackets_alone() -> None:
    assert items("(1,2),[3,4;5],6") == ["(1,2)", "[3,4;5]", "6"]
    assert items(r"\{1,2\}and\begin{pmatrix}1,2\end{pmatrix}") == [
        r"\{1,2\}",
        r"\begin{pmatrix}1,2\end{pmatrix}",
    ]
    assert enclosed("(1,2]") == ("(", "1,2", "]")
    assert enclosed("(1)+(2)") is None
    import re

    assert cut("a=b=c", re.compile("=")) == (["a", "b", "c"], ["=", "="])
