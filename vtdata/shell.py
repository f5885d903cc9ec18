"""What a command owes its shell: stdout to the last byte, a tidy end, its folder's modules."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from vtdata.errors import ConfigError, RunError, Stopped


class Stdout:
    """Stdout, where a full disk is a sentence; a reader that went away is BrokenPipeError."""

    def write(self, text: str, /) -> None:
        """Write on.

        Raises:
            RunError: it can't be written.
        """
        with self._said():
            sys.stdout.write(text)

    def flush(self) -> None:
        """Write what is held back.

        Raises:
            RunError: it can't be written.
        """
        with self._said():
            sys.stdout.flush()

    @contextmanager
    def _said(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            # The interpreter writes what is left at its end, and would complain again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if isinstance(error, BrokenPipeError):
                raise
            raise RunError(f"stdout can't be written: {error.strerror or error}") from error


@contextmanager
def tidy_end() -> Generator[None]:
    """Let SIGTERM end what is within by an error, so that temporary files and processes go.

    Raises:
        Stopped: it came.
    """

    def end(_number: int, _frame: FrameType | None) -> None:
        raise Stopped("SIGTERM ended it; run it again")

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def reach_checkout() -> None:
    """Let ``use:`` steps be found in the current folder: last on the path, never first."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if here not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([*filter(None, paths), here])


def check_kind(kind: str, *, code: object, answers: object) -> None:
    """Refuse options of ``verify`` that the kind has no use for.

    Raises:
        ConfigError: ``code`` or ``answers``, given options of theirs, are not what it is.
    """
    if kind != "code" and code:
        raise ConfigError(f"verify {kind}: --sandbox and --weak are for code, which runs programs")
    if kind == "code" and answers:
        raise ConfigError("verify code: --disagreements and --limit-s are for math and choice")
