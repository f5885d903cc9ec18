"""Benchmarks, made ready for a scan: n-grams to candidates, candidates laid beside their items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rapidfuzz.distance import Indel, LCSseq

from vtdata.decontam.align import chain, fit, text_pieces
from vtdata.decontam.benchmark import Benchmark
from vtdata.decontam.candidate import CANDIDATE
from vtdata.decontam.entries import Entry, Postings, entries, postings, shorts
from vtdata.decontam.kernel import Grams, Hits
from vtdata.decontam.kernel.columns import columns
from vtdata.decontam.kernel.tables import hash_word
from vtdata.decontam.memo import Memo
from vtdata.decontam.normal import latex
from vtdata.decontam.normal.phrases import weights
from vtdata.decontam.normal.tokens import tokens
from vtdata.decontam.profile import Profile
from vtdata.decontam.suspect import Suspects
from vtdata.decontam.templates import Templates
from vtdata.decontam.traced import alike, alike_words, traced
from vtdata.decontam.windows import Windows, windows
from vtdata.errors import ConfigError

_SPARE_BYTES = 64
"""Read beyond where an item may reach, so that a word that is cut there does no harm."""

QUESTION_BYTES = 8_000
"""A longer text is no question by itself: it is nobody's paraphrase and nobody's template. Ours."""

MEMO_BYTES = 24 * 2**20
"""Text whose results are remembered, of each kind. Ours."""

_LINE_BYTES = 400
"""How much of a line behind a short item is looked at for instructions."""


WORTH_SHARE, WORTH_CHAIN = 0.6, 0.55
"""A candidate is aligned if so much of its item, numbers alike, stands there in order, and so much
of it in one place. Ours."""

WORTH_GRAMS, WORTH_EQUAL, WORTH_DENSITY = 4, 8, 0.8
"""Or if so many n-grams do, so many words in one place, and so close: a part of an item. Ours."""


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a text."""

    raw: bytes
    start: int
    """Its first byte in the text."""
    goes_on: bool

    def words(self, spans: list[tuple[int, int]], form: str) -> list[str]:
        """The words of some spans, without reading all of them again where that is plain."""
        if self.raw.isascii() and form == "evidence":
            text, renamed = self.raw.decode().lower(), latex.RENAMED
            return [renamed.get(text[a:b], text[a:b]) for a, b in spans]
        known = {(token.start, token.end): token.text for token in tokens(self.raw, form)}
        return [known[span] for span in spans]


@dataclass(frozen=True, slots=True)
class Prompts:
    """What is looked for in prompts alone."""

    suspects: Suspects
    templates: Templates


