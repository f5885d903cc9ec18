"""The seccomp filter of a program, as classic BPF, assembled by hand.

The numbers are looked up in a binary tree of ranges, so the kernel evaluates eight comparisons and
not two hundred, once per call at the time of installing: since Linux 5.11 it remembers the calls
that are always allowed.
"""

from __future__ import annotations

import errno
import struct
import sys
from collections.abc import Mapping

from kernel import MACHINE
from syscalls import CHECKED, LATE, OWN, PLAIN

_ARCHITECTURE = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Column of the tables, and the kernel's number for the calling convention."""
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _JUMP, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x05, 0x06
_NUMBER, _CONVENTION, _FIRST, _SECOND = 0, 4, 16, 24
"""Offsets into the kernel's seccomp_data; of an argument the low half, which is what counts."""
ALLOW, KILL = 0x7FFF0000, 0x80000000
_CLONE_THREAD = 0x10000
_AF_UNIX = 1
_SET_NAME, _GET_NAME = 15, 16
_HARMLESS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""ioctl: TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX."""

Action = int | str
"""What to return, or the name of a block that looks at the arguments."""


def refuse(number: int) -> int:
    """What a filter returns for a call that fails with this errno."""
    return 0x00050000 | number


def program_filter(own_pid: int) -> bytes:
    """Return the filter of one process.

    Args:
        own_pid: the process that it may send signals to and set limits of.
    """
    return _TEMPLATE.replace(
        _SOMEONE.to_bytes(4, sys.byteorder), own_pid.to_bytes(4, sys.byteorder)
    )


def build(own_pid: int) -> bytes:
    """Assemble the filter, which takes as long as a fork.

    Raises:
        OSError: ENOSYS, there is no table for this machine.
    """
    if MACHINE not in _ARCHITECTURE:
        raise OSError(errno.ENOSYS, f"no table of system calls for {MACHINE}")
    column, convention = _ARCHITECTURE[MACHINE]
    blocks = _blocks(own_pid)
    tree = _tree(_segments(column))
    starts, at = {}, len(tree)
    for name, block in blocks.items():
        starts[name] = at
        at += len(block)
    code = [
        (_LOAD, 0, 0, _CONVENTION),
        (_EQUAL, 1, 0, convention),
        (_RETURN, 0, 0, KILL),  # another convention has other numbers: 32-bit calls
        (_LOAD, 0, 0, _NUMBER),
    ]
    for n, (operation, yes, no, value) in enumerate(tree):
        jump = isinstance(value, str)
        code.append((operation, yes, no, starts[value] - n - 1 if jump else value))
    code += [line for block in blocks.values() for line in block]
    return b"".join(struct.pack("=HBBI", *line) for line in code)


def _blocks(own_pid: int) -> dict[str, list[tuple[int, int, int, int]]]:
    return {
        "own": _one_of(_FIRST, (own_pid, 0), errno.EPERM),
        "ioctl": _one_of(_SECOND, _HARMLESS, errno.ENOTTY),
        "prctl": _one_of(_FIRST, (_SET_NAME, _GET_NAME), errno.EPERM),
        "socketpair": _one_of(_FIRST, (_AF_UNIX,), errno.EPERM),
        "clone": [
            (_LOAD, 0, 0, _FIRST),
            (_ANY_BIT, 0, 1, _CLONE_THREAD),
            (_RETURN, 0, 0, ALLOW),
            (_RETURN, 0, 0, refuse(errno.EPERM)),
        ],
    }


def _one_of(offset: int, values: tuple[int, ...], number: int) -> list[tuple[int, int, int, int]]:
    tests = [(_EQUAL, len(values) - n, 0, value) for n, value in enumerate(values)]
    return [
        (_LOAD, 0, 0, offset),
        *tests,
        (_RETURN, 0, 0, refuse(number)),
        (_RETURN, 0, 0, ALLOW),
    ]


def _segments(column: int) -> list[tuple[int, Action]]:
    """Cut the line of numbers into pieces that are treated alike, each with its first number.

    The last piece holds all numbers that we don't know; the x32 ones, which start at 2**30, too.
    """
    actions: dict[int, Action] = {}

    def add(table: Mapping[str, tuple[int | None, int | None]], action: Action | None) -> None:
        for name, numbers in table.items():
            number = numbers[column]
            if number is not None:
                actions[number] = name if action is None else action

    add(PLAIN, ALLOW)
    add(OWN, "own")
    add(CHECKED, None)
    actions = {n: refuse(errno.ENOSYS) if a == "clone3" else a for n, a in actions.items()}
    pieces: list[tuple[int, Action]] = []
    for number in range(max(LATE, *actions) + 2):
        unknown = refuse(errno.EPERM if number < LATE else errno.ENOSYS)
        action = actions.get(number, unknown)
        if not pieces or pieces[-1][1] != action:
            pieces.append((number, action))
    return pieces


def _tree(pieces: list[tuple[int, Action]]) -> list[tuple[int, int, int, Action]]:
    if len(pieces) == 1:
        action = pieces[0][1]
        return [(_JUMP if isinstance(action, str) else _RETURN, 0, 0, action)]
    half = len(pieces) // 2
    low, high = _tree(pieces[:half]), _tree(pieces[half:])
    return [(_AT_LEAST, len(low), 0, pieces[half][0]), *low, *high]


_SOMEONE = 0x7ABCDEF1
"""Stands for the process in the template: no number of a call, an action or a process."""
_TEMPLATE = build(_SOMEONE)
