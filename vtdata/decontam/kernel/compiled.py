# ruff: noqa: ANN001, ANN202, C901, D417
# numba infers the types of what it compiles from one signature, and the loops are long.
r"""The scan, compiled: one pass over raw UTF-8, the same tokens as `normal.tokens`.

ASCII is read 64 bytes at a time as sets of bits (letters and digits, line borders, ...); pieces are
runs of letters and digits, hashed eight bytes at a time. What a piece next to other characters
belongs to is found one character at a time, until the text is ASCII again. All of it lies in this
one file, since the cache of compiled code knows a function by the file it is in.

A place is an address, as is all memory: numba counts references to arrays in every function that
is handed some, which takes longer than the scan, and longer to compile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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

_U0, _U1, _U6, _U32, _U63, _U64 = (np.uint64(n) for n in (0, 1, 6, 32, 63, 64))
_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
_LOWER = np.uint64(0x2020202020202020)
_SEED, _MIX_1, _MIX_2 = np.uint64(SEED), np.uint64(MIX_1), np.uint64(MIX_2)
_FRACTION = np.uint64(FRACTION)

PIECES, TOKENS = 1024, 8192
"""Room for pieces and tokens, between two flushes; a piece becomes four tokens at most."""

HIT, SHORT, TRACE = 5, 7, 4
"""Numbers in a row of n-grams (text, token, start, end, n-gram), of short items (text, token,
start, end, short, ends_line, ends_text) and of tokens (text, start, end, hash)."""

_FULL = TOKENS - 4 * (PIECES + 64) - 64


class Memory(NamedTuple):
    """Where everything is: addresses."""

    begins: int
    """Of the texts: addresses, int64."""
    ends: int
    """80 bytes behind each can be read."""
    counts: int
    """int64, tokens of each text."""
    hits: int
    """Rows of int64."""
    shorts: int
    traced: int
    scratch: int
    """Columns of COLUMN numbers of int64 each, one behind the other."""
    grams: int
    """A table, as are the next three: addresses of bits, keys, first and values, both shifts."""
    short_items: int
    words: int
    commands: int
    pages: int
    """Of `normal.characters`, as are the next two."""
    entries: int
    pool: int
    """Eight bytes behind it can be read."""


COLUMN = TOKENS + 24
"""Numbers from one column of scratch to the next; a power of two would put equal places of all of
them into the same few lines of the cache."""

COLUMNS = 9
"""Of scratch: hash, start and end of each token; the tokens that are the first of their line;
tokens where an n-gram begins that passed the filter, and its hash; start and end of each piece, a
start being address * 4 + 2 if the piece is the first of its line + 1 if it begins a token (paper)
or stands behind a backslash (evidence); and three numbers: tokens, lines, whether a line border
comes before the next token."""

_HASHES, _STARTS, _ENDS, _LINES, _PASSING, _KEYS, _PIECE_STARTS, _PIECE_ENDS, _STATE = (
    8 * COLUMN * column for column in range(COLUMNS)
)
_BITS, _TABLE_KEYS, _FIRST, _VALUES, _BITS_SHIFT, _FIRST_SHIFT = range(6)

_emitted: Any = intrinsic
"""numba's own annotation of `intrinsic` takes the context for an argument of the call."""

# ------------------------------------------------------------------ memory


