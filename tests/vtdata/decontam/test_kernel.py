from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vtdata
from tests.vtdata.decontam.soup import raws
from vtdata.decontam.kernel import COMPILE_FROM_BYTES, Grams, Hits, choose, grams
from vtdata.decontam.kernel.columns import columns, padded
from vtdata.decontam.kernel.tables import hash_word
from vtdata.decontam.normal.tokens import FORMS, tokens

forms = st.sampled_from(FORMS)
WAYS = ("plain", "compiled")
SIGNED = 1 << 63


def traced(texts: list[bytes], form: str) -> list[tuple[int, ...]]:
    rows = Grams.compile([], [], form, 5).traced(pa.array(texts, pa.binary()))
    return [tuple(row) for row in rows.tolist()]


def expected(texts: list[bytes], form: str) -> list[tuple[int, ...]]:
    return [
        (number, token.start, token.end, (hash_word(token.text) + SIGNED) % (1 << 64) - SIGNED)
        for number, raw in enumerate(texts)
        for token in tokens(raw, form)
    ]


def columns_of(hits: Hits) -> dict[str, list]:
    both = [(name, hits) for name in ("text", "token", "start", "end", "gram", "n_tokens")]
    both += [(field.name, hits.shorts) for field in dataclasses.fields(hits.shorts)]
    return {
        f"{type(owner).__name__}.{name}": [
            getattr(owner, name).dtype,
            *getattr(owner, name).tolist(),
        ]
        for name, owner in both
    }


def found(
    texts: pa.Array | pa.ChunkedArray,
    grams: list[str],
    shorts: list[str],
    n: int,
    form: str = "evidence",
) -> Hits:
    """Hits of both ways, which are the same."""
    made = Grams.compile([g.split() for g in grams], [s.split() for s in shorts], form, n)
    plain, compiled = (made.hits(texts, way=way) for way in WAYS)
    assert columns_of(plain) == columns_of(compiled)
    return compiled


def rows(hits: Hits) -> list[tuple[int, ...]]:
    return list(
        zip(
            *(getattr(hits, name).tolist() for name in ("text", "token", "start", "end", "gram")),
            strict=True,
        )
    )


def short_rows(hits: Hits) -> list[tuple]:
    names = ("text", "token", "start", "end", "short", "ends_line", "ends_text")
    return list(zip(*(getattr(hits.shorts, name).tolist() for name in names), strict=True))


@settings(max_examples=400, deadline=None)
@given(st.lists(raws, max_size=6), forms)
def test_compiled_tokens_are_those_of_the_rule(texts: list[bytes], form: str) -> None:
    assert traced(texts, form) == expected(texts, form)


@settings(max_examples=60, deadline=None)
@given(st.lists(raws, min_size=1, max_size=8), st.integers(0, 200), forms)
def test_blocks_have_no_borders(parts: list[bytes], before: int, form: str) -> None:
    """The same at every offset from the text's beginning, and from the buffer's."""
    texts = [
        b" " * before + b"".join(parts),
        b"x" * before + b"".join(parts) * 5,
        b"\\" * before + parts[0],
    ]
    assert traced(texts, form) == expected(texts, form)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "char", ["a", "é", "一", "²", "½", ",", "a,", r"\frac12", "\u00ad", "\xa0"]
)
def test_long_texts_of_one_character(char: str, form: str) -> None:
    texts = [(char * count).encode() for count in (63, 64, 65, 4_000, 40_000)]
    assert traced(texts, form) == expected(texts, form)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(
            st.sampled_from([*"abcx", "to", "\n", "\r\n", ".", "—", "一", r"\in"]), max_size=400
        ),
        max_size=8,
    ),
    st.integers(2, 6),
    st.integers(0, 2**32 - 1),
    forms,
)
def test_plain_and_compiled_hits_are_the_same(
    texts: list[list[str]], n: int, seed: int, form: str
) -> None:
    choice = np.random.default_rng(seed)
    grams = {" ".join(choice.choice(list("abc"), n)) for _ in range(30)}
    shorts = {" ".join(choice.choice(list("abc"), choice.integers(1, 5))) for _ in range(15)}
    found(
        pa.array([" ".join(text) for text in texts], pa.large_string()),
        sorted(grams),
        sorted(shorts),
        n,
        form,
    )


