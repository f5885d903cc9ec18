"""Candidates of an index: where items are found, and what may change a score: nothing else."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bench.bench_decontam_cases import SHARED, benchmark
from tests.vtdata.decontam.hits import bench
from vtdata.decontam.benchmark import Benchmark
from vtdata.decontam.candidate import CANDIDATE, DROPPED
from vtdata.decontam.index import Index, build
from vtdata.decontam.normal.phrases import weights
from vtdata.decontam.normal.tokens import words
from vtdata.decontam.profile import EVIDENCE, PAPER, PROFILES, Profile, judge
from vtdata.decontam.report import evidence
from vtdata.errors import ConfigError

FOXES = (
    "Seventeen hedgehogs cross the marble bridge at dawn, each of them carrying 9 lanterns; "
    "how many lanterns reach the other side?"
)
LATEX = (
    r"Let $f(x)=\dfrac{x^2}{12}-\sqrt{\alpha}$ for every real $x \leq 40$ that the gardener "
    r"chose. Which $x$ makes $f(x)$ as large as the gardener's oldest number $\beta$?"
)
HAN = "张老师把35支铅笔分给7个学生，每个学生又送给邻班的朋友2支铅笔，请问最后每个学生还剩几支铅笔？"
CODE = (
    "def shelve(books: list[str], width: int) -> int:\n"
    '    """Return how many shelves of this width the books need, tallest first."""\n'
    "    return sum(len(book) for book in books) // width\n"
)
SHORT = "Factor the number 391."
ITEMS = (FOXES, LATEX, HAN, CODE, SHORT)

HEADS = (
    "",
    "Read this first: nothing here is what it seems. ",
    "Wait… “naïve” ½ ﬁnd x² ≠ ∑ – ",
    "先看这一段文字，再回答。\n",
    "\u200bÅngström\u00a0🦔 ",
)


def texts(*own: str | bytes) -> pa.Array:
    raws = [text.encode() if isinstance(text, str) else text for text in own]
    return pa.array(raws, pa.binary())


def scanned(
    index: Index, *own: str | bytes, side: str = "prompt", rules: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Judged candidates that are hits."""
    found = judge(index.scan(texts(*own), side), index.profile)
    rows = found.filter(found["verdict"].is_valid()).to_pylist()
    return [row for row in rows if not rules or row["rule"] in rules]


def verdicts(index: Index, *own: str | bytes, side: str = "prompt") -> list[str | None]:
    """The verdict on item 0 for each text."""
    found = {row["text"]: row["verdict"] for row in scanned(index, *own, side=side)}
    return [found.get(at) for at in range(len(own))]


# What may change a score


VOCABULARY = [
    "red",
    "fox",
    "buys",
    "two",
    "warm",
    "pies",
    "at",
    "dawn",
    "7",
    "12",
    "where",
    "m",
    "and",
    "n",
    "are",
    "find",
    "狐",
    "狸",
]
SENTENCES = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=16).map(" ".join)
BENCHMARKS = st.lists(st.lists(SENTENCES, min_size=1, max_size=4), min_size=2, max_size=4)


@settings(max_examples=60)
@given(st.data(), BENCHMARKS, st.lists(SENTENCES, min_size=1, max_size=4))
@pytest.mark.parametrize("chosen", [EVIDENCE, PAPER], ids=lambda own: own.name)
def test_other_benchmarks_change_no_score(
    chosen: Profile, data: st.DataObject, items: list[list[str]], own: list[str]
) -> None:
    """Any subset of benchmarks in any order gives each of them the candidates it has alone."""
    benches = [bench(f"b{number}", *some) for number, some in enumerate(items)]
    order = data.draw(st.permutations(benches))
    some = order[: data.draw(st.integers(1, len(order)))]
    own += [text for text_items in items for text in text_items[:1]]
    for side in ("prompt", "response"):
        together = build(some, chosen).scan(texts(*own), side)
        for one in some:
            alone = build([one], chosen).scan(texts(*own), side)
            mine = together.filter(pa.compute.equal(together["bench"], one.name))
            assert mine.equals(alone)


