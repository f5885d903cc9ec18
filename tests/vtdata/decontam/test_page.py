from __future__ import annotations

import re
import shutil
import subprocess
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tests.vtdata.decontam.hits import BENCHMARKS, SECRET, candidate, found
from vtdata.decontam.report import Power, summary, write_html
from vtdata.decontam.report.article import article
from vtdata.decontam.report.markup import shown
from vtdata.decontam.report.page import PAGE
from vtdata.decontam.report.words import compare, keys_of
from vtdata.errors import ConfigError

POWER: Power = {
    "recall": {"exact": {"found": 50, "of": 50}, "edited": {"found": 45, "of": 50}},
    "false_flags": {"prompts": {"found": 1, "of": 100}},
}
VOID = {"meta", "input"}
HOSTILE = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</template></article></main><svg/onload=alert(1)>",
    "<style>*{display:none}</style><!-- ",
    "{{hits}} {{script}} &lt; &amp;",
    "]]> <![CDATA[ javascript:alert(1)",
]


class Page(HTMLParser):
    """Elements, attributes and text, and whether every element is closed in its place."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[tuple[str, ...], str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((tuple(self.open), data))

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)

    def text(self, *path: str) -> str:
        """All text inside elements of these names, nested in this order."""
        return "".join(
            text for open_, text in self.texts if [tag for tag in open_ if tag in path] == [*path]
        )


def page(tmp_path: Path, hits: pa.Table, **settings: Any) -> str:
    write_html(
        hits,
        tmp_path / "e.html",
        corpus="two shards",
        profile="evidence-1",
        benchmarks=BENCHMARKS,
        **settings,
    )
    return (tmp_path / "e.html").read_text(encoding="utf-8")


def test_the_page_needs_nothing_but_itself(tmp_path: Path) -> None:
    text = page(tmp_path, found(candidate()), power=POWER)
    parsed = Page(text)
    assert not re.search(r"https?:|//[a-z]|@import|url\(", text)
    for tag, attributes in parsed.elements:
        assert not {name for name in attributes if name.startswith("on")}
        assert not attributes.keys() & {"src", "style", "srcset", "action", "srcdoc"}
        assert (attributes.get("href") or "#").startswith("#")
        assert tag not in {"link", "iframe", "object", "embed", "base", "img"}
    policy = next(a["content"] for _, a in parsed.elements if "http-equiv" in a)
    for tag in ("style", "script"):
        digest = b64encode(sha256(parsed.text(tag).encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")


@pytest.mark.parametrize("evil", HOSTILE)
def test_text_is_never_markup(tmp_path: Path, evil: str) -> None:
    plain = Page(page(tmp_path, found(candidate("mild", doc="d", file="f"))))
    text = page(
        tmp_path,
        found(candidate(evil, doc=evil, file=evil, field=evil, side=evil, via=evil, date=evil)),
    )
    parsed = Page(text)
    assert parsed.count("script") == plain.count("script") == 1
    assert {tag for tag, _ in parsed.elements} <= {tag for tag, _ in plain.elements} | {"b", "mark"}
    assert evil in parsed.text("main", "article", "p", "bdi")
    assert [a.get("data-side") for tag, a in parsed.elements if tag == "article"] == [evil]
    assert evil in [a.get("value") for tag, a in parsed.elements if tag == "option"]
    assert parsed.text("main", "article", "div", "section", "div").startswith(evil)


@given(text=st.text(max_size=80))
def test_shown_text_reads_back_and_hides_nothing(text: str) -> None:
    html = shown(text)
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]", html
    )
    spelled = re.sub(
        r'<span class="hidden-char" title="[^"<>]*">(U\+[0-9A-F]+)</span>', r"\1", html
    )
    assert "<" not in spelled
    for spelling in set(re.findall(r'">U\+([0-9A-F]+)</span>', html)):
        assert chr(int(spelling, 16)) in text
    if all(char.isprintable() for char in text):
        read = Page(html)
        assert "".join(data for _, data in read.texts) == text


@given(left=st.text(max_size=60), right=st.text(max_size=60))
def test_the_page_of_any_two_texts_holds_both(left: str, right: str) -> None:
    hit = found(candidate("x")).to_pylist()[0] | {"doc_text": left, "item_text": right}
    parsed = Page(article(1, hit))
    assert parsed.count("article") == 1
    for pieces, whole in zip(compare(left, right), (left, right), strict=True):
        assert "".join(piece.text for piece in pieces) == whole
    if left.isprintable() and right.isprintable():
        assert parsed.text("article", "div", "section", "div") == left + right


@given(text=st.text(max_size=60))
def test_a_text_equals_itself(text: str) -> None:
    for pieces in compare(text, text):
        assert {piece.kind for piece in pieces} <= ({"equal"} if text.strip() else {"changed"})


@pytest.mark.parametrize(
    ("left", "right", "pieces"),
    [
        ("buy 3 pens", "buy 4 pens", [("equal", "buy "), ("number", "3 "), ("equal", "pens")]),
        (
            "Buy ３ pens",
            "BUY 3 pens",
            [("equal", "Buy ３ pens")],
        ),  # width and case are no difference
        ("a b c", "a c", [("equal", "a "), ("only", "b "), ("equal", "c")]),
        ("a x c", "a y c", [("equal", "a "), ("changed", "x "), ("equal", "c")]),
        ("有12个梨", "有15个梨", [("equal", "有"), ("number", "12"), ("equal", "个梨")]),
        ("一二三", "一四三", [("equal", "一"), ("changed", "二"), ("equal", "三")]),
        ("p q, r s", "t u, v w", [("changed", "p q, r s")]),  # a comma in common is no match
        ("1,000.5 m", "1,000.6 m", [("number", "1,000.5 "), ("equal", "m")]),
        ("", "a", []),
        ("  ", "a", [("changed", "  ")]),
    ],
)
def test_what_agrees_and_what_differs(left: str, right: str, pieces: list[tuple[str, str]]) -> None:
    assert [(piece.kind, piece.text) for piece in compare(left, right)[0]] == pieces


def test_words_do_not_depend_on_case_or_punctuation() -> None:
    assert keys_of("Find  M+N, where…") == keys_of("find m, n WHERE") == ["find", "m", "n", "where"]


def test_gated_items_are_withheld(tmp_path: Path) -> None:
    text = page(tmp_path, found(candidate(bench="gated")))
    assert SECRET[:20] not in text
    assert f"Withheld: the benchmark is gated. sha256 {BENCHMARKS['gated'].items[0].hash}" in text


def test_the_first_page_stands_without_javascript_and_the_rest_waits(tmp_path: Path) -> None:
    hits = found(*(candidate(row=row, strength=1 - row / 1000) for row in range(PAGE + 30)))
    parsed = Page(page(tmp_path, hits))
    assert parsed.count("template") == 30
    ids = [a["id"] for tag, a in parsed.elements if tag == "article"]
    assert ids == [f"hit-{number}" for number in range(1, PAGE + 31)]
    assert (
        "Without JavaScript this page shows the first 50 of 80 hits, and no filters."
        in parsed.text("noscript", "p")
    )
    assert f"const PAGE = {PAGE};" in parsed.text("script")


def test_a_page_has_an_end_and_says_so(tmp_path: Path) -> None:
    hits = found(*(candidate(row=row, strength=1 - row / 1000) for row in range(7)))
    text = page(tmp_path, hits, max_hits=3)
    assert (
        "The strongest 3 of 7 hits are on this page; all of them are in evidence.parquet." in text
    )
    assert "row 2, <bdi>prompt" in text
    assert "row 3, <bdi>prompt" not in text
    assert "are on this page" not in page(tmp_path, hits, max_hits=7)


def test_counts_stand_on_top_and_benchmarks_without_a_hit_too(tmp_path: Path) -> None:
    hits = found(candidate(), candidate(row=1, verdict="template"), candidate(bench="paid"))
    parsed = Page(page(tmp_path, hits, power=POWER))
    rows = re.findall(
        r"open|gated|paid|silent|\d+", parsed.text("table", "tbody", "tr", "th", "bdi")
    )
    assert rows == ["gated", "open", "paid", "silent"]
    cells = re.search(r"<bdi>open</bdi></th>(.*?)</tr>", page(tmp_path, hits))
    assert cells is not None
    assert re.findall(r"<td>(\d+)</td>", cells.group(1)) == ["0", "1", "0", "1", "0", "2"]
    assert parsed.text("header", "p").startswith(
        "3 hits, 2 of them of a class that is dropped; recall 0.950 (95 % interval 0.887 to 0.984), "
        "over 100 planted items of 2 kinds"
    )


def test_pages_are_equal_for_equal_evidence(tmp_path: Path) -> None:
    rows = [candidate(row=row) for row in range(5)]
    assert page(tmp_path, found(*rows)) == page(tmp_path, found(*reversed(rows)))


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_script_is_javascript() -> None:
    script = Path(__file__).parents[3] / "vtdata/decontam/report/html/page.js"
    assert subprocess.run(["node", "--check", script], check=False).returncode == 0


def printed(hits: pa.Table, power: Power | None = None) -> str:
    console = Console(file=StringIO(), width=100, force_terminal=True, color_system=None)
    console.print(summary(hits, BENCHMARKS, power=power))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_a_terminal_shows_counts_and_the_strongest_five() -> None:
    hits = found(*(candidate(f"text {row}", row=row, strength=1 - row / 100) for row in range(7)))
    lines = [line.strip() for line in printed(hits).splitlines()]
    assert "silent          0      0             0          0         0     0" in lines
    assert "open            0      7             0          0         0     7" in lines
    assert [line[-6:] for line in lines if line.startswith("near")] == [
        f"text {n}" for n in range(5)
    ]
    assert "and 2 more hits" in lines
    assert lines[-1] == "7 hits, 7 of them of a class that is dropped; recall was not measured"


def test_corpus_text_can_not_write_on_the_terminal() -> None:
    text = printed(found(candidate("[red]a[/red]\x1b[2J\u202eb\nc")))
    assert "[red]a[/red]<U+001B>[2J<U+202E>b c" in text
    assert "\x1b[2J" not in text


def test_nothing_is_called_clean() -> None:
    none = found(candidate()).slice(0, 0)
    assert printed(none, POWER).splitlines()[0] == (
        "no hit at recall 0.950 (95 % interval 0.887 to 0.984), over 100 planted items of 2 kinds"
    )
    assert printed(none, POWER).splitlines()[1:] == [
        "  found of planted: edited 45/50, exact 50/50",
        "  flagged without a plant: 0.010 (95 % interval 0.000 to 0.054): prompts 1/100",
    ]
    assert "clean" not in printed(none) + printed(none, POWER)
    assert "recall was not measured" in printed(none)
    empty: Power = {"recall": {"exact": {"found": 0, "of": 0}}, "false_flags": {}}
    assert "recall was not measured" in printed(none, empty)


def test_power_of_another_shape_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="power needs 'recall' and 'false_flags', got"):
        page(tmp_path, found(candidate()), power={"recall": {}})
    with pytest.raises(ConfigError, match="recall of 'exact': need 'found' and 'of', got"):
        page(
            tmp_path, found(candidate()), power={"recall": {"exact": {"of": 3}}, "false_flags": {}}
        )