def _reader(bits: int, result: Any) -> Any:
    """A function: the number at an address, the first byte lowest."""

    @_emitted
    def read(context: Any, address: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = ir.IntType(bits)
            value = builder.load(builder.inttoptr(args[0], kind.as_pointer()), align=1)
            return value if bits == 64 else builder.zext(value, ir.IntType(64))

        return result(types.int64), code

    return read


_byte = _reader(8, types.int64)
_two = _reader(16, types.int64)
_four = _reader(32, types.int64)
_long = _reader(64, types.int64)
_eight = _reader(64, types.uint64)


@_emitted
def _write(context: Any, address: Any, value: Any) -> Any:
    """Put eight bytes at an address."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[1], builder.inttoptr(args[0], args[1].type.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, value), code


@njit
def _at(column, place):
    return _long(column + 8 * place)


@njit
def _set(column, place, value):
    _write(column + 8 * place, np.int64(value))


def _bytes_between(low: int, high: int, flip: int = 0) -> Any:
    """A function: the set of those of 64 bytes that lie between two, once some bits are set."""

    @_emitted
    def found(context: Any, address: Any) -> Any:
        wide = ir.VectorType(ir.IntType(8), 64)

        def all_of(byte: int) -> Any:
            return ir.Constant(wide, [byte] * 64)

        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            read = builder.load(builder.inttoptr(args[0], wide.as_pointer()), align=1)
            if flip:
                read = builder.or_(read, all_of(flip))
            above = builder.sub(read, all_of(low))
            inside = builder.icmp_unsigned("<=", above, all_of(high - low))
            return builder.bitcast(inside, ir.IntType(64))

        return types.uint64(types.int64), code

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


@njit
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
    total += carry
    over |= total < carry
    return total & starts, _U1 if over else _U0


# ------------------------------------------------------------------ hashes


@njit
def _mixed(value):
    value *= _MIX_1
    value ^= value >> _U32
    value *= _MIX_2
    return value ^ value >> _U32


@njit
def _hash_ascii(start, end):
    """The hash of a run of ASCII letters and digits; the case doesn't matter."""
    state = _SEED
    while end - start > 8:
        state = _mixed(state ^ (_eight(start) | _LOWER))
        start += 8
    return _mixed(state ^ ((_eight(start) | _LOWER) & (_ONES >> np.uint64(64 - 8 * (end - start)))))


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
def _hashed(state, word, held):
    """The hash of all that was pushed."""
    return _mixed(state ^ word) if held > 0 else state


@njit
def _push_ascii(start, end, state, word, held):
    while start < end:
        count = min(8, end - start)
        value = (_eight(start) | _LOWER) & (_ONES >> np.uint64(64 - 8 * count))
        state, word, held = _push(state, word, held, value, count)
        start += count
    return state, word, held


@njit
def _bit(lookup, key):
    """1 where a key passes the filter, 0 where it can't be among the keys."""
    place = np.int64(key >> np.uint64(_at(lookup, _BITS_SHIFT)))
    return (_eight(_at(lookup, _BITS) + (place >> 6) * 8) >> np.uint64(place & 63)) & _U1


@njit
def _passes(lookup, key):
    return _bit(lookup, key) != _U0


@njit
def _find(lookup, key):
    """A key's place among the keys, or -1; the filter isn't asked."""
    bucket = _at(lookup, _FIRST) + 4 * np.int64(key >> np.uint64(_at(lookup, _FIRST_SHIFT)))
    for place in range(_four(bucket), _four(bucket + 4)):
        if _eight(_at(lookup, _TABLE_KEYS) + 8 * place) == key:
            return place
    return np.int64(-1)


# ------------------------------------------------------------------ ASCII, 64 bytes at a time


@njit
def _pieces(scratch, text, position, end, paper):
    """Find the pieces from a place on, up to another character than ASCII, or until it's enough.

    Returns:
        Pieces; where to go on; the place of the character that isn't ASCII, or 0; whether a line
        border lies behind the last piece.
    """
    begin, num_starts, num_ends = position, 0, 0
    slash = position > text and _byte(position - 1) == 0x5C
    inside, mark, border = _U0, _U1 if paper or slash else _U0, _U0
    other = np.int64(0)
    while position < end and num_starts < PIECES and other == 0:
        size = min(np.int64(64), end - position)
        valid = _below(size)
        foreign = _beyond_ascii(position) & valid
        if foreign != _U0:
            size = _lowest(foreign)
            valid = _below(size)
            other = position + size
        runs = (_letters(position) | _digits(position)) & valid
        edges = runs << _U1 | inside
        opened, closed = runs & ~edges, edges & ~runs
        inside = runs >> _U63
        if other != 0:
            closed &= valid  # a piece that touches the other character isn't over
        lines = (_line_feeds(position) | _returns(position)) & valid
        firsts = _U0
        if lines | border != _U0:
            firsts, border = _after(opened, lines, border)
        if paper:
            marks, mark = _after(opened, (_tabs(position) | _blanks(position)) & valid, mark)
        else:
            slashes = _backslashes(position) & valid
            marks, mark = slashes << _U1 | mark, slashes >> _U63
        while opened != _U0:
            bit = _lowest(opened)
            at = np.uint64(bit)
            flags = (firsts >> at & _U1) << _U1 | (marks >> at & _U1)
            _set(scratch + _PIECE_STARTS, num_starts, (position + bit) << 2 | np.int64(flags))
            num_starts += 1
            opened &= opened - _U1
        while closed != _U0:
            _set(scratch + _PIECE_ENDS, num_ends, position + _lowest(closed))
            num_ends += 1
            closed &= closed - _U1
        position += size
    if position >= end and other == 0:
        _set(scratch + _PIECE_ENDS, num_ends, end)  # where one is still open
        return num_starts, end, np.int64(0), border
    # What isn't over is read again from its start.
    last = num_starts - 1
    if paper:
        if mark != _U0:
            return num_starts, position, other, border
        while _at(scratch + _PIECE_STARTS, last) & 1 == 0:
            last -= 1
    elif num_ends == num_starts:
        return num_starts, position, other, border
    start = _at(scratch + _PIECE_STARTS, last)
    position = start >> 2
    if other == 0 and position == begin:
        other = position
    return last, position, other, np.uint64(start >> 1 & 1)


@njit
def _keep(scratch, key, start, end):
    """Append a token."""
    state = scratch + _STATE
    num = _at(state, 0)
    _set(scratch + _HASHES, num, key)
    _set(scratch + _STARTS, num, start)
    _set(scratch + _ENDS, num, end)
    _set(state, 0, num + 1)
    if _at(state, 2) != 0:
        num_lines = _at(state, 1)
        _set(scratch + _LINES, num_lines, num)
        _set(state, 1, num_lines + 1)
        _set(state, 2, 0)


@njit
def _keep_said(scratch, said, key, start, end):
    """Append what a word stands for; returns that."""
    if _passes(said, key):
        place = _find(said, key)
        if place >= 0:
            key = _eight(_at(said, _VALUES) + 8 * place)
            if key <= _FRACTION:
                return key
    _keep(scratch, key, start, end)
    return key


@njit
def _is_letter(byte):
    return 0x61 <= (byte | 0x20) <= 0x7A


@njit
def _is_digit(byte):
    return 0x30 <= byte <= 0x39


@njit
def _command(scratch, commands, start, end):
    r"""Append a command and, of \frac12, the digits; returns where to go on."""
    position = start
    while position < end and _is_letter(_byte(position)):
        position += 1
    key = _keep_said(scratch, commands, _hash_ascii(start, position), start, position)
    digits = 2 if key == _FRACTION else 0
    while digits > 0 and position < end and _is_digit(_byte(position)):
        _keep(scratch, _hash_ascii(position, position + 1), position, position + 1)
        position += 1
        digits -= 1
    return position


@njit
def _odd_word(scratch, words, commands, start, end, slash):
    """Append what a piece says that is a command, or a word that may stand for something."""
    if slash and _is_letter(_byte(start)):
        start = _command(scratch, commands, start, end)
    if start < end:
        _keep_said(scratch, words, _hash_ascii(start, end), start, end)


@njit
def _words_evidence(scratch, words, commands, num_pieces):
    """Append the pieces as tokens."""
    state = scratch + _STATE
    num, border = _at(state, 0), _at(state, 2)
    for piece in range(num_pieces):
        start, end = _at(scratch + _PIECE_STARTS, piece), _at(scratch + _PIECE_ENDS, piece)
        flags, start = start & 3, start >> 2
        key = _hash_ascii(start, end)
        if (flags | border) != 0 or _passes(words, key):
            _set(state, 0, num)
            _set(state, 2, border | flags >> 1)
            _odd_word(scratch, words, commands, start, end, flags & 1 != 0)
            num, border = _at(state, 0), _at(state, 2)
        else:
            _set(scratch + _HASHES, num, key)
            _set(scratch + _STARTS, num, start)
            _set(scratch + _ENDS, num, end)
            num += 1
    _set(state, 0, num)
    _set(state, 2, border)


@njit
def _hash_joined(scratch, piece, following, start, end):
    """The hash of pieces joined to one token, and its end; all before `following`."""
    state, word, held = _push_ascii(start, end, _SEED, _U0, np.int64(0))
    while piece < following:
        start, end = _at(scratch + _PIECE_STARTS, piece) >> 2, _at(scratch + _PIECE_ENDS, piece)
        state, word, held = _push_ascii(start, end, state, word, held)
        piece += 1
    return _hashed(state, word, held), end


@njit
def _words_paper(scratch, num_pieces):
    """Append the pieces as tokens, joined where no white space is between them."""
    state = scratch + _STATE
    num, num_lines, border = _at(state, 0), _at(state, 1), _at(state, 2)
    _set(scratch + _PIECE_STARTS, num_pieces, 1)  # as if one more token came
    piece = np.int64(0)
    start = _at(scratch + _PIECE_STARTS, 0)
    while piece < num_pieces:
        flags, start, end = start & 2, start >> 2, _at(scratch + _PIECE_ENDS, piece)
        first, piece = piece + 1, piece + 1
        after = _at(scratch + _PIECE_STARTS, piece)
        if after & 1 != 0:
            key = _hash_ascii(start, end)
        else:
            while after & 1 == 0:
                piece += 1
                after = _at(scratch + _PIECE_STARTS, piece)
            key, end = _hash_joined(scratch, first, piece, start, end)
        _set(scratch + _HASHES, num, key)
        _set(scratch + _STARTS, num, start)
        _set(scratch + _ENDS, num, end)
        if flags | border != 0:
            _set(scratch + _LINES, num_lines, num)
            num_lines += 1
            border = np.int64(0)
        num += 1
        start = after
    _set(state, 0, num)
    _set(state, 1, num_lines)
    _set(state, 2, border)


# ------------------------------------------------------------------ any character, one at a time


@njit
def _follow(position, low, high, count):
    """Whether so many bytes go on with a character, the first of them between two."""
    good = low <= _byte(position + 1) <= high
    for place in range(position + 2, position + 1 + count):
        good = good and 0x80 <= _byte(place) <= 0xBF
    return good


@njit
def _decoded(position, end):
    """A character's code and bytes; -1 and 1 where the bytes are no UTF-8."""
    lead, left = _byte(position), end - position
    count = 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3
    low = 0xA0 if lead == 0xE0 else 0x90 if lead == 0xF0 else 0x80
    high = 0x9F if lead == 0xED else 0x8F if lead == 0xF4 else 0xBF
    if lead < 0xC2 or lead > 0xF4 or left <= count or not _follow(position, low, high, count):
        return np.int64(-1), np.int64(1)
    code = lead & (0x3F >> count)
    for place in range(position + 1, position + 1 + count):
        code = code << 6 | _byte(place) & 0x3F
    return code, np.int64(count + 1)


@njit
def _entry(memory, position, end):
    """A character's entry and bytes."""
    four, code, size = _four(position), _byte(position), np.int64(1)
    if 0xE1 <= code <= 0xEC and four & 0xC0C000 == 0x808000 and end - position > 2:
        code, size = (code & 0xF) << 12 | (four >> 2) & 0xFC0 | (four >> 16) & 0x3F, np.int64(3)
    elif 0xC2 <= code <= 0xDF and four & 0xC000 == 0x8000 and end - position > 1:
        code, size = (code & 0x1F) << 6 | (four >> 8) & 0x3F, np.int64(2)
    elif code >= 0x80:
        code, size = _decoded(position, end)
    if code < 0:
        return np.int64(PUNCTUATION), size
    return _four(
        memory.entries + 4 * (_two(memory.pages + 2 * (code >> 8)) << 8 | code & 255)
    ), size


@njit
def _push_folded(memory, entry, position, size, state, word, held):
    """Append a character as it is folded, to a hash under way."""
    if entry >> 8 != 0:
        position = memory.pool + (entry >> 8) + 1
        size = _byte(position - 1)
    while size > 8:
        state, word, held = _push(state, word, held, _eight(position), np.int64(8))
        position += 8
        size -= 8
    value = _eight(position) & (_ONES >> np.uint64(64 - 8 * size))
    return _push(state, word, held, value, size)


@njit
def _keep_solo(memory, entry, position, size):
    """Append the tokens of a character that stands by itself: the words it is folded to."""
    if entry >> 8 == 0:
        key = _mixed(_SEED ^ (_eight(position) & (_ONES >> np.uint64(64 - 8 * size))))
        _keep(memory.scratch, key, position, position + size)
        return
    state, word, held = _SEED, _U0, np.int64(0)
    first = memory.pool + (entry >> 8) + 1
    last = first + _byte(first - 1)
    for place in range(first, last):
        byte = _byte(place)
        if byte != 0x20:
            state, word, held = _push(state, word, held, np.uint64(byte), np.int64(1))
        if byte == 0x20 or place + 1 == last:
            _keep(memory.scratch, _hashed(state, word, held), position, position + size)
            state, word, held = _SEED, _U0, np.int64(0)


@njit
def _slow(memory, text, position, end, until, paper):
    """Append tokens one character at a time; the rule of `normal.tokens`, in its order.

    Args:
        text: where it begins.
        position: where no token is under way.
        until: at ASCII behind this place, and between tokens, the fast way takes over again.

    Returns:
        Where to go on; again no token is under way there.
    """
    under_way, script, start, last = False, np.int64(0), position, position
    state, word, held = _SEED, _U0, np.int64(0)
    while True:
        entry, size, kind = np.int64(SPACE), np.int64(0), np.int64(SPACE)
        if position < end:
            entry, size = _entry(memory, position, end)
            kind = entry & KIND
        if under_way and kind == WORD and (paper or entry & SCRIPT == script):
            state, word, held = _push_folded(memory, entry, position, size, state, word, held)
            position += size
            last = position
            continue
        solo = kind == SOLO or (kind == SYMBOL and not paper)
        splits = kind in {SPACE, WORD} or solo or not (paper or kind == IGNORED)
        if under_way and splits:
            under_way = False
            if paper:
                _keep(memory.scratch, _hashed(state, word, held), start, last)
            else:
                _keep_said(memory.scratch, memory.words, _hashed(state, word, held), start, last)
        if not under_way and (
            position >= end
            or (position > until and _byte(position) < 0x80)
            or _at(memory.scratch + _STATE, 0) >= TOKENS - 32
        ):
            return position
        if kind == WORD:
            slash = not paper and position > text and _byte(position - 1) == 0x5C
            if slash and _is_letter(_byte(position)):
                position = _command(memory.scratch, memory.commands, position, end)
                continue
            under_way, script, start, last = True, entry & SCRIPT, position, position + size
            state, word, held = _push_folded(memory, entry, position, size, _SEED, _U0, np.int64(0))
        elif solo:
            _keep_solo(memory, entry, position, size)
        elif _byte(position) == 0x0A or _byte(position) == 0x0D:
            _set(memory.scratch + _STATE, 2, 1)
        position += size


# ------------------------------------------------------------------ n-grams and lines


@njit
def _rotated(value, by):
    return value << by | value >> (_U64 - by)


@njit
def _passing(memory, first, num_tokens, width):
    """List the n-grams from the token `first` on that pass the filter; returns how many.

    No branch depends on what passes: where one is guessed wrong, all probes behind it begin anew.
    """
    key, gone, out = _U0, _U0, np.uint64(width - 1)
    for at in range(first, first + width - 1):
        key = _rotated(key, _U1) ^ np.uint64(_at(memory.scratch + _HASHES, at))
    num = np.int64(0)
    for at in range(first, num_tokens - width + 1):
        key = _rotated(key ^ gone, _U1) ^ np.uint64(_at(memory.scratch + _HASHES, at + width - 1))
        gone = _rotated(np.uint64(_at(memory.scratch + _HASHES, at)), out)
        _set(memory.scratch + _PASSING, num, at)
        _set(memory.scratch + _KEYS, num, key)
        num += np.int64(_bit(memory.grams, key))
    return num


@njit
def _probe(memory, first, num_tokens, width, num, text, begin, token):
    """Append a row for each n-gram that begins at the token `first` of the buffer, or behind it."""
    for passing in range(_passing(memory, first, num_tokens, width)):
        place = _find(memory.grams, np.uint64(_at(memory.scratch + _KEYS, passing)))
        if place >= 0:
            at = _at(memory.scratch + _PASSING, passing)
            row = memory.hits + 8 * HIT * num
            _set(row, 0, text)
            _set(row, 1, token + at)
            _set(row, 2, _at(memory.scratch + _STARTS, at) - begin)
            _set(row, 3, _at(memory.scratch + _ENDS, at + width - 1) - begin)
            _set(row, 4, _at(_at(memory.grams, _VALUES), place))
            num += 1
    return num


@njit
def _probe_line(memory, line, longest, final, num, text, begin, token):
    """Append a row for each short text that a line, or the text, begins with."""
    num_tokens, num_lines = _at(memory.scratch + _STATE, 0), _at(memory.scratch + _STATE, 1)
    first, following = _at(memory.scratch + _LINES, line), line + 1
    key = _SEED
    for at in range(first, min(first + longest, num_tokens)):
        if following < num_lines and _at(memory.scratch + _LINES, following) == at:
            if token + first > 0:
                break
            following += 1
        key = _mixed(key ^ np.uint64(_at(memory.scratch + _HASHES, at)))
        place = _find(memory.short_items, key) if _passes(memory.short_items, key) else np.int64(-1)
        if place < 0:
            break
        short = _at(_at(memory.short_items, _VALUES), place) - 1
        if short >= 0:
            ends_text = final and at + 1 == num_tokens
            goes_on = following == num_lines or _at(memory.scratch + _LINES, following) > at + 1
            row = memory.shorts + 8 * SHORT * num
            _set(row, 0, text)
            _set(row, 1, token + first)
            _set(row, 2, _at(memory.scratch + _STARTS, first) - begin)
            _set(row, 3, _at(memory.scratch + _ENDS, at) - begin)
            _set(row, 4, short)
            _set(row, 5, 1 if ends_text or not goes_on else 0)
            _set(row, 6, 1 if ends_text else 0)
            num += 1
    return num


@njit
def _trace(memory, seen, num_tokens, num, text, begin):
    """Append a row for each token."""
    for at in range(seen, num_tokens):
        row = memory.traced + 8 * TRACE * num
        _set(row, 0, text)
        _set(row, 1, _at(memory.scratch + _STARTS, at) - begin)
        _set(row, 2, _at(memory.scratch + _ENDS, at) - begin)
        _set(row, 3, _at(memory.scratch + _HASHES, at))
        num += 1
    return num


@njit
def _shift(scratch, by):
    """Drop the first tokens of the buffer, and their lines."""
    num, num_lines = _at(scratch + _STATE, 0) - by, _at(scratch + _STATE, 1)
    for at in range(num):
        _set(scratch + _HASHES, at, _at(scratch + _HASHES, at + by))
        _set(scratch + _STARTS, at, _at(scratch + _STARTS, at + by))
        _set(scratch + _ENDS, at, _at(scratch + _ENDS, at + by))
    gone = np.int64(0)
    while gone < num_lines and _at(scratch + _LINES, gone) < by:
        gone += 1
    for line in range(num_lines - gone):
        _set(scratch + _LINES, line, _at(scratch + _LINES, line + gone) - by)
    _set(scratch + _STATE, 0, num)
    _set(scratch + _STATE, 1, num_lines - gone)


@njit
def _read(memory, text, position, end, paper):
    """Append tokens until there are enough, or the text ends; returns where to go on."""
    while position < end and _at(memory.scratch + _STATE, 0) < _FULL:
        num, position, other, border = _pieces(memory.scratch, text, position, end, paper)
        if paper:
            _words_paper(memory.scratch, num)
        else:
            _words_evidence(memory.scratch, memory.words, memory.commands, num)
        _set(memory.scratch + _STATE, 2, _at(memory.scratch + _STATE, 2) | np.int64(border))
        if other != 0:
            position = _slow(memory, text, position, end, other, paper)
    return position


def _scan(memory, paper, width, longest, first, num_texts, room):
    """Find the n-grams and short items of texts, until one has no room for its rows.

    Args:
        memory: a short item's value in its table is its number + 1, and 0 for a mere beginning.
        paper: the form; evidence otherwise.
        width: n.
        longest: tokens of the longest short item.
        first, num_texts: which texts.
        room: rows that fit where hits go, where short hits go, and where tokens go; none for
            tokens: they aren't wanted.

    Returns:
        The text to go on with; rows of each kind.
    """
    num_hits, num_shorts, num_traced = np.int64(0), np.int64(0), np.int64(0)
    for text in range(first, num_texts):
        begin, end = _at(memory.begins, text), _at(memory.ends, text)
        before = (num_hits, num_shorts, num_traced)
        position, token, probed, seen = begin, np.int64(0), np.int64(0), np.int64(0)
        _set(memory.scratch + _STATE, 0, 0)
        _set(memory.scratch + _STATE, 1, 0)
        _set(memory.scratch + _STATE, 2, 1)
        final = False
        while not final:
            position = _read(memory, begin, position, end, paper)
            num, final = _at(memory.scratch + _STATE, 0), position >= end
            num_lines = _at(memory.scratch + _STATE, 1)
            if (
                num_hits + num > room[0]
                or num_shorts + num_lines * longest > room[1]
                or (room[2] > 0 and num_traced + num > room[2])
            ):
                return text, before
            if room[2] > 0:
                num_traced = _trace(memory, seen, num, num_traced, text, begin)
            if num - probed >= width:
                num_hits = _probe(memory, probed, num, width, num_hits, text, begin, token)
                probed = num - width + 1
            line = np.int64(0)
            while line < num_lines and (
                final or _at(memory.scratch + _LINES, line) + longest < num
            ):
                num_shorts = _probe_line(
                    memory, line, longest, final, num_shorts, text, begin, token
                )
                line += 1
            if final:
                _set(memory.counts, text, token + num)
            else:
                by = min(probed, _at(memory.scratch + _LINES, line)) if line < num_lines else probed
                _shift(memory.scratch, by)
                token, probed, seen = token + by, probed - by, num - by
    return num_texts, (num_hits, num_shorts, num_traced)


_THREE = types.UniTuple(types.int64, 3)
_SIGNATURE = types.Tuple([types.int64, _THREE])(
    types.NamedUniTuple(types.int64, len(Memory._fields), Memory),
    types.boolean,
    *[types.int64] * 4,
    _THREE,
)

with cached_by_content() as _cached:
    scan = njit(_SIGNATURE, cache=_cached, nogil=True)(_scan)