@settings(max_examples=30)
@given(
    st.lists(SENTENCES, min_size=1, max_size=8),
    st.lists(st.integers(1, 3), min_size=8, max_size=8),
    st.sampled_from([pa.string(), pa.large_string(), pa.binary(), pa.large_binary()]),
)
def test_batches_change_no_candidate(own: list[str], sizes: list[int], kind: pa.DataType) -> None:
    index = build([bench("b", *own[::2], FOXES), bench("c", *own[:2])], EVIDENCE)
    own = [*own, FOXES, "Well. " + FOXES]
    whole = index.scan(texts(*own), "prompt")
    first, parts = 0, []
    for size in [*sizes, len(own)]:
        part = index.scan(pa.array(own[first : first + size]).cast(kind), "prompt")
        moved = pa.compute.add(part["text"], first).cast(pa.int32())
        parts.append(part.set_column(0, CANDIDATE.field("text"), moved))
        first += size
    assert pa.concat_tables(parts).equals(whole)


def test_an_item_that_was_copied_a_thousand_times_is_found_every_time() -> None:
    index = build([bench("b", *ITEMS)], EVIDENCE)
    copies = [f"{HEADS[n % 2]}{FOXES} Copy {n}" for n in range(1000)]
    found = scanned(index, *copies)
    assert [row["text"] for row in found if row["item"] == 0] == list(range(1000))
    assert {row["verdict"] for row in found if row["item"] == 0} == {"exact"}
    alone = scanned(index, copies[0])[0]
    assert found[0] == alone


PLAIN = """
import sys
import pyarrow as pa
import pyarrow.parquet as pq
from tests.vtdata.decontam.test_index import MIXED, all_items
from vtdata.decontam.index import build
from vtdata.decontam.profile import profile

index = build(all_items(), profile(sys.argv[1]))
found = [index.scan(pa.array(MIXED, pa.binary()), side) for side in ("prompt", "response")]
assert "vtdata.decontam.kernel.compiled" not in sys.modules
pq.write_table(pa.concat_tables(found), sys.argv[2])
"""

MIXED = [
    *(f"{head}{item} The end.".encode() for head in HEADS for item in ITEMS),
    *(item.encode() for item in ITEMS),
    FOXES.replace("9", "8").encode(),
    FOXES.replace("marble", "").replace("dawn", "noon").encode(),
    b"\xff\xfe" + LATEX.encode() + b"\xc3",
    HAN.encode()[1:],
    f"Question: {SHORT}\n{SHORT} Let's think step by step.".encode(),
    b"",
]


def all_items() -> list[Benchmark]:
    return [bench("mixed", *ITEMS), bench("twin", FOXES.replace("9", "7"), LATEX.upper())]


@pytest.mark.parametrize("name", PROFILES)
def test_plain_and_compiled_code_find_the_same(name: str, tmp_path: Path) -> None:
    """The plain way by a process of its own, whose cache of compiled code is empty."""
    path = tmp_path / "plain.parquet"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "empty")}
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", PLAIN, name, str(path)]
    subprocess.run(command, check=True, env=environment, cwd=root)
    import_module("vtdata.decontam.kernel.compiled")
    index = build(all_items(), PROFILES[name])
    found = pa.concat_tables([index.scan(texts(*MIXED), side) for side in ("prompt", "response")])
    assert found.num_rows > 40
    assert pq.read_table(path).equals(found)


# Where it stood


ODD_BYTES = st.lists(
    st.one_of(
        st.binary(max_size=6).filter(lambda raw: not re.search(rb"[a-zA-Z0-9\\\n\r]", raw)),
        st.sampled_from(
            ["𝔸 ", "ﬁ ", "x² ", "½", "é", "狐", "\\alpha ", "…", "🦔", "\u200b", "٣ "]
        ).map(str.encode),
    ),
    max_size=8,
).map(b"".join)


