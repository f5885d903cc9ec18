# ruff: noqa: ANN001, ANN202, C901, D417
# numba infers the types of what it compiles from one signature, and the loops are long.
r"""The scan, compiled: one pass over raw UTF-8, the same tokens as `normal.tokens`.

ASCII is read 64 bytes at a time as sets of bits (letters and digits, line borders, ...); pieces are
runs of letters and digits, hashed eight bytes at a time. What a piece next to other characters
belongs to is found one character at a time, until the text is ASCII again. All of it lies in this
one file, since the cache of compiled code knows a function by the file it is in.

A table is (bits, keys, first, values, shifts); see `tables.Table`. Wherever 64 bytes are read at
once, the buffer must have 80 bytes more than the text.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from vtdata.decontam.kernel.cache import cached_by_content
from vtdata.decontam.kernel.tables import FRACTION, MIX_1, MIX_2, SEED
from vtdata.decontam.normal.characters import (
    IGNORED,
    KIND,
    PUNCTUATION,
    SCRIPT,
    SOLO,
    SPACE,
    SYMBOL,
    WORD,
)

_U0, _U1, _U2, _U6, _U32, _U63, _U64 = (np.uint64(n) for n in (0, 1, 2, 6, 32, 63, 64))
_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
_LOWER = np.uint64(0x2020202020202020)
_SEED, _MIX_1, _MIX_2 = np.uint64(SEED), np.uint64(MIX_1), np.uint64(MIX_2)
_SILENT, _FRACTION = np.uint64(0), np.uint64(FRACTION)

PIECES, TOKENS = 1024, 8192
"""Room for pieces between two flushes, and for tokens; a piece becomes four tokens at most."""

_FULL = TOKENS - 4 * (PIECES + 64) - 64

_emitted: Any = intrinsic
"""numba's own annotation of `intrinsic` takes the context for an argument of the call."""

# ------------------------------------------------------------------ reading many bytes at once


@_emitted
def _load8(context: Any, array: Any, index: Any) -> Any:
    """Eight bytes from anywhere, the first one lowest."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_pointer(context, builder, signature, args, ir.IntType(64)), align=1)

    return types.uint64(array, types.int64), code


def _pointer(context: Any, builder: Any, signature: Any, args: Any, kind: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.bitcast(builder.gep(array.data, [args[1]]), kind.as_pointer())


def _bytes_between(low: int, high: int, flip: int = 0) -> Any:
    """A function: the set of those of 64 bytes that lie between two, once some bits are set."""

    @_emitted
    def found(context: Any, array: Any, index: Any) -> Any:
        wide = ir.VectorType(ir.IntType(8), 64)

        def all_of(byte: int) -> Any:
            return ir.Constant(wide, [byte] * 64)

        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            read = builder.load(_pointer(context, builder, signature, args, wide), align=1)
            if flip:
                read = builder.or_(read, all_of(flip))
            above = builder.sub(read, all_of(low))
            inside = builder.icmp_unsigned("<=", above, all_of(high - low))
            return builder.bitcast(inside, ir.IntType(64))

        return types.uint64(array, types.int64), code

    return found


_letters = _bytes_between(0x61, 0x7A, flip=0x20)
_digits = _bytes_between(0x30, 0x39)
_tabs = _bytes_between(0x09, 0x0D)
_blanks = _bytes_between(0x1C, 0x20)
_line_feeds = _bytes_between(0x0A, 0x0A)
_returns = _bytes_between(0x0D, 0x0D)
_backslashes = _bytes_between(0x5C, 0x5C)
_beyond_ascii = _bytes_between(0x80, 0xFF)


@_emitted
def _lowest(context: Any, value: Any) -> Any:
    """The number of the lowest bit that is set; 64 where none is."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), code


@njit(inline="always")
def _below(count):
    """The lowest bits, `count` of them, 0 to 64."""
    return (_U1 << np.uint64(count)) - _U1 if count < 64 else _ONES


@njit
def _after(starts, borders, carry):
    """Of the starts those that come first behind a border, and whether a border has none yet.

    Adding a border's bit to the ones that fill the gaps carries it up to the next start.
    """
    gaps = ~starts
    total = gaps + borders
    over = total < gaps
    sum_ = total + carry
    over |= sum_ < total
    return sum_ & starts, _U1 if over else _U0


