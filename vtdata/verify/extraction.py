r"""The final answer of a whole response: its last ``\boxed{}``, or a line that says "answer"."""

from __future__ import annotations

import re

_THINK = re.compile(r"</?think(?:ing)?>")
_OPENER = re.compile(r"\\(?:boxed|fbox)\s*\{")
_BRACES = re.compile(r"(?P<opener>\\(?:boxed|fbox)\s*\{)|\\.|[{}]", re.DOTALL)
_BETWEEN = re.compile(r"[\s,;.$、，；]*(?:(?:\\text\s*\{\s*)?(?:and|or|和|或|及)\s*\}?[\s$]*)?")
_OR = re.compile(r"\bor\b|或")
_SAYS = re.compile(
    r"(?:\b(?:answer|correct (?:option|choice))\b[*_\s]*(?:is|are|:|：|=)"
    r"|答案\s*(?:是|为|為|:|：))[*_\s]*(?:[:：][*_\s]*)?",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"(?:not|n't|isn't|unknown|unclear|不)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"\n|[。！？]|[.!?](?=\s|$|[*_]+(?:\s|$))")
_MAX_ADJACENT = 64


def extract(response: str) -> str | None:
    r"""Return the response's final answer as it is written, or None where it gives none.

    What counts is, first, the last ``\boxed{}`` or ``\fbox{}`` with balanced braces; boxes that
    stand side by side are one list. A box that is never closed was cut off, so it is no answer,
    and neither is what stands before it. Then the last "answer is X", "Answer: X" or 答案 line.
    Thoughts don't count, and after an unfinished thought there is no answer at all. The last
    number of the text is never taken for an answer.

    Args:
        response: the whole text, with or without ``<think>`` tags.

    Source: ours; the order is that of the graders compared in TRL and verl, without their
    fallback to the last number.

    >>> extract(r"<think>\boxed{7}?</think> It is \boxed{\frac{1}{2}}.")
    '\\frac{1}{2}'
    >>> extract("Hence the answer is 14.5.")
    '14.5'
    >>> extract(r"\boxed{7} <think> or rather \boxed{8}") is None
    True
    >>> extract("There are 3 of 7 left") is None
    True
    """
    text = _spoken(response)
    if text is None:
        return None
    boxes, unclosed = _boxes(text)
    if unclosed:
        return None
    if boxes:
        return _joined(text, boxes)
    return _said(text)


def _spoken(response: str) -> str | None:
    """The text after the thoughts; None where a thought is unfinished."""
    start = 0
    open_thought = False
    for tag in _THINK.finditer(response):
        open_thought = not tag.group().startswith("</")
        start = tag.end()
    return None if open_thought else response[start:]


def _boxes(text: str) -> tuple[list[tuple[int, int, int]], bool]:
    """Return (start, content start, end) of closed boxes, and whether the last one is unclosed.

    One pass over the braces: a scan per opener would take hours on 100,000 unclosed ones.
    """
    first = _OPENER.search(text)
    if first is None:
        return [], False
    if text.count("{") == text.count("}") == 1 and "\\" not in text[first.start() + 1 :]:
        return _only_box(text, first)
    stack: list[tuple[int, int] | None] = []
    closed: list[tuple[int, int, int]] = []
    last_opener = -1
    before = text[: first.start()].rstrip("\\")  # with another backslash in front it is no box
    for match in _BRACES.finditer(text, len(before)):
        if match.lastgroup == "opener":
            stack.append(match.span())
            last_opener = match.start()
        elif match.group() == "{":
            stack.append(None)
        elif match.group() == "}" and stack:
            opener = stack.pop()
            if opener is not None:
                closed.append((*opener, match.start()))
    unclosed = any(entry is not None and entry[0] == last_opener for entry in stack)
    filled = [box for box in closed if text[box[1] : box[2]].strip()]
    return _outermost(filled), unclosed


def _only_box(text: str, opener: re.Match[str]) -> tuple[list[tuple[int, int, int]], bool]:
    """The usual case without a scan: one pair of braces in the whole text."""
    end = text.find("}", opener.end())
    before = text[: opener.start()]
    escaped = (len(before) - len(before.rstrip("\\"))) % 2 == 1
    if end < 0:
        return [], not escaped
    filled = not escaped and bool(text[opener.end() : end].strip())
    return [(*opener.span(), end)] if filled else [], False


def _outermost(boxes: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    outer: list[tuple[int, int, int]] = []
    for box in sorted(boxes):
        if not outer or box[0] > outer[-1][2]:
            outer.append(box)
    return outer


def _joined(text: str, boxes: list[tuple[int, int, int]]) -> str:
    r"""The last box; ``\boxed{1}, \boxed{2} or \boxed{3}`` is the list "1, 2 or 3"."""
    if len(boxes) == 1:
        return text[boxes[0][1] : boxes[0][2]].strip()
    run = [boxes[-1]]
    for before in reversed(boxes[-_MAX_ADJACENT:-1]):
        if not _BETWEEN.fullmatch(text, before[2] + 1, run[0][0]):
            break
        run.insert(0, before)
    contents = [text[start:end].strip() for _, start, end in run]
    if len(set(contents)) == 1:
        return contents[-1]
    answer = contents[0]
    for left, right, content in zip(run, run[1:], contents[1:], strict=False):
        hedged = _OR.search(text, left[2] + 1, right[0])
        answer += f" or {content}" if hedged else f", {content}"
    return answer


def _said(text: str) -> str | None:
    last = None
    for match in _SAYS.finditer(text):
        last = match
    if last is None:
        return None
    rest = text[last.end() :]
    if _NEGATED.match(rest):
        return None
    end = _SENTENCE_END.search(rest)
    answer = (rest[: end.start()] if end else rest).strip().strip("*_").strip()
    return answer or None
