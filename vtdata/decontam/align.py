r"""Lay a benchmark item beside the place of a text where it may stand, and say how well it fits.

Words are cut between letters and digits first, so that ``\frac12x^2`` and ``1/2x²`` meet, and
small numbers in words are numbers. What fits is the best chain of equal pieces: each equal piece
counts 1, each piece that only one side has, half of one against it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rapidfuzz.distance import Indel

from vtdata.decontam.normal.phrases import void

VERSION = 1
"""Raised whenever the same two texts could fit otherwise; part of each profile's hash."""

GAP = 0.5
"""What a piece that only one side has costs, in equal pieces. Ours."""

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty"
)
NUMBERS: dict[str, str] = {word: str(value) for value, word in enumerate(_SMALL.split())}
NUMBERS |= {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "hundred": "100"}
NUMBERS |= {"twice": "2", "double": "2", "triple": "3", "thrice": "3"}
NUMBERS |= {sign: str(value) for value, sign in enumerate("〇一二三四五六七八九十")}
"""Small numbers in words, by what they are in digits."""

_PIECE = re.compile(r"\d+|\D+")
_MIXED = re.compile(r"\d[^\d ]|[^\d ]\d")


@dataclass(frozen=True, slots=True)
class Pieces:
    """A tokenized text, cut for alignment."""

    texts: list[str]
    token: list[int]
    """The token that each piece belongs to."""
    weight: list[float]

    @property
    def total(self) -> float:
        return sum(self.weight)


def pieces(tokens: Sequence[str], weight: Sequence[float]) -> Pieces:
    """Cut tokens into runs of digits and of other signs; what weighs nothing is left out."""
    cut = Pieces([], [], [])
    for place, (word, heavy) in enumerate(zip(tokens, weight, strict=True)):
        if heavy:
            parts = [word] if word.isalpha() else _PIECE.findall(word)
            for part in parts:
                cut.texts.append(NUMBERS.get(part, part))
                cut.token.append(place)
                cut.weight.append(heavy)
    return cut


def text_pieces(tokens: Sequence[str]) -> Pieces:
    """Cut the tokens of a text, whose boilerplate counts as the item's does: by the item."""
    weight = [1.0] * len(tokens)
    for start, end in void(tokens):
        weight[start:end] = [0.0] * (end - start)
    if all(weight) and not _MIXED.search(" ".join(tokens)):
        return Pieces([NUMBERS.get(t, t) for t in tokens], list(range(len(tokens))), weight)
    return pieces(tokens, weight)


@dataclass(frozen=True, slots=True)
class Fit:
    """How an item lies in a text. Spans are tokens: first, and behind the last."""

    share: float
    """Weighted share of the item's pieces that are equal, [0, 1]."""
    template: float
    """The same, with numbers that stand at one place and differ counted as equal."""
    density: float
    """Equal pieces by the longer side of what was aligned, [0, 1]."""
    equal: int
    """Number of equal pieces."""
    weight: float
    """Their weights' sum."""
    run: int
    """Most pieces in a row that are equal on both sides."""
    numbers_changed: int
    numbers_same: int
    pieces: tuple[int, int]
    """The pieces of the text that were aligned: first, and behind the last."""
    span: tuple[int, int]
    item_span: tuple[int, int]


Block = tuple[int, int, int]
"""Equal pieces: first in the item, behind the last in the item, first in the text."""


def fit(item: Pieces, text: Pieces) -> Fit | None:
    """Align; None where nothing is equal.

    The pieces of ``item`` and ``text`` decide and nothing else does.
    """
    blocks = _blocks(item.texts, text.texts)
    if not blocks:
        return None
    chain = _best_chain(blocks)
    equal = sum(end - start for start, end, _ in chain)
    (first, _, text_first), (start, last, at) = chain[0], chain[-1]
    text_last = at + last - start
    changed, changed_weight = _changed(item, text, chain)
    same = sum(map(_is_number, (item.texts[n] for a, b, _ in chain for n in range(a, b))))
    matched = sum(sum(item.weight[a:b]) for a, b, _ in chain)
    return Fit(
        share=matched / item.total,
        template=min(1.0, (matched + changed_weight) / item.total),
        density=equal / max(last - first, text_last - text_first),
        equal=equal,
        weight=matched,
        run=max(end - start for start, end, _ in chain),
        numbers_changed=changed,
        numbers_same=same,
        pieces=(text_first, text_last),
        span=(text.token[text_first], text.token[text_last - 1] + 1),
        item_span=(item.token[first], item.token[last - 1] + 1),
    )


def chain(item: Sequence[int], text: Sequence[int]) -> tuple[int, float]:
    """How many words are equal in the best chain, and how dense: a first look, by hashes."""
    blocks = _blocks(item, text)
    if not blocks:
        return 0, 0.0
    best = _best_chain(blocks)
    equal = sum(end - start for start, end, _ in best)
    (first, _, text_first), (start, last, at) = best[0], best[-1]
    return equal, equal / max(last - first, at + last - start - text_first)


def _blocks(item: Sequence[Hashable], text: Sequence[Hashable]) -> list[Block]:
    operations = Indel.opcodes(item, text)
    return [(o.src_start, o.src_end, o.dest_start) for o in operations if o.tag == "equal"]


def _is_number(piece: str) -> bool:
    return piece[0].isdigit()


def _best_chain(blocks: list[Block]) -> list[Block]:
    """The run of blocks whose equal pieces outweigh its gaps most; the first of equal ones."""
    best, best_range = 0.0, (0, 1)
    score, begin = 0.0, 0
    for number, (start, end, at) in enumerate(blocks):
        if number:
            before, before_end, before_at = blocks[number - 1]
            score -= GAP * max(start - before_end, at - before_at - (before_end - before))
        if score <= 0:
            score, begin = 0.0, number
        score += end - start
        if score > best:
            best, best_range = score, (begin, number + 1)
    return blocks[slice(*best_range)]


def _changed(item: Pieces, text: Pieces, chain: list[Block]) -> tuple[int, float]:
    """Numbers of the item that stand opposite to other numbers: how many, and their weight."""
    start, _, at = chain[0]
    last, last_end, last_at = chain[-1]
    behind, left = last_at + last_end - last, len(item.texts) - last_end
    gaps = [((0, start), (max(0, at - start), at))]
    gaps += [((a[1], b[0]), (a[2] + a[1] - a[0], b[2])) for a, b in pairwise(chain)]
    gaps += [((last_end, last_end + left), (behind, behind + left))]
    changed, weight = 0, 0.0
    for (a, b), (c, d) in gaps:
        ours = [*filter(_is_number, item.texts[a:b])]
        theirs = [*filter(_is_number, text.texts[c:d])]
        if not ours or not theirs or "".join(ours) == "".join(theirs):
            continue
        left_out, put_in = Counter(ours), Counter(theirs)
        count = min((left_out - put_in).total(), (put_in - left_out).total())
        if count:
            changed += count
            weight += sum(sorted(item.weight[a:b], reverse=True)[:count])
    return changed, weight