# ------------------------------------------------------------------ hashes


@njit
def _mixed(value):
    value *= _MIX_1
    value ^= value >> _U32
    value *= _MIX_2
    return value ^ value >> _U32


@njit
def _hash_ascii(data, start, end):
    """The hash of a run of ASCII letters and digits; the case doesn't matter."""
    state = _SEED
    while end - start > 8:
        state = _mixed(state ^ (_load8(data, start) | _LOWER))
        start += 8
    rest = (_load8(data, start) | _LOWER) & (_ONES >> np.uint64(64 - 8 * (end - start)))
    return _mixed(state ^ rest)


@njit
def _push(state, word, held, value, count):
    """Append up to eight bytes to a hash that is under way: its state, bytes not yet mixed in."""
    word |= value << np.uint64(8 * held)
    held += count
    if held >= 8:
        state = _mixed(state ^ word)
        held -= 8
        word = _U0 if held == 0 else value >> np.uint64(8 * (count - held))
    return state, word, held


@njit
def _hashed(state, word, held, total):
    """The hash of all that was pushed, `total` bytes."""
    return _mixed(state ^ word) if held > 0 or total == 0 else state


@njit
def _push_ascii(data, start, end, state, word, held):
    while start < end:
        count = min(8, end - start)
        value = (_load8(data, start) | _LOWER) & (_ONES >> np.uint64(64 - 8 * count))
        state, word, held = _push(state, word, held, value, count)
        start += count
    return state, word, held


@njit
def _passes(table, key):
    place = key >> table[4][0]
    return (table[0][place >> _U6] >> (place & _U63)) & _U1 != _U0


@njit
def _find(table, key):
    """A key's place among the keys, or -1; the filter isn't asked."""
    bucket = key >> table[4][1]
    for place in range(table[2][bucket], table[2][bucket + _U1]):
        if table[1][place] == key:
            return np.int64(place)
    return np.int64(-1)


# ------------------------------------------------------------------ ASCII, 64 bytes at a time


@njit
def _pieces(data, text, position, end, paper, starts, ends):
    """Find the pieces from a place on, up to another character than ASCII, or until it's enough.

    A start is the place * 4 + 2 if it is the first piece of its line + 1 if it begins a token
    (paper) or stands behind a backslash (evidence).

    Returns:
        Pieces; where to go on; the place of the character that isn't ASCII, or -1; whether a line
        border lies behind the last piece.
    """
    begin, num_starts, num_ends = position, 0, 0
    slash = position > text and data[position - 1] == 0x5C
    inside, mark, border = _U0, _U1 if paper or slash else _U0, _U0
    other = np.int64(-1)
    while position < end and num_starts < PIECES and other < 0:
        size = min(np.int64(64), end - position)
        valid = _below(size)
        foreign = _beyond_ascii(data, position) & valid
        if foreign != _U0:
            size = _lowest(foreign)
            valid = _below(size)
            other = position + size
        runs = (_letters(data, position) | _digits(data, position)) & valid
        edges = runs << _U1 | inside
        opened, closed = runs & ~edges, edges & ~runs
        lines = (_line_feeds(data, position) | _returns(data, position)) & valid
        if lines | border != _U0:
            firsts, border = _after(opened, lines, border)
        else:
            firsts = _U0
        if paper:
            gaps = (_tabs(data, position) | _blanks(data, position)) & valid
            marks, mark = _after(opened, gaps, mark)
        else:
            slashes = _backslashes(data, position) & valid
            marks, mark = opened & (slashes << _U1 | mark), slashes >> _U63
        inside = runs >> _U63
        if other >= 0:
            closed &= valid  # a piece that touches the other character isn't over
        while opened != _U0:
            bit = _lowest(opened)
            at = np.uint64(bit)
            flags = (firsts >> at & _U1) << _U1 | (marks >> at & _U1)
            starts[num_starts] = (position + bit) << 2 | np.int64(flags)
            num_starts += 1
            opened &= opened - _U1
        while closed != _U0:
            ends[num_ends] = position + _lowest(closed)
            num_ends += 1
            closed &= closed - _U1
        position += size
    if position >= end and other < 0:
        if num_ends < num_starts:
            ends[num_ends] = end
        return num_starts, end, np.int64(-1), border
    # What isn't over is read again from its start.
    last = num_starts - 1
    if paper:
        if mark != _U0:
            return num_starts, position, other, border
        while starts[last] & 1 == 0:
            last -= 1
    elif num_ends == num_starts:
        return num_starts, position, other, border
    position = starts[last] >> 2
    if other < 0 and position == begin:
        other = position
    return last, position, other, np.uint64(starts[last] >> 1 & 1)


