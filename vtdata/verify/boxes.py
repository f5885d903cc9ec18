r"""The boxes of a text: ``\boxed{...}``, ``\fbox{...}``, and ``\boxed 5`` without braces."""

from __future__ import annotations

import re

_OPENER = re.compile(r"\\(?:boxed|fbox)\s*\{")
_BRACES = re.compile(r"(?P<opener>\\(?:boxed|fbox)\s*\{)|\\.|[{}]", re.DOTALL)
_BARE = re.compile(
    r"(?<!\\)(?:\\\\)*(?P<box>\\(?:boxed|fbox)\s*)"
    r"(?P<content>[-+−]?[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?(?:/[0-9]+)?(?:\\?%)?"
    r"|(?<=\s)[A-Z](?=\s{0,2}(?:\$|\\[)\]]|\.?\s{0,2}\Z))"
    r"|[-+−]?\\(?:[dt]?frac|sqrt|text|math\w+|pi|pm)(?![A-Za-z])[^$\n]{0,80}?"
    r"(?=\s{0,2}(?:\$|\\[)\]]|\.?\s{0,2}\Z)))"
)
_NAME = r"(?:[A-Za-z](?:_\{?\w{1,3}\}?)?\s*=\s*)"
_BETWEEN = re.compile(
    r"(?:\n\s*[-*•]\s|[\s,;.$、，；。&]|\\[()\[\],;:! ]|\\\\|\\q?quad(?![A-Za-z])"
    r"|\\(?:text|mathrm)\s*\{\s*(?:and|or|和|或|及|与)?\s*,?\s*\}"
    r"|(?<![A-Za-z])(?:and|or)(?![A-Za-z])|[和或及与]|\*\*"
    rf"|\([a-z0-9]\)|(?<=\s)[a-z0-9][).]\s|{_NAME})*+"
)
_OR = re.compile(r"(?<![A-Za-z])or(?![A-Za-z])|或")
_NAMED = re.compile(r"(?<![A-Za-z_\\])([A-Za-z])\s*=\s*[$\s]*\Z")
_PLACEHOLDER = re.compile(
    r"(?:\\text\s*\{)?\s*(?:\.{2,}|…|\\[lc]?dots|_+"
    r"|(?:your |the |final )*answer(?: here)?)\s*\}?",
    re.IGNORECASE,
)
_INTRO = (
    r"(?:(?:the\s+)?(?:final\s+|correct\s+)?answer\s*(?:is\s*:?|:|：|=)"
    r"|(?:最终|正确)?答案\s*(?:是|为|:|：)[:：]?)"
)
_PREFIX = re.compile(
    rf"\s*(?:\\(?:text\w*|mathrm|mbox)\s*\{{\s*{_INTRO}\s*\}}|{_INTRO})\s*(?=\S)", re.IGNORECASE
)
_INNER_PREFIX = re.compile(
    rf"\s*(\\(?:text\w*|mathrm|mbox)\s*\{{)\s*{_INTRO}\s*(?=[^\s}}])", re.IGNORECASE
)
_DENIED = re.compile(
    r"(?:(?<![A-Za-z])(?:cannot|not|never)(?![A-Za-z])|n['’]t(?![A-Za-z])|不是|不等于|不为|不可能是)"
    r"\s*(?:(?:be|equal(?:\s+to)?)(?![A-Za-z]))?[\s$*]*(?:\\[(\[]\s*)?\Z"
)
_MAX_BEFORE = 40
_MAX_ADJACENT = 64
_MAX_BETWEEN = 100

Box = tuple[int, int, int]
"""Where a box starts, where its content starts, where its content ends."""


def boxed(text: str) -> tuple[str | None, bool]:
    r"""Return the answer in the last box, and whether there is none for good: cut off, or denied.

    Boxes that stand side by side are one list; so are those of an enumeration, and where every
    one follows the name of another variable the names stay. An empty box, or one that holds
    "..." or "your answer", only mentions where an answer would go. "It cannot be \boxed{7}" denies
    7, in whichever box it stands.

    >>> boxed(r"It is \boxed{8}, not \boxed{7}"), boxed(r"It cannot be $\boxed{7}$")
    (('8', False), (None, True))
    >>> boxed(r"first \boxed{1}, then \boxed{2} and \boxed{3}")
    ('2, 3', False)
    >>> boxed(r"$x = \boxed{1}$ and $y = \boxed{2}$"), boxed(r"so \boxed{5")
    (('x = 1, y = 2', False), (None, True))
    >>> boxed(r"\boxed{\text{The answer is } 12}"), boxed(r"$\boxed 5$")
    (('12', False), ('5', False))
    """
    boxes, cut = _boxes(text)
    if cut or not boxes:
        return None, cut
    denied = [box for box in boxes if _DENIED.search(text, max(0, box[0] - _MAX_BEFORE), box[0])]
    if denied:
        contents = {text[start:end].strip() for _, start, end in denied}
        boxes = [box for box in boxes if box not in denied]
        if not boxes or text[boxes[-1][1] : boxes[-1][2]].strip() in contents:
            return None, True
    return _joined(text, boxes), False