@given(ODD_BYTES, ODD_BYTES, st.sampled_from(ITEMS[:4]), st.sampled_from([EVIDENCE, PAPER]))
def test_spans_are_the_bytes_where_the_item_stands(
    before: bytes, after: bytes, item: str, chosen: Profile
) -> None:
    """Whatever stands around, the text cut at the span says what the item says, and nothing else."""
    raw = before + b" \n" + item.encode() + b"\n " + after
    index = build([bench("b", *ITEMS)], chosen)
    found = [row for row in scanned(index, raw) if ITEMS[row["item"]] == item]
    assert [row["verdict"] for row in found] == ["exact"]
    cut = raw[found[0]["start"] : found[0]["end"]]
    own = item.encode()[found[0]["item_start"] : found[0]["item_end"]]
    assert words(cut, chosen.form) == words(own, chosen.form) == words(item, chosen.form)
    assert cut.decode() in item  # no byte more than the words need


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(
    ("item", "text"),
    [
        (LATEX, LATEX.replace(r"\dfrac{x^2}{12}", "x²/12").replace(r"\leq", "≤")),
        (LATEX, LATEX.replace("$", r"\(").replace(r"\alpha", "α").replace(r"\beta", "β")),
        (LATEX, LATEX.replace(r"\dfrac", r"\frac").replace(" ", "\u00a0")),
        (FOXES, FOXES.upper().replace(" ", "  ")),
        (FOXES, FOXES.replace("Seventeen", "𝐒𝐞𝐯𝐞𝐧𝐭𝐞𝐞𝐧").replace("9", "９")),
        (HAN, HAN.replace("，", ", ").replace("？", "?")),
        (HAN, HAN.replace("35", "３５")),
    ],
)
def test_other_spellings_are_exact_with_a_span_of_their_own(
    head: str, item: str, text: str
) -> None:
    raw = f"{head}{text}".encode()
    found = scanned(build([bench("b", *ITEMS)], EVIDENCE), raw)
    assert [(row["verdict"], ITEMS[row["item"]]) for row in found] == [("exact", item)]
    assert words(raw[found[0]["start"] : found[0]["end"]], "evidence") == words(item, "evidence")


def test_part_of_an_item_points_at_that_part() -> None:
    half = FOXES[: FOXES.index(";")]
    found = scanned(build([bench("b", *ITEMS)], EVIDENCE), f"Note. {half}, said Ann.")
    assert [row["verdict"] for row in found] == ["near"]
    raw = FOXES.encode()[found[0]["item_start"] : found[0]["item_end"]]
    assert raw.decode() == half


def test_null_and_empty_texts_hold_nothing() -> None:
    index = build([bench("b", *ITEMS)], EVIDENCE)
    found = index.scan(pa.array([None, "", FOXES, None]), "prompt")
    assert set(found["text"].to_pylist()) == {2}


# Short items


@pytest.mark.parametrize("chosen", [EVIDENCE, PAPER], ids=lambda own: own.name)
@pytest.mark.parametrize("side", ["prompt", "response"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SHORT, "short_exact"),
        ("**factor THE number 391**", "short_exact"),
        (f"Two tasks.\n{SHORT}\nThen rest.", "short_exact"),
        (f"Two tasks.\r\n  {SHORT}\r\nThen rest.", "short_exact"),
        (f"Question: {SHORT}", "short_exact"),
        (f"### Problem\n{SHORT}", "short_exact"),
        (f"Problem 3. {SHORT}", "short_exact"),
        (f"Solve the following math problem: {SHORT}", "short_exact"),
        (f"Please {SHORT}", "short_exact"),
        (f"Problem: {SHORT}\nAnswer: 17 · 23", "short_exact"),
        (rf"{SHORT} Please reason step by step, and put your final answer within \boxed{{}}.",
         "short_exact"),
        (f"{SHORT} Let's think step by step.", "short_exact"),
        (f"Now, {SHORT}", None),
        (f"First, we factor the number 391. {SHORT}", None),
        (f"{SHORT} Then divide it by four.", None),
        ("Factor the number 393.", None),
        ("Factor the number.", None),
    ],
)  # fmt: skip
def test_short_items_are_a_whole_text_or_a_whole_line(
    text: str, expected: str | None, side: str, chosen: Profile
) -> None:
    found = scanned(build([bench("b", SHORT)], chosen), text, side=side, rules=["short"])
    assert [row["verdict"] for row in found] == ([expected] if expected else [])
    for row in found:
        said = words(text.encode()[row["start"] : row["end"]], "evidence")
        assert said[-4:] == words(SHORT, "evidence")