@njit
def _keep(found, state, key, start, end):
    """Append a token. The state is (tokens, lines, whether a border comes before the next)."""
    hashes, starts, ends, lines = found
    num = state[0]
    hashes[num], starts[num], ends[num] = key, start, end
    if state[2] != 0:
        lines[state[1]] = num
        state[1] += 1
        state[2] = 0
    state[0] = num + 1


@njit
def _keep_said(found, state, said, key, start, end):
    """Append what a word stands for; returns that."""
    if _passes(said, key):
        place = _find(said, key)
        if place >= 0:
            key = said[3][place]
            if key <= _FRACTION:
                return key
    _keep(found, state, key, start, end)
    return key


@njit
def _is_letter(byte):
    return 0x61 <= (byte | 0x20) <= 0x7A


@njit
def _is_digit(byte):
    return 0x30 <= byte <= 0x39


@njit
def _command(data, start, end, found, state, commands):
    r"""Append a command and, of \frac12, the digits; returns where to go on."""
    position = start
    while position < end and _is_letter(data[position]):
        position += 1
    key = _keep_said(found, state, commands, _hash_ascii(data, start, position), start, position)
    if key == _FRACTION:
        for _ in range(2):
            if position < end and _is_digit(data[position]):
                key = _hash_ascii(data, position, position + 1)
                _keep(found, state, key, position, position + 1)
                position += 1
            else:
                break
    return position


@njit
def _words_evidence(data, num_pieces, starts, ends, found, state, words, commands):
    hashes, token_starts, token_ends, lines = found
    num, num_lines, border = state[0], state[1], state[2]
    for piece in range(num_pieces):
        start, flags, end = starts[piece] >> 2, starts[piece] & 3, ends[piece]
        key = _hash_ascii(data, start, end)
        border |= flags >> 1
        if flags & 1 != 0 or _passes(words, key):
            state[0], state[1], state[2] = num, num_lines, border
            if flags & 1 != 0 and _is_letter(data[start]):
                start = _command(data, start, end, found, state, commands)
            if start < end:
                _keep_said(found, state, words, _hash_ascii(data, start, end), start, end)
            num, num_lines, border = state[0], state[1], state[2]
            continue
        hashes[num], token_starts[num], token_ends[num] = key, start, end
        if border != 0:
            lines[num_lines] = num
            num_lines += 1
            border = 0
        num += 1
    state[0], state[1], state[2] = num, num_lines, border


@njit
def _words_paper(data, num_pieces, starts, ends, found, state):
    piece = 0
    while piece < num_pieces:
        start, end = starts[piece] >> 2, ends[piece]
        state[2] |= starts[piece] >> 1 & 1
        piece += 1
        if piece == num_pieces or starts[piece] & 1 != 0:
            _keep(found, state, _hash_ascii(data, start, end), start, end)
            continue
        hash_, word, held = _push_ascii(data, start, end, _SEED, _U0, 0)
        while piece < num_pieces and starts[piece] & 1 == 0:
            end = ends[piece]
            hash_, word, held = _push_ascii(data, starts[piece] >> 2, end, hash_, word, held)
            piece += 1
        _keep(found, state, _hashed(hash_, word, held, 1), start, end)


# ------------------------------------------------------------------ any character, one at a time


@njit
def _follow(data, position, low, high, count):
    """Whether so many bytes go on with a character, the first of them between two."""
    good = low <= data[position + 1] <= high
    for place in range(position + 2, position + 1 + count):
        good = good and 0x80 <= data[place] <= 0xBF
    return good


