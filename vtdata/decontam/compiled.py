"""Compile a loop where the scan is compiled, too; else run it as Python."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from vtdata.decontam.kernel.cache import cached_by_content


def compiled(loop: Callable[..., None]) -> Callable[..., None]:
    """Return a function of the same effect.

    Small inputs are scanned by plain Python, and their loops aren't worth a compiler, either.
    """
    return _compiled(loop) if "vtdata.decontam.kernel.compiled" in sys.modules else loop


@cache
def _compiled(loop: Callable[..., None]) -> Callable[..., Any]:
    from numba import njit

    with cached_by_content() as cached:
        return njit(cache=cached, nogil=True)(loop)