@dataclass(frozen=True, slots=True)
class Index:
    """Read-only: any number of threads may scan with one."""

    profile: Profile
    found: list[Entry]
    grams: Grams
    postings: Postings
    short_of: list[list[int]]
    """The entries of each short text of ``grams``."""
    alike: list[list[int]]
    """The words of each entry as ``traced.alike`` has them."""
    limits: NDArray[np.int64]
    """Most tokens of a window by entry: half as many again as the item has, and 20. Ours."""
    prompts: Prompts | None
    seen: Memo
    """What was found in whole questions."""
    aligned: Memo
    """What alignments gave."""

    @property
    def without_evidence(self) -> list[tuple[str, int]]:
        """Items that no rule can find: of no words but instructions, or too few and no short."""
        return [
            (entry.bench, entry.item.index)
            for entry in self.found
            if not entry.n_grams and not 0 < entry.n_tokens <= self.profile.short_words
        ]

    def scan(self, texts: pa.Array, side: str) -> pa.Table:
        """Return the candidates of a batch of texts, by (text, benchmark, item).

        Args:
            texts: string or large_string; null is no text.
            side: prompt or response. Suspects are looked for in prompts alone.
        """
        hits = self.grams.hits(texts)
        best = windows(hits, self.postings, self.limits, self.profile)
        counted = [self._counted(best, hits, number) for number in range(len(best.text))]
        rows = _keyed(self._laid(texts, counted) if self.profile.aligns else counted)
        rows |= _keyed(self._by_line(texts, hits))
        if side == "prompt" and self.prompts is not None:
            seen = self._by_prompt(texts)
            rows = {key: seen.get(key, {}) | rows.get(key, {}) for key in {**seen, **rows}}
        ordered = sorted(rows.values(), key=lambda row: (row["text"], row["entry"]))
        names = set(CANDIDATE.names)
        whole = [{k: v for k, v in self._whole(row).items() if k in names} for row in ordered]
        return pa.Table.from_pylist(whole, CANDIDATE)

    def _whole(self, row: dict[str, Any]) -> dict[str, Any]:
        entry = self.found[row["entry"]]
        known = {"bench": entry.bench, "item": entry.item.index, "item_field": entry.item.field}
        sizes = {"n_tokens": entry.n_tokens, "n_pieces": len(entry.pieces.texts)}
        return {**_NOTHING, "n_grams": entry.n_grams, **known, **sizes, **row}

    def _by_prompt(self, texts: pa.Array) -> dict[tuple[int, int], dict[str, Any]]:
        """What is to be seen only where a text is a whole question: suspects, and templates.

        A corpus asks one question many times, for each response; it is looked at once.
        """
        coded = texts.dictionary_encode()
        unique = coded.dictionary
        known = [self.seen.get(text.as_buffer().to_pybytes()) for text in unique]
        sizes = _lengths(unique)
        places = [n for n, rows in enumerate(known) if rows is None and sizes[n] <= QUESTION_BYTES]
        new: dict[int, list[dict[str, Any]]] = {place: [] for place in places}
        if places:
            for (text, _), row in self._questions(unique.take(pa.array(places))).items():
                new[places[text]].append(row)
        for place, rows in new.items():
            known[place] = rows
            self.seen.keep(unique[place].as_buffer().to_pybytes(), rows)
        return _keyed(
            {**row, "text": text}
            for text, code in enumerate(coded.indices.to_pylist())
            if code is not None
            for row in known[code] or ()
        )

    def _questions(self, texts: pa.Array) -> dict[tuple[int, int], dict[str, Any]]:
        prompts = self.prompts
        assert prompts is not None
        all_words = traced(self.grams, texts)
        found = prompts.suspects.scan(all_words, len(texts))
        rows = _keyed(self._suspected(texts, row) for row in found)
        best, hits = prompts.templates.scan(all_words, alike(all_words), len(texts), self.limits)
        counted = [self._masked(best, hits, number) for number in range(len(best.text))]
        for key, row in _keyed(self._laid(texts, counted)).items():
            rows[key] = rows.get(key, {}) | row
        return rows

    def _laid(self, texts: pa.Array, rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Align items with the places where they may stand."""
        parts = [self._around(texts, row) for row in rows]
        keys = [self._key(row, part) for row, part in zip(rows, parts, strict=True)]
        known = [self.aligned.get(key) for key in keys]
        places = [place for place, found in enumerate(known) if found is None]
        new = self._looked_at([rows[place] for place in places], [parts[place] for place in places])
        for place, found in zip(places, new, strict=True):
            known[place] = found
            self.aligned.keep(keys[place], found)
        for row, part, found in zip(rows, parts, known, strict=True):
            if found:
                span = {"start": part.start + found["start"], "end": part.start + found["end"]}
                yield {**row, **found, **span}

    def _key(self, row: dict[str, Any], part: Part) -> bytes:
        """All that an alignment depends on."""
        many = row.get("n_shared", 0) >= WORTH_GRAMS
        cut = (row["entry"], row["rule"], many, part.start > 0, part.goes_on)
        return repr(cut).encode() + part.raw

    def _looked_at(self, rows: list[dict[str, Any]], parts: list[Part]) -> list[dict[str, Any]]:
        """The figures of each alignment, with spans in the part; empty where there is none."""
        all_words = traced(self.grams, pa.array([part.raw for part in parts], pa.binary()))
        borders = np.searchsorted(all_words.text, np.arange(len(parts) + 1)).tolist()
        same = alike(all_words)
        out = []
        for row, part, (low, high) in zip(rows, parts, pairwise(borders), strict=True):
            own = slice(low + (part.start > 0), max(low, high - part.goes_on))
            found = None
            if self._is_promising(row, same[own].tolist()):
                spans = all_words.start[own].tolist(), all_words.end[own].tolist()
                entry = self.found[row["entry"]]
                found = self._aligned(entry, part, list(zip(*spans, strict=True)))
            out.append(found or {})
        return out

    def _is_promising(self, row: dict[str, Any], words: list[int]) -> bool:
        """Leave out what no alignment can save, by words in order, numbers alike."""
        entry = self.alike[row["entry"]]
        many = row.get("n_shared", 0) >= WORTH_GRAMS
        if not many and LCSseq.similarity(entry, words) < WORTH_SHARE * len(entry):
            return False
        equal, density = chain(entry, words)
        least = WORTH_SHARE if row["rule"] == "template" else WORTH_CHAIN
        return equal >= least * len(entry) or (
            many and equal >= WORTH_EQUAL and density >= WORTH_DENSITY
        )

    def _counted(self, best: Windows, hits: Hits, number: int) -> dict[str, Any]:
        number_of, first, last = int(best.entry[number]), best.first[number], best.last[number]
        entry, lists = self.found[number_of], self.postings
        places = [int(lists.place[best.posting[k]]) for k in (first, last)]
        low, high = min(places), max(places) + self.profile.n
        return {
            "text": int(hits.text[best.hit[first]]),
            "entry": number_of,
            "start": int(hits.start[best.hit[first]]),
            "end": int(hits.end[best.hit[last]]),
            "item_start": entry.tokens[low].start,
            "item_end": entry.tokens[high - 1].end,
            "coverage": float(best.coverage[number]),
            "n_shared": int(best.n_shared[number]),
            "longest_run": int(best.run[number]),
            "width": int(hits.token[best.hit[last]] - hits.token[best.hit[first]]),
            "rule": "grams",
        }

    def _masked(self, best: Windows, hits: Hits, number: int) -> dict[str, Any]:
        """A window of masked n-grams: no n-gram is shared as it stands, or it would be a hit."""
        first, last = best.hit[best.first[number]], best.hit[best.last[number]]
        return {
            "text": int(hits.text[first]),
            "entry": int(best.entry[number]),
            "start": int(hits.start[first]),
            "end": int(hits.end[last]),
            "width": int(hits.token[last] - hits.token[first]),
            "rule": "template",
        }

    def _around(self, texts: pa.Array, row: dict[str, Any]) -> Part:
        """The text around a window, as far as the rest of the item may reach."""
        entry = self.found[row["entry"]]
        missing = max(0, len(entry.tokens) - row["width"]) + 4
        reach = int(missing * max(8.0, 1.5 * entry.token_bytes)) + _SPARE_BYTES
        whole = texts[row["text"]].as_buffer()
        start, end = max(0, row["start"] - reach), min(whole.size, row["end"] + reach)
        return Part(whole.slice(start, end - start).to_pybytes(), start, end < whole.size)

    def _aligned(
        self, entry: Entry, part: Part, spans: list[tuple[int, int]]
    ) -> dict[str, Any] | None:
        """Lay an item beside the words of a part of the text."""
        cut = text_pieces(part.words(spans, self.profile.form))
        beside = fit(entry.pieces, cut)
        if beside is None:
            return None
        first, last = beside.item_span
        characters = None
        if self.profile.characters_from <= beside.share < 1.0:
            characters = Indel.normalized_similarity(
                "".join(entry.pieces.texts), "".join(cut.texts[slice(*beside.pieces)])
            )
        return {
            "start": spans[beside.span[0]][0],
            "end": spans[beside.span[1] - 1][1],
            "item_start": entry.tokens[first].start,
            "item_end": entry.tokens[last - 1].end,
            "alignment": 100 * beside.share,
            "template": beside.template,
            "density": beside.density,
            "weight": beside.weight,
            "n_equal": beside.equal,
            "longest_run": beside.run,
            "numbers_changed": beside.numbers_changed,
            "numbers_same": beside.numbers_same,
            "characters": characters,
        }

    def _by_line(self, texts: pa.Array, hits: Hits) -> Iterator[dict[str, Any]]:
        """Short items that are a whole line or a whole text, but for instructions."""
        found = hits.shorts
        whole = found.ends_line | found.ends_text
        for hit in range(len(found)):
            text, end = int(found.text[hit]), int(found.end[hit])
            if not (whole[hit] or self._is_silent(texts, text, end)):
                continue
            for number in self.short_of[found.short[hit]]:
                yield self._short(number, text, int(found.start[hit]), end)

    def _short(self, number: int, text: int, start: int, end: int) -> dict[str, Any]:
        entry = self.found[number]
        return {
            "text": text,
            "entry": number,
            "start": start,
            "end": end,
            "item_start": entry.tokens[0].start,
            "item_end": entry.tokens[-1].end,
            "coverage": 1.0,
            "n_shared": entry.n_grams,
            "n_equal": len(entry.pieces.texts),
            "longest_run": entry.n_tokens,
            "rule": "short",
        }

    def _is_silent(self, texts: pa.Array, text: int, end: int) -> bool:
        """Whether nothing but instructions stands behind a place on its line."""
        whole = texts[text].as_buffer()
        raw = whole.slice(end, min(_LINE_BYTES, whole.size - end)).to_pybytes()
        line = raw.splitlines()[0] if raw else b""
        if len(line) == _LINE_BYTES:
            return False
        return not any(weights([word.text for word in tokens(line, self.profile.form)]))

    def _suspected(self, texts: pa.Array, row: dict[str, Any]) -> dict[str, Any]:
        entry = self.found[row["entry"]]
        end = len(entry.item.text.encode("utf-8", "surrogatepass"))
        size = texts[row["text"]].as_buffer().size
        return {**row, "start": 0, "end": size, "item_start": 0, "item_end": end, "rule": "prompt"}


_NOTHING: dict[str, Any] = {
    "coverage": 0.0,
    "n_shared": 0,
    "n_equal": 0,
    "longest_run": 0,
    "numbers_changed": 0,
    "numbers_same": 0,
}


def build(benchmarks: Sequence[Benchmark], profile: Profile) -> Index:
    """Make an index of benchmarks.

    Raises:
        ConfigError: there is no benchmark, or one without items: nothing would be found.
    """
    if not benchmarks:
        raise ConfigError("decontamination against no benchmark finds nothing: name at least one")
    for bench in benchmarks:
        if not bench.items:
            raise ConfigError(f"benchmark '{bench.name}' has no items: nothing would be found")
    found = entries(benchmarks, profile)
    lists = postings(found, profile)
    lines, short_of = shorts(found, profile)
    grams = Grams.compile(lists.grams, lines, profile.form, profile.n)
    grams.make_ready()
    lists = replace(lists, grams=[])
    found = [entry.lean() for entry in found]
    limits = np.array([entry.n_tokens * 3 // 2 + 20 for entry in found], np.int64)
    vocabulary = {word for entry in found for word in entry.evidence}
    hashes = {word: hash_word(word) for word in vocabulary}
    same = [alike_words(entry.evidence, hashes) for entry in found]
    prompts = None
    if profile.aligns:
        prompts = Prompts(Suspects.of(found, profile), Templates.of(found, same, profile))
    memos = Memo(MEMO_BYTES), Memo(MEMO_BYTES)
    return Index(profile, found, grams, lists, short_of, same, limits, prompts, *memos)


def _keyed(rows: Iterable[dict[str, Any]]) -> dict[tuple[int, int], dict[str, Any]]:
    return {(row["text"], row["entry"]): row for row in rows}


def shared_grams(text: str, item: str, profile: Profile) -> list[str]:
    """Return the n-grams that a text and an item have in common, as their words, in item order.

    >>> from vtdata.decontam.profile import EVIDENCE
    >>> shared_grams("so, find the sum of all digits!", "Find the SUM of all primes", EVIDENCE)
    ['find the sum of all']
    """
    n = profile.n
    ours, theirs = ([t.text for t in tokens(own, profile.form)] for own in (item, text))
    there = {tuple(theirs[k : k + n]) for k in range(len(theirs) - n + 1)}
    grams = dict.fromkeys(tuple(ours[k : k + n]) for k in range(len(ours) - n + 1))
    return [" ".join(gram) for gram in grams if gram in there]


def _lengths(texts: pa.Array) -> NDArray[np.int64]:
    """Bytes of each text; null is as long as an empty one."""
    return np.concatenate([column.ends - column.begins for column in columns(texts)])
