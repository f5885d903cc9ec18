"""Files that results are written to: there when all is in them, never in place of the cases."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TextIO

from vtdata.errors import ConfigError, RunError

_STDOUT, _STDERR = 1, 2
_NAME_CHARS = 60


class Writes(Protocol):
    """Anything that text is written on."""

    def write(self, text: str, /) -> object:
        """Write on."""


@dataclass(frozen=True, slots=True)
class Sink:
    """An open file that has a name for people."""

    name: str
    file: TextIO

    def write(self, text: str, /) -> None:
        """Write on.

        Raises:
            RunError: it can't be written.
        """
        try:
            self.file.write(text)
        except OSError as error:
            raise unwritable(self.name, error) from error


def unwritable(name: str, error: OSError) -> RunError:
    """Say that a file can't be written on."""
    return RunError(f"{name} can't be written: {error.strerror or error}")


@contextmanager
def opened(wanted: Mapping[str, Path | None], cases: Path) -> Generator[dict[str, Sink]]:
    """Open the files of options for writing; those without a name are left out.

    A file takes its name when the block ends well; until then, and for ever after a kill -9, it is
    a neighbor with another name, ``OUT.0123456789abcdef.tmp``. What a link leads to is replaced,
    not the link. A pipe, a device and this process's own stdout and stderr are written straight.

    Args:
        wanted: names by option, as the options are spelled.
        cases: the file that is read.

    Raises:
        ConfigError: one is a folder, the cases, another one too, or can't be written.
        RunError: it could not be written to its end.
    """
    with ExitStack() as stack:
        sinks: dict[str, Sink] = {}
        seen: dict[str, Path] = {"the file of the cases": cases}
        for option, out in wanted.items():
            if out is None:
                continue
            try:
                _refuse(option, out, seen)
                sinks[option] = stack.enter_context(_opened(option, out))
            except OSError as error:
                text = f"{option} {out} can't be written: {error.strerror or error}"
                raise ConfigError(text) from error
            seen[f"also {option}"] = out
        yield sinks


def _refuse(option: str, out: Path, seen: dict[str, Path]) -> None:
    found = "a folder" if out.is_dir() else None
    for name, other in seen.items():
        if os.path.realpath(out) == os.path.realpath(other) or (
            out.exists() and other.exists() and out.samefile(other)
        ):
            found = name
    if found:
        raise ConfigError(f"{option} {out} is {found}: give another name")


@contextmanager
def _opened(option: str, out: Path) -> Generator[Sink]:
    there = out.stat() if out.exists() else None
    own = _own_stream(there)
    if there is not None and (own is not None or not stat.S_ISREG(there.st_mode)):
        if own is not None:
            (sys.stdout if own == _STDOUT else sys.stderr).flush()
        file = out.open("w", encoding="utf-8") if own is None else _copy_of(own)
        with _closed(file, option, out):
            yield Sink(f"{option} {out}", file)
        return
    target = Path(os.path.realpath(out))
    if there is not None and not os.access(target, os.W_OK):
        raise PermissionError(0, "it is read-only")
    temporary = target.with_name(f"{target.name[:_NAME_CHARS]}.{secrets.token_hex(8)}.tmp")
    file = temporary.open("x", encoding="utf-8")
    try:
        with _closed(file, option, out):
            if there is not None:
                temporary.chmod(stat.S_IMODE(there.st_mode))
            yield Sink(f"{option} {out}", file)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _own_stream(there: os.stat_result | None) -> int | None:
    """Which of this process's streams a file is: opened by name it would be written from its start.

    ``/dev/stdout`` is one; so is the file that the shell redirects to.
    """
    for number in (_STDOUT, _STDERR):
        with suppress(OSError):
            if there is not None and os.path.samestat(there, os.fstat(number)):
                return number
    return None


def _copy_of(number: int) -> TextIO:
    return os.fdopen(os.dup(number), "w", encoding="utf-8")


@contextmanager
def _closed(file: TextIO, option: str, out: Path) -> Generator[None]:
    """Close a file: what is left of it is written then, and the disk may be full."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            file.close()
        raise
    try:
        file.close()
    except OSError as error:
        raise unwritable(f"{option} {out}", error) from error