def test_a_long_text_is_read_in_parts() -> None:
    """More tokens than the buffers hold, n-grams and lines across their borders, and many hits."""
    text = "a b c\n" * 20_000
    hits = found(pa.array([text, "c a"]), ["a b", "c a"], ["a b c", "a b"], 2)
    assert len(hits) == 20_000 + 19_999 + 1
    assert hits.token[:4].tolist() == [0, 2, 3, 5]
    assert len(hits.shorts) == 40_000
    assert hits.n_tokens.tolist() == [60_000, 2]


def test_spans_are_bytes_of_the_raw_text() -> None:
    text = "Né: what’s $\\frac12$ of a  CAKE?"
    hits = found(pa.array([text]), ["1 2 of a", "s 1 2 of"], [], 4)
    spans = [
        text.encode()[start:end].decode() for start, end in zip(hits.start, hits.end, strict=True)
    ]
    assert spans == ["s $\\frac12$ of", "12$ of a"]


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("a b", [(0, 0, 0, 3, 0, True, True)]),
        ("A, b.", [(0, 0, 0, 4, 0, True, True)]),
        ("a b c", [(0, 0, 0, 3, 0, False, False)]),
        ("a b\nc", [(0, 0, 0, 3, 0, True, False)]),
        ("c\ra b\n", [(0, 1, 2, 5, 0, True, True)]),
        ("c a b", []),  # not at a line's beginning
        ("c\na\nb", []),  # over a line border, and not at the text's beginning
        ("a\nb\nc", [(0, 0, 0, 3, 0, True, False)]),  # at the text's
        ("\n\\to a b", [(0, 0, 5, 8, 0, True, True)]),  # what is no token doesn't begin a line
        ("c\n\\to\na b", [(0, 1, 6, 9, 0, True, True)]),
        ("x\u2028a b", []),  # other separators are no line borders
    ],
)
def test_short_items(text: str, hits: list[tuple]) -> None:
    assert short_rows(found(pa.array([text]), [], ["a b"], 5)) == hits


def test_a_short_item_within_another() -> None:
    hits = found(pa.array(["a b c"]), [], ["a", "a b c", "a b c d"], 5)
    assert short_rows(hits) == [(0, 0, 0, 1, 0, False, False), (0, 0, 0, 5, 1, True, True)]


TEXTS = ["zzz", None, "", "a b", "é a b", "a b c"]


@pytest.mark.parametrize(
    "texts",
    [
        pa.array(TEXTS),
        pa.array(TEXTS, pa.large_string()),
        pa.array([text and text.encode() for text in TEXTS], pa.binary()),
        pa.array(TEXTS, pa.string_view()),
        pa.array(["a b", *TEXTS, "a b"]).slice(1, 6),
        pa.chunked_array([TEXTS[:2], [], TEXTS[2:]], pa.string()),
        pa.chunked_array([pa.array(["a b", *TEXTS[:4]]).slice(1), pa.array(TEXTS[4:])]),
    ],
    ids=["string", "large", "binary", "view", "slice", "chunks", "slice and chunk"],
)
def test_every_kind_of_column(texts: pa.Array) -> None:
    hits = found(texts, ["a b"], [], 2)
    assert rows(hits) == [(3, 0, 0, 3, 0), (4, 1, 3, 6, 0), (5, 0, 0, 3, 0)]
    assert hits.n_tokens.tolist() == [1, 0, 0, 2, 3, 3]


def test_a_null_with_bytes_behind_it_is_no_text() -> None:
    offsets, data = np.array([0, 3, 6], np.int32), b"a ba b"
    valid = pa.py_buffer(bytes([0b10]))
    texts = pa.Array.from_buffers(
        pa.string(), 2, [valid, pa.py_buffer(offsets), pa.py_buffer(data)]
    )
    assert rows(found(texts, ["a b"], [], 2)) == [(1, 0, 0, 3, 0)]


def test_nothing_is_read_behind_a_buffer() -> None:
    """Texts near the end of a buffer are copied to where one can read on; others aren't."""
    (column,) = columns(pa.array(["x" * 100, "y" * 90, "z"]))
    whole = dataclasses.replace(column, data=column.data[:191])
    first, rest = padded(whole)
    assert first.data is whole.data
    assert first.ends.tolist() == [100]
    assert [rest.raw(row) for row in range(2)] == [b"y" * 90, b"z"]
    assert len(rest.data) - rest.ends.max() == 80


