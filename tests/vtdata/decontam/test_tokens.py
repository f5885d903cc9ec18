from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.vtdata.decontam.soup import raws
from vtdata.decontam.normal.tokens import FORMS, tokens, words

forms = st.sampled_from(FORMS)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (r"\(\dfrac{1}{2}\)", "1/2"),
        (r"\frac12", "½"),
        (r"\tfrac12x", r"\frac{1}{2}x"),
        (r"x^{2}", "x²"),
        (r"a_1", "a₁"),
        (r"\alpha\beta", "α β"),
        (r"$m\leq n$", "m ≤ n"),
        ("don’t", "don't"),
        ("CAFÉ", "cafe\u0301"),
        (r"\begin{pmatrix}1 & 2\end{pmatrix}", r"\begin 1 2 \end"),
        ("３５", "35"),
        ("ﬁnd", "FIND"),
        ("5㎛", "5μm"),
        ("soft\u00adware", "software"),
        ("mathbf x alpha", r"\mathbf x \alpha"),
    ],
)
def test_two_spellings_are_the_same_tokens(left: str, right: str) -> None:
    assert words(left, "evidence") == words(right, "evidence")


@pytest.mark.parametrize(
    ("text", "evidence", "paper"),
    [
        ("x²/3", "x 2 3", "x23"),
        ("约翰有3个苹果", "约 翰 有 3 个 苹 果", "约 翰 有 3 个 苹 果"),
        ("to go", "to go", "to go"),
        (r"\to go", "go", "to go"),
        (r"\frac123", "1 2 3", "frac123"),
        (r"\frac{12}3", "12 3", "frac123"),
        (r"\log2", "log 2", "log2"),
        (r"√2 ∞", "sqrt 2 infty", "2"),
        ("αβx", "αβ x", "αβx"),
        ("", "", ""),
        ("\ufffd\x00-", "", ""),
    ],
)
def test_words(text: str, evidence: str, paper: str) -> None:
    assert " ".join(words(text, "evidence")) == evidence
    assert " ".join(words(text, "paper")) == paper


@settings(max_examples=300, deadline=None)
@given(raws, forms)
def test_tokens_stand_where_they_say(raw: bytes, form: str) -> None:
    """The bytes of a token say the same by themselves, and tokens come in order."""
    last = 0
    for token in tokens(raw, form):
        assert 0 <= token.start < token.end <= len(raw)
        assert token.start >= last or raw[token.start : token.end].decode()[0] > "\x7f"
        last = token.start
        if form == "paper":
            assert token.text in words(raw[token.start : token.end], form)


@settings(max_examples=300, deadline=None)
@given(raws, forms)
def test_what_was_normalized_stays_the_same(raw: bytes, form: str) -> None:
    once = words(raw, form)
    assert words(" ".join(once), form) == once


@settings(max_examples=300, deadline=None)
@given(raws, forms)
def test_words_are_the_texts_of_tokens(raw: bytes, form: str) -> None:
    assert words(raw, form) == [token.text for token in tokens(raw, form)]