@njit
def _decoded(data, position, end):
    """A character's code and bytes; -1 and 1 where the bytes are no UTF-8."""
    lead, left = np.int64(data[position]), end - position
    if 0xC2 <= lead <= 0xDF:
        if left > 1 and _follow(data, position, 0x80, 0xBF, 1):
            return (lead & 0x1F) << 6 | data[position + 1] & 0x3F, 2
    elif 0xE0 <= lead <= 0xEF:
        low = 0xA0 if lead == 0xE0 else 0x80
        high = 0x9F if lead == 0xED else 0xBF
        if left > 2 and _follow(data, position, low, high, 2):
            code = (lead & 0xF) << 12 | (data[position + 1] & 0x3F) << 6
            return code | data[position + 2] & 0x3F, 3
    elif 0xF0 <= lead <= 0xF4:
        low = 0x90 if lead == 0xF0 else 0x80
        high = 0x8F if lead == 0xF4 else 0xBF
        if left > 3 and _follow(data, position, low, high, 3):
            code = (lead & 7) << 18 | (data[position + 1] & 0x3F) << 12
            return code | (data[position + 2] & 0x3F) << 6 | data[position + 3] & 0x3F, 4
    return np.int64(-1), 1


@njit
def _entry(characters, data, position, end):
    """A character's entry and bytes."""
    pages, entries, _ = characters
    code, size = np.int64(data[position]), 1
    if code >= 0x80:
        code, size = _decoded(data, position, end)
        if code < 0:
            return np.int64(PUNCTUATION), size
    return np.int64(entries[pages[code >> 8], code & 255]), size


@njit
def _push_folded(characters, entry, data, position, size, hash_, word, held):
    """Append a character as it is folded, to a hash under way."""
    pool, place = characters[2], entry >> 8
    if place == 0:
        first, last, source = position, position + size, data
    else:
        first, last, source = place + 1, place + 1 + pool[place], pool
    for byte in range(first, last):
        hash_, word, held = _push(hash_, word, held, np.uint64(source[byte]), 1)
    return hash_, word, held


@njit
def _keep_solo(characters, entry, data, position, size, found, state):
    """Append the tokens of a character that stands by itself: the words it is folded to."""
    pool, place = characters[2], entry >> 8
    if place == 0:
        hash_, word, held = _push_folded(
            characters, entry, data, position, size, _SEED, _U0, np.int64(0)
        )
        _keep(found, state, _hashed(hash_, word, held, 1), position, position + size)
        return
    hash_, word, held = _SEED, _U0, np.int64(0)
    last = place + pool[place]
    for at in range(place + 1, last + 1):
        if pool[at] != 0x20:
            hash_, word, held = _push(hash_, word, held, np.uint64(pool[at]), 1)
        if pool[at] == 0x20 or at == last:
            _keep(found, state, _hashed(hash_, word, held, 1), position, position + size)
            hash_, word, held = _SEED, _U0, np.int64(0)


@njit
def _slow(data, begin, position, end, until, paper, found, state, said, characters):
    """Append tokens one character at a time; the rule of `normal.tokens`, in its order.

    Args:
        begin: of the text.
        position: where no token is under way.
        until: at ASCII behind this place, and between tokens, the fast way takes over again.

    Returns:
        Where to go on; again no token is under way there.
    """
    words, commands = said
    under_way, script, start, last = False, np.int64(0), position, position
    hash_, word, held = _SEED, _U0, np.int64(0)
    while position < end:
        entry, size = _entry(characters, data, position, end)
        kind = entry & KIND
        if kind == WORD and under_way and (paper or entry & SCRIPT == script):
            hash_, word, held = _push_folded(
                characters, entry, data, position, size, hash_, word, held
            )
            position += size
            last = position
            continue
        solo = kind == SOLO or (kind == SYMBOL and not paper)
        if kind == IGNORED or (paper and kind != SPACE and kind != WORD and not solo and under_way):
            position += size
            continue
        if under_way:
            key = _hashed(hash_, word, held, 1)
            if paper:
                _keep(found, state, key, start, last)
            else:
                _keep_said(found, state, words, key, start, last)
            under_way = False
        if (size == 1 and data[position] < 0x80 and position > until) or state[0] >= TOKENS - 32:
            return position
        if kind == WORD:
            letter = size == 1 and _is_letter(data[position])
            if letter and not paper and position > begin and data[position - 1] == 0x5C:
                position = _command(data, position, end, found, state, commands)
                continue
            under_way, script, start, last = True, entry & SCRIPT, position, position + size
            hash_, word, held = _push_folded(
                characters, entry, data, position, size, _SEED, _U0, np.int64(0)
            )
        elif solo:
            _keep_solo(characters, entry, data, position, size, found, state)
        elif data[position] == 0x0A or data[position] == 0x0D:
            state[2] = 1
        position += size
    if under_way:
        key = _hashed(hash_, word, held, 1)
        if paper:
            _keep(found, state, key, start, last)
        else:
            _keep_said(found, state, words, key, start, last)
    return end