@pytest.mark.parametrize(
    ("num_words", "is_short"),
    [(1, True), (9, True), (10, False)],
)
def test_items_of_up_to_nine_words_are_short(num_words: int, is_short: bool) -> None:
    item = " ".join(["Name", "every", "odd", "prime", "below", "the", "largest", "known", "perfect",
                     "square"][:num_words])  # fmt: skip
    found = scanned(build([bench("b", item)], EVIDENCE), f"{item}\nok", rules=["short"])
    assert bool(found) is is_short


def test_a_chinese_short_item_with_its_label() -> None:
    index = build([bench("b", "求391的因数")], EVIDENCE)
    assert verdicts(index, "题目：求391的因数", "求391的因数。请逐步推理。", "他说求391的因数吧") == [
        "short_exact", "short_exact", None,
    ]  # fmt: skip


# Other numbers, boilerplate


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (FOXES, "exact"),
        (FOXES.replace("9", "11"), "template"),
        (FOXES.replace("Seventeen", "Twenty"), "template"),
        (FOXES.replace("Seventeen", "17"), "exact"),
        (FOXES.replace("marble", "wooden"), "near"),
        (HAN.replace("35", "42").replace("7", "6"), "template"),
    ],
)
def test_an_item_with_other_numbers_is_a_template(text: str, expected: str) -> None:
    assert scanned(build([bench("b", *ITEMS)], EVIDENCE), text)[0]["verdict"] == expected


def test_a_template_with_every_third_word_a_number_is_found_in_prompts() -> None:
    item = "If 3 x + 7 y = 41 and 5 x - 2 y = 19, what are the values of 4 x + 9 y and 6 x?"
    text = re.sub(r"\d+", lambda match: str(int(match[0]) + 8), item)
    index = build([bench("b", item, FOXES)], EVIDENCE)
    assert verdicts(index, text) == ["template"]


BOILERPLATE = (
    "The area can be written in the form $\\frac{p}{q}$, where $p$ and $q$ are relatively prime "
    "positive integers. Find $p+q$."
)


def test_boilerplate_is_no_hit() -> None:
    item = f"A hedgehog paints a triangular field with sides 13, 14 and 15. {BOILERPLATE}"
    text = f"Two circles of radius 5 and 8 touch from outside near a cliff. {BOILERPLATE}"
    assert verdicts(build([bench("b", item, FOXES)], EVIDENCE), text) == [None]
    assert verdicts(build([bench("b", item, FOXES)], PAPER), text) == ["near"]  # the rule as it is


has_aime = pytest.mark.skipif(
    not (SHARED / "benchmarks").is_dir(), reason="the benchmarks of ../shared are not here"
)


@has_aime
@pytest.mark.parametrize(("items", "own"), [("aime24", "aime25"), ("aime25", "aime24")])
def test_contests_of_two_years_have_no_hit_in_common(items: str, own: str) -> None:
    index = build([benchmark(items)], EVIDENCE)
    prompts = [item.text for item in benchmark(own).items]
    for side in ("prompt", "response"):
        assert [
            row for row in scanned(index, *prompts, side=side) if row["verdict"] != "suspect"
        ] == []