def test_a_column_of_numbers_is_an_error() -> None:
    with pytest.raises(
        TypeError, match="need strings to scan, got a column of int64: name a text field"
    ):
        Grams.compile([], [], "paper", 10).hits(pa.array([1]))


@pytest.mark.parametrize(
    ("rows", "shorts", "form", "n", "message"),
    [
        (["a b c"], [], "paper", 2, "need n-grams of n=2 tokens, got 'a b c'"),
        (["a b", "a b"], [], "paper", 2, "need each n-gram once, got 'a b' twice"),
        ([], ["a", "a"], "paper", 2, "need each short item once, got 'a' twice"),
        ([], [""], "paper", 2, "need short items of 1 to 12 tokens, got ''"),
        ([], ["a " * 13], "paper", 2, "need short items of 1 to 12 tokens, got"),
        ([], [], "loose", 2, r"need a form of \('evidence', 'paper'\), got 'loose'"),
        ([], [], "paper", 1, "need n-grams of at least 2 tokens, got n=1"),
    ],
)
def test_what_cannot_be_looked_for(
    rows: list[str], shorts: list[str], form: str, n: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Grams.compile([row.split() for row in rows], [row.split() for row in shorts], form, n)


@pytest.mark.parametrize(
    ("warm", "scanned", "num_bytes", "ahead", "way"),
    [
        (True, 0, 999_999, None, "plain"),
        (True, 0, 1_000_000, None, "compiled"),
        (True, 999_999, 1, None, "compiled"),
        (True, 0, 1, 1_000_000, "compiled"),
        (False, 0, 1, None, "plain"),
        (False, 0, COMPILE_FROM_BYTES, None, "compiled"),
        (False, 0, COMPILE_FROM_BYTES - 1, None, "plain"),
        (False, COMPILE_FROM_BYTES - 1, 1, None, "compiled"),
        (False, 0, 1, COMPILE_FROM_BYTES, "compiled"),
        (False, COMPILE_FROM_BYTES, 1, COMPILE_FROM_BYTES - 1, "plain"),
    ],
)
def test_which_way(
    monkeypatch: pytest.MonkeyPatch,
    warm: bool,
    scanned: int,
    num_bytes: int,
    ahead: int | None,
    way: str,
) -> None:
    monkeypatch.delitem(sys.modules, "vtdata.decontam.kernel.compiled", raising=False)
    monkeypatch.setattr(grams.cache, "is_warm", lambda: warm)
    monkeypatch.setattr(grams, "_PLAIN_BYTES", [scanned])
    assert choose(num_bytes, ahead) == way


FOLDER = "from vtdata.decontam.kernel import cache; print(cache.folder())"


def test_changed_code_has_a_cache_of_its_own(tmp_path: Path) -> None:
    """Although the file that is compiled keeps its time and size."""
    copy = tmp_path / "vtdata"
    source = Path(vtdata.__file__).parent
    for name in ("__init__.py", "errors.py", "decontam"):
        if (source / name).is_dir():
            shutil.copytree(
                source / name, copy / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            copy.mkdir(exist_ok=True)
            shutil.copy2(source / name, copy / name)

    def folder() -> str:
        env = {
            **os.environ,
            "PYTHONPATH": str(tmp_path),
            "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        }
        done = subprocess.run(
            [sys.executable, "-B", "-c", FOLDER],
            env=env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    before = folder()
    assert Path(before).parent == tmp_path / "cache"
    assert folder() == before
    file = copy / "decontam" / "kernel" / "compiled.py"
    times = file.stat()
    file.write_text(file.read_text().replace("0x20", "0x21", 1))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert folder() != before


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There nothing is cached, and nothing fails."""
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(grams.cache, "folder", lambda: tmp_path / "file" / "kernel")
    settings = numba.config
    before = settings.CACHE_DIR
    with grams.cache.cached_by_content() as cached:
        assert not cached
    kept = settings.CACHE_DIR
    assert kept == before
    assert not grams.cache.is_warm()
    monkeypatch.setattr(grams.cache, "folder", lambda: tmp_path / "kernel")
    with grams.cache.cached_by_content() as cached:
        assert cached