# ------------------------------------------------------------------ n-grams and lines


@njit
def _room(rows, num, more):
    """The rows, or a copy with room for more."""
    if num + more <= len(rows):
        return rows
    out = np.empty((2 * len(rows) + more, rows.shape[1]), np.int64)
    out[:num] = rows[:num]
    return out


@njit
def _rotated(value, by):
    return value << by | value >> (_U64 - by)


@njit
def _probe(found, first, num_tokens, width, grams, rows, num, text, token):
    """Append a row for each n-gram that begins at the token `first` of the buffer, or behind it."""
    hashes, starts, ends, _ = found
    key, out = _U0, np.uint64(width)
    for at in range(first, first + width - 1):
        key = _rotated(key, _U1) ^ hashes[at]
    gone = _U0
    for at in range(first, num_tokens - width + 1):
        key = _rotated(key ^ gone, _U1) ^ hashes[at + width - 1]
        gone = _rotated(hashes[at], out - _U1)
        if _passes(grams, key):
            place = _find(grams, key)
            if place >= 0:
                rows[num, 0], rows[num, 1] = text, token + at
                rows[num, 2], rows[num, 3] = starts[at], ends[at + width - 1]
                rows[num, 4] = grams[3][place]
                num += 1
    return num


@njit
def _probe_line(found, line, state, final, shorts, longest, rows, num, text, token):
    """Append a row for each short text that a line, or the text, begins with."""
    hashes, starts, ends, lines = found
    first, num_tokens, num_lines = lines[line], state[0], state[1]
    following = line + 1
    begins_text = token + first == 0
    key = _SEED
    for at in range(first, min(first + longest, num_tokens)):
        if following < num_lines and lines[following] == at:
            if not begins_text:
                break
            following += 1
        key = _mixed(key ^ hashes[at])
        if not _passes(shorts, key):
            break
        place = _find(shorts, key)
        if place < 0:
            break
        short = np.int64(shorts[3][place])
        if short > 0:
            ends_text = final and at + 1 == num_tokens
            rows[num, 0], rows[num, 1], rows[num, 2], rows[num, 3] = (
                text, token + first, starts[first], ends[at],
            )  # fmt: skip
            rows[num, 4] = short - 1
            rows[num, 5] = ends_text or (following < num_lines and lines[following] == at + 1)
            rows[num, 6] = ends_text
            num += 1
    return num


@njit
def _shift(found, state, by):
    """Drop the first tokens of the buffer, and their lines."""
    num = state[0] - by
    for column in found[1:3]:
        for at in range(num):
            column[at] = column[at + by]
    for at in range(num):
        found[0][at] = found[0][at + by]
    gone = 0
    while gone < state[1] and found[3][gone] < by:
        gone += 1
    for line in range(state[1] - gone):
        found[3][line] = found[3][line + gone] - by
    state[0], state[1] = num, state[1] - gone