@has_aime
def test_a_contest_item_with_other_numbers_is_a_template() -> None:
    """All numbers of two digits and more are changed, where an item has at least two of them."""
    both = [benchmark("aime24"), benchmark("aime25")]
    index = build(both, EVIDENCE)
    changed, expected = [], []
    for one in both:
        for item in one.items:
            bare = re.sub(r"\[asy\].*?\[/asy\]", "", item.text, flags=re.DOTALL)
            text = re.sub(r"\d{2,}", lambda match: str(int(match[0]) + 3), bare)
            if len(re.findall(r"\d{2,}", bare)) >= 2:
                changed.append(text)
                expected.append((one.name, item.index))
    rows = scanned(index, *changed)
    templates = {(expected[r["text"]]) for r in rows if r["verdict"] == "template"
                 and (r["bench"], r["item"]) == expected[r["text"]]}  # fmt: skip
    assert len(expected) >= 25
    assert len(templates) >= 0.9 * len(expected)
    assert not [row for row in rows if row["verdict"] in DROPPED]


# What is refused, and what is not shown


def test_an_empty_deny_set_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        build([], EVIDENCE)
    said = "decontamination against no benchmark finds nothing: name at least one"
    assert str(caught.value) == said


def test_a_benchmark_without_items_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        build([bench("b", FOXES), bench("hollow")], EVIDENCE)
    assert str(caught.value) == "benchmark 'hollow' has no items: nothing would be found"


def test_items_without_evidence_are_named() -> None:
    only = r"Please reason step by step, and put your final answer within \boxed{}."
    index = build([bench("b", only, FOXES, "", "Why?")], EVIDENCE)
    assert index.without_evidence == [("b", 0), ("b", 2)]
    assert scanned(index, only) == []


def test_a_gated_item_is_found_and_its_text_is_not_shown() -> None:
    shown, hidden = bench("b", FOXES), bench("b", FOXES, gated=True)
    rows = [
        build([one], EVIDENCE).scan(texts("Well. " + FOXES), "prompt") for one in (shown, hidden)
    ]
    assert rows[0].equals(rows[1])
    place = {"doc": ["d"], "file": ["f"], "row": [0], "field": ["prompt"], "side": ["prompt"]}
    hits = judge(rows[0], EVIDENCE)
    for name, value in place.items():
        kind = pa.int64() if name == "row" else pa.string()
        hits = hits.append_column(name, pa.array(value, kind))
    hits = hits.append_column("rollout", pa.nulls(1, pa.int32()))
    hits = hits.append_column("raw", pa.array(["Well. " + FOXES]))
    known, secret = (
        evidence(hits, {"b": one}, "evidence-1").to_pylist()[0] for one in (shown, hidden)
    )
    assert known["item_text"] == secret["doc_text"] == FOXES[: FOXES.rindex("?")]
    assert (secret["item_text"], secret["grams"], secret["before"]) == (None, None, None)
    assert secret["item_hash"] == hidden.items[0].hash


def test_coverage_weighs_n_grams_by_how_many_items_have_them() -> None:
    """Of N items df have it: 1 - log(df) / log(N + 1)."""
    index = build([bench("b", "a b c d e f g h", "a b c d e red foxes", "no such words")], EVIDENCE)
    found = index.scan(texts("well a b c d e well"), "response").to_pylist()
    shared = 1 - math.log(2) / math.log(4)
    coverage = {row["item"]: row["coverage"] for row in found}
    assert coverage.get(0, 0.0) == pytest.approx(shared / (shared + 3))
    assert coverage.get(1, 0.0) == pytest.approx(shared / (shared + 2))


def test_light_words_weigh_a_tenth_in_coverage() -> None:
    """Half of an item is boilerplate; the other half is nearly all of its coverage."""
    index = build([bench("b", f"{FOXES} {BOILERPLATE}", CODE)], EVIDENCE)
    found = index.scan(texts(FOXES, BOILERPLATE), "response").to_pylist()
    assert [row["text"] for row in found] == [0]
    assert found[0]["coverage"] > 0.7
    assert min(weights(words(BOILERPLATE, "evidence"))) == 0.1
