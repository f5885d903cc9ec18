"""What a command owes its shell: stdout to the last byte, and a tidy end when it is asked to go."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

from vtdata.errors import RunError, Stopped


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
