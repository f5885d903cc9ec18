r"""The final answer at the end of a solving rationale.

A solution counts as supervision where it ends in an explicit answer (3B p.4). Three ways of ending
are known: the last ``\boxed{}``, GSM8K's ``#### 42``, and a last line with "the answer is ...".
Whatever is less explicit gives nothing: a guessed gold answer poisons every rollout of its query.
"""

from __future__ import annotations

import re

from vtdata.text import collapse

MAX_STATED_CHARS = 100
"""Longest answer, in characters, taken from "the answer is ..." (ours): longer is prose."""

_BOX = re.compile(r"\\(?:boxed|fbox)(?![a-zA-Z])\s*")
_HASHES = re.compile(r"####\s*([-+]?\$?\d[\d,]*(?:\.\d+)?(?:\s*/\s*\d+)?\s*%?)")
_STATED = re.compile(r"\b(?:the|final)\s+answer\s+is\s*:?\s*(.+)$", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?]\s")


def final_answer(solution: str) -> str | None:
    r"""Return the answer in which ``solution`` ends, or None where it ends in none.

    >>> final_answer(r"so $x = \boxed{\frac{1}{2}}$, as claimed")
    '\\frac{1}{2}'
    >>> final_answer("9 * 2 = 18\n#### 18")
    '18'
    >>> final_answer("Adding both, the answer is $3\\sqrt{2}$.")
    '3\\sqrt{2}'
    >>> final_answer("I think it is 18") is None
    True
    """
    if _BOX.search(solution):
        return last_boxed(solution)
    lines = [line.strip() for line in solution.splitlines() if line.strip()]
    if not lines:
        return None
    hashes = _HASHES.fullmatch(lines[-1])  # in the middle, "#### 2" is a heading
    return hashes[1].strip() if hashes else _stated(lines[-1])


def last_boxed(text: str) -> str | None:
    r"""Return what the last ``\boxed`` or ``\fbox`` holds, its braces balanced.

    None where it is empty, never closed, or the same line boxes something else as well: "x is
    boxed 1, y is boxed 2" has no single answer.

    >>> last_boxed(r"\boxed{1} first, then \boxed{\{2, 3\}}") is None
    True
    >>> last_boxed("\\boxed{1}\nBut then \\boxed{\\{2, 3\\}}")
    '\\{2, 3\\}'
    """
    openings = list(_BOX.finditer(text))
    if not openings:
        return None
    line_start = text.rfind("\n", 0, openings[-1].start()) + 1
    found = {_held(text, m.end()) for m in openings if m.start() >= line_start}
    return found.pop() if len(found) == 1 else None


def _held(text: str, start: int) -> str | None:
    r"""Return what stands in the braces at ``start``, or before the next ``$`` without braces."""
    if start >= len(text):
        return None
    if text[start] != "{":
        bare = re.compile(r"([^\s${}]+)\s*\$").match(text, start)  # \boxed 5$, as in MATH
        return bare[1] if bare else None
    depth, escaped = 0, False
    for at in range(start, len(text)):
        char = text[at]
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char in "{}":
            depth += 1 if char == "{" else -1
            if depth == 0:
                return collapse(text[start + 1 : at]) or None
    return None


def _stated(line: str) -> str | None:
    """Return X of a last line with "the answer is X."."""
    found = _STATED.search(line)
    if not found:
        return None
    answer = found[1].strip().strip("*").strip().rstrip(".").strip("*").strip()
    if len(answer) > MAX_STATED_CHARS or _SENTENCE_END.search(answer):
        return None
    if len(answer) > 2 and answer[0] == answer[-1] == "$" and answer.count("$") == 2:
        answer = answer[1:-1].strip()
    return answer if re.search(r"\w", answer) else None
