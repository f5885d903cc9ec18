"""Texts with everything in them that a tokenizer can get wrong."""

from __future__ import annotations

from hypothesis import strategies as st

_WORDS = ["a", "to", "in", "word", "Number", "defghijk", "lmnopqrstu", "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", "1", "22", "007", "alpha", "text", "mathbf", "pmatrix", "frac12", "oint"]  # fmt: skip
_LATEX = [
    r"\frac12", r"\dfrac123x", r"\frac1{2}", r"\FRAC12", r"\frac", r"\alpha", r"\Delta", r"\text",
    r"\begin{pmatrix}", r"\to", r"\in", r"\oint", r"\log2", r"\(", r"\\", "\\", "{", "}", "$", "^", "_",
]  # fmt: skip
_SIGNS = [
    *"x²³₂ⁿαβΩϵ½①㍿一二か々é√∞≤×’—ﬁＡ\u00ad\u200b\u0301\x00\x85\u2028\xa0😀ﷺ𝛼𝐱한ß٣",
    "ａｌｐｈａ",
    "ᵃˡᵖʰᵃ",
    "e\u0301",
]
_GAPS = [" ", " ", " ", ". ", ", ", "\n", "\r", "\r\n", "\t", "\x0b", "\x1c", "-", "'", ""]
_LONG = [" " * 70, "a" * 70, "/" * 64, "a,b;" * 40, "x" * 63 + "²", "一" * 70]
_NO_UTF8 = [b"\xff", b"\xc3", b"\xe4\xb8", b"\xed\xa0\x80", b"\xf0\x80\x80\x80", b"\xf5\x80\x80\x80",
            b"\xc0\xaf", b"\x80", b"\xf0\x9f\x98"]  # fmt: skip

pieces = st.one_of(
    st.sampled_from(_WORDS), st.sampled_from(_GAPS), st.sampled_from(_LATEX),
    st.sampled_from(_SIGNS), st.sampled_from(_LONG), st.text(max_size=3),
)  # fmt: skip

texts = st.one_of(
    st.lists(pieces, max_size=60).map("".join),
    st.lists(st.sampled_from([*_WORDS, *_GAPS]), max_size=60).map("".join),
    st.lists(st.sampled_from([*_WORDS, *_LATEX, *_GAPS]), max_size=60).map("".join),
    st.text(),
)

raws = st.one_of(
    texts.map(
        lambda text: text.encode("utf-8", "surrogateescape" if text.isascii() else "replace")
    ),
    st.lists(
        st.one_of(
            pieces.map(lambda text: text.encode("utf-8", "replace")), st.sampled_from(_NO_UTF8)
        ),
        max_size=40,
    ).map(b"".join),
    st.binary(max_size=40),
)