def _scan(data, begins, ends, paper, width, grams, shorts, longest, words, commands,
          pages, entries, pool, trace):  # fmt: skip
    """Find the n-grams and short texts of all texts.

    Args:
        data: raw UTF-8, 80 bytes longer than the last text that is read.
        begins, ends: of each text.
        paper: the form; evidence otherwise.
        width: n.
        grams, shorts, words, commands: tables; a short text's value is its number + 1, and 0 for
            a mere beginning of one.
        longest: tokens of the longest short text.
        pages, entries, pool: of `normal.characters`.
        trace: also return all tokens.

    Returns:
        Rows of n-grams (text, token, start, end, n-gram), of short texts (text, token, start, end,
        short, ends_line, ends_text), of tokens (text, start, end, hash), tokens of each text.
    """
    found = (np.empty(TOKENS, np.uint64), np.empty(TOKENS, np.int64),
             np.empty(TOKENS, np.int64), np.empty(TOKENS, np.int64))  # fmt: skip
    piece_starts, piece_ends = np.empty(PIECES + 64, np.int64), np.empty(PIECES + 64, np.int64)
    state, said, characters = np.zeros(3, np.int64), (words, commands), (pages, entries, pool)
    hits, num_hits = np.empty((TOKENS, 5), np.int64), 0
    short_hits, num_short = np.empty((1024, 7), np.int64), 0
    traced, num_traced = np.empty((TOKENS if trace else 1, 4), np.int64), 0
    counts = np.zeros(len(begins), np.int32)
    for text in range(len(begins)):
        begin, end = begins[text], ends[text]
        position, token, probed, seen = begin, np.int64(0), np.int64(0), np.int64(0)
        state[0], state[1], state[2] = 0, 0, 1
        while True:
            while position < end and state[0] < _FULL:
                num, position, other, border = _pieces(
                    data, begin, position, end, paper, piece_starts, piece_ends
                )
                if paper:
                    _words_paper(data, num, piece_starts, piece_ends, found, state)
                else:
                    _words_evidence(
                        data, num, piece_starts, piece_ends, found, state, words, commands
                    )
                state[2] |= np.int64(border)
                if other >= 0:
                    position = _slow(
                        data, begin, position, end, other, paper, found, state, said, characters
                    )
            num, final = state[0], position >= end
            if trace:
                traced = _room(traced, num_traced, num)
                for at in range(seen, num):
                    traced[num_traced, 0] = text
                    traced[num_traced, 1] = found[1][at] - begin
                    traced[num_traced, 2] = found[2][at] - begin
                    traced[num_traced, 3] = np.int64(found[0][at])
                    num_traced += 1
            if num - probed >= width:
                hits, before = _room(hits, num_hits, num), num_hits
                num_hits = _probe(found, probed, num, width, grams, hits, num_hits, text, token)
                probed = num - width + 1
                for row in range(before, num_hits):
                    hits[row, 2] -= begin
                    hits[row, 3] -= begin
            line = 0
            while line < state[1] and (final or found[3][line] + longest < num):
                short_hits, before = _room(short_hits, num_short, longest), num_short
                num_short = _probe_line(
                    found, line, state, final, shorts, longest, short_hits, num_short, text, token
                )
                for row in range(before, num_short):
                    short_hits[row, 2] -= begin
                    short_hits[row, 3] -= begin
                line += 1
            if final:
                counts[text] = token + num
                break
            by = min(probed, found[3][line]) if line < state[1] else probed
            _shift(found, state, by)
            token, probed, seen = token + by, probed - by, num - by
    return hits[:num_hits], short_hits[:num_short], traced[:num_traced], counts


def _read_only(kind: Any, dimensions: int = 1) -> Any:
    return types.Array(kind, dimensions, "C", readonly=True)


_TABLE = types.Tuple(
    [_read_only(types.uint64), _read_only(types.uint64), _read_only(types.uint32),
     _read_only(types.uint64), _read_only(types.uint64)]
)  # fmt: skip

_SIGNATURE = types.Tuple(
    [types.Array(types.int64, 2, "C")] * 3 + [types.Array(types.int32, 1, "C")]
)(
    _read_only(types.uint8), _read_only(types.int64), _read_only(types.int64),
    types.boolean, types.int64, _TABLE, _TABLE, types.int64, _TABLE, _TABLE,
    _read_only(types.uint16), _read_only(types.uint32, 2), _read_only(types.uint8), types.boolean,
)  # fmt: skip

with cached_by_content():
    scan = njit(_SIGNATURE, cache=True, nogil=True)(_scan)
