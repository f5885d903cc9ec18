"""Programs that run inside a sandbox around what is judged, each put together as one text.

A driver is made of ``wire`` and modules of this folder, which need the standard library alone; its
``main`` is called with what the run is about. Nothing in here decides about a program that runs
beside it: it brings arguments in and results out.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

_PARTS = {
    "calls": ("../wire", "nodes", "calls"),
    "oracle": ("../wire", "stand_ins", "oracle"),
    "weak": ("weak",),
    "files": ("files",),
    "checker": ("checker",),
}
_OURS = ("from __future__", "from vtdata")


def source_of(driver: str, **given: object) -> str:
    """Return the text of a driver that is called with ``given``, which are plain values."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return f"{_text(driver)}\nmain({arguments})\n"


@lru_cache
def _text(driver: str) -> str:
    here = Path(__file__).parent
    texts = [(here / f"{part}.py").read_text(encoding="utf-8") for part in _PARTS[driver]]
    lines = [line for text in texts for line in text.splitlines() if not line.startswith(_OURS)]
    return "from __future__ import annotations\n" + "\n".join(lines)