def _boxes(text: str) -> tuple[list[Box], bool]:
    """Return the closed boxes, and whether the last one is unclosed.

    One pass over the braces: a scan per opener would take hours on 100,000 unclosed ones.
    """
    closed: list[Box] = []
    cut = False
    first = _OPENER.search(text)
    if first is not None:
        if text.count("{") == text.count("}") == 1 and "\\" not in text[first.start() + 1 :]:
            closed, cut = _only_box(text, first)
        else:
            closed, cut = _scan(text, first)
    if _count(text, "") > _count(text, "{"):
        closed += [(m.start("box"), *m.span("content")) for m in _BARE.finditer(text)]
    filled = [box for box in closed if _holds_answer(text, box)]
    return _outermost(filled), cut


def _count(text: str, after: str) -> int:
    return text.count(rf"\boxed{after}") + text.count(rf"\fbox{after}")


def _scan(text: str, first: re.Match[str]) -> tuple[list[Box], bool]:
    stack: list[tuple[int, int] | None] = []
    closed: list[Box] = []
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
    return closed, any(entry is not None and entry[0] == last_opener for entry in stack)


def _only_box(text: str, opener: re.Match[str]) -> tuple[list[Box], bool]:
    """The usual case without a scan: one pair of braces in the whole text."""
    end = text.find("}", opener.end())
    before = text[: opener.start()]
    escaped = (len(before) - len(before.rstrip("\\"))) % 2 == 1
    if end < 0:
        return [], not escaped
    return [] if escaped else [(*opener.span(), end)], False


def _holds_answer(text: str, box: Box) -> bool:
    start, end = box[1], box[2]
    if end - start > _MAX_BETWEEN:
        return True
    content = text[start:end].strip()
    return bool(content) and not _PLACEHOLDER.fullmatch(content)


def _outermost(boxes: list[Box]) -> list[Box]:
    outer: list[Box] = []
    for box in sorted(boxes):
        if not outer or box[0] > outer[-1][2]:
            outer.append(box)
    return outer


def _joined(text: str, boxes: list[Box]) -> str:
    r"""The last box; ``\boxed{1}, \boxed{2} or \boxed{3}`` is the list "1, 2 or 3"."""
    run = [boxes[-1]]
    for before in reversed(boxes[-_MAX_ADJACENT:-1]):
        start, end = before[2], run[0][0]
        start += text.startswith("}", start)
        if end - start > _MAX_BETWEEN or not _BETWEEN.fullmatch(text, start, end):
            break
        run.insert(0, before)
    contents = [bare_answer(text[start:end]) for _, start, end in run]
    if len(set(contents)) == 1:
        return contents[-1]
    contents = _with_names(text, run, contents)
    answer = contents[0]
    for left, right, content in zip(run, run[1:], contents[1:], strict=False):
        hedged = _OR.search(text, left[2] + 1, right[0])
        answer += f" or {content}" if hedged else f", {content}"
    return answer


def _with_names(text: str, run: list[Box], contents: list[str]) -> list[str]:
    named = [_NAMED.search(text, max(0, box[0] - 30), box[0]) for box in run]
    names = [match.group(1) for match in named if match]
    if len(set(names)) < len(run) or any("=" in content for content in contents):
        return contents
    return [f"{name} = {content}" for name, content in zip(names, contents, strict=True)]


def bare_answer(content: str) -> str:
    r"""Strip what introduces the answer within a box.

    >>> bare_answer(r" \text{The answer is } 12"), bare_answer(r"\text{Answer: no}")
    ('12', '\\text{no}')
    """
    content = content.strip()
    if len(content) > 300 or ("nswer" not in content.lower() and "答案" not in content):
        return content
    return _INNER_PREFIX.sub(r"\1", _PREFIX.sub("", content, count=1), count=1).strip()
