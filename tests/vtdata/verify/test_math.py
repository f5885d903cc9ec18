from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtdata.verify.keys import key_of
from vtdata.verify.math import check, compare, readable
from vtdata.verify.normal import normal


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("42", 42),
        ("-7", -7),
        ("−7", -7),  # U+2212
        ("+7", 7),
        ("- 7", -7),
        ("007", 7),
        ("42.", 42),
        (".5", "1/2"),
        ("1.50", "3/2"),
        ("4/6", "2/3"),
        (r"\frac{2}{3}", "2/3"),
        (r"-\dfrac{2}{3}", "-2/3"),
        (r"\frac{-2}{3}", "-2/3"),
        (r"\frac12", "1/2"),
        (r"\frac1{20}", "1/20"),
        (r"\frac{\frac12}{3}", "1/6"),
        ("½", "1/2"),
        (r"918\frac{1}{2}", "1837/2"),
        ("-1 1/2", "-3/2"),
        ("1½", "3/2"),
        ("1,234,567", 1234567),
        (r"15,\!000", 15000),
        (r"15{,}000", 15000),
        (r"1\,000", 1000),
        ("1 000", 1000),
        ("1,234.5", "2469/2"),
        ("50%", "1/2"),
        (r"33.5\%", "67/200"),
        (r"\$10", 10),
        ("$10$", 10),
        (r"\(10\)", 10),
        (r"\text{10}", 10),
        (r"\left(10\right)", 10),
        ("**10**", 10),
        ("１０", 10),
        ("6.02e23", 602 * 10**21),
        (r"6.02\times10^{23}", 602 * 10**21),
        (r"1.2\cdot 10^{-4}", "3/25000"),
        ("2^10", 1024),
        ("10⁻³", "1/1000"),
        ("(-2)^2", 4),
        ("-2^2", -4),
        (r"0.\overline{9}", 1),
        (r"0.1\overline{6}", "1/6"),
        ("3×4", 12),
    ],
)
def test_numbers_are_read_exactly(answer: str, value: int | str) -> None:
    finding = compare(answer, str(value))
    assert (finding.same, finding.stage) == (True, "key")
    assert compare(answer, f"{value}1").same is False


@pytest.mark.parametrize(
    "answer",
    [
        "", "x", "10,20", "1, 234", "1 2", "12 34", "1. 5", "1,23,456", "1,2345", "3:30", "2516_8",
        "x=3", "\\pm 2", "5 or 6", "(1,234", "1/0", "0^{-1}", "1/2/", "1e",
        "nan", "inf", "1.2.3", "50% 1", "5 cm", "1,,2", "--", "1-", "x1", "2^{", "}", "\\frac{1}",
    ],
)  # fmt: skip
def test_everything_else_is_no_number(answer: str) -> None:
    key = key_of(answer)
    assert key is None or key.sort != "number"


ANSWERS = st.text(alphabet="0123456789.,/ -+%^{}()\\$abxyzfrctions√π½，", max_size=24)


@given(st.one_of(ANSWERS, st.from_regex(r"-?[0-9.]{1,6}|[A-Za-z]{1,6}", fullmatch=True)))
def test_short_cuts_change_no_value(answer: str) -> None:
    spaced = f" {answer}"  # takes no short cut, and no space means anything at the start
    assert normal(answer) == normal(spaced)
    assert key_of(answer) == key_of(spaced)


@given(ANSWERS)
def test_a_spelling_is_a_fixed_point(answer: str) -> None:
    assert normal(normal(answer)) == normal(answer)


@pytest.mark.parametrize(
    ("response", "gold", "reward", "reason"),
    [
        (r"\boxed{0.5}", "1/2", 1.0, "correct"),
        (r"\boxed{0.6}", "1/2", 0.0, "wrong"),
        ("I give up", "1/2", 0.0, "no_answer"),
        (r"\boxed{$ $}", "1/2", 0.0, "no_answer"),
        (r"\boxed{x}", "1/2", 0.0, "wrong"),
        (r"\boxed{3 pears}", "3 apples", None, "unit_unclear"),
        (r"\boxed{50}", r"50\%", 1.0, "correct"),
        (r"\boxed{1}", None, None, "bad_reference"),
        (r"\boxed{1}", " ", None, "bad_reference"),
        (r"\boxed{1}", r"\frac{1}{2", None, "bad_reference"),
        ("I give up", None, None, "bad_reference"),  # our fault comes first
    ],
)
def test_the_models_fault_is_0_and_ours_is_none(
    response: str, gold: str | None, reward: float | None, reason: str
) -> None:
    verdict = check(response, gold, {}, [])
    assert (verdict.reward, verdict.reason) == (reward, reason)


@pytest.mark.parametrize(
    ("gold", "is_readable"), [(r"\{1\}", True), ("}{", False), (r"\\{", False)]
)
def test_braces_of_a_reference_pair_up(gold: str, is_readable: bool) -> None:
    assert readable(gold) is is_readable
