r"""Sentences, lines, headings and tags that say "answer"."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from vtdata.verify.pieces import from_sentence, mathy, value_of

_NOUN = (
    r"(?:answers?|ans\.?(?=\s*[:：=])|final\s+(?:results?|values?)|solution\s+set"
    r"|correct\s+(?:options?|choices?|statements?))"
)
_ENGLISH = (
    rf"(?<![A-Za-z\\]){_NOUN}(?![A-Za-z])[*_`)\s]*+"
    r"(?:(?:to|for|of|in)\s[^.:：=\n]{1,60}?\s)?(?:\([^()\n]{0,40}\)\s*)?[*_]*+"
    r"(?:(?:is|are|equals|would be|should be|must be|will be)(?P<not>n['’]t)?(?![A-Za-z])"
    r"|[:：=]|->|→)"
)
_CHINESE = (
    r"(?:(?:答案|选项|最终结果|最后结果)(?P<bu>不)?(?:应该|应当|应|就|即|显然|可能)?"
    r"\s*(?:是|为|為|选|選|[:：=]|】(?!\s*【))"
    r"|(?<![\u4e00-\u9fff])答[:：](?:\s*(?:一共|总共|共)有)?"
    r"|(?:故|应|应该|所以|因此|本题|综上|则|可|答案)[，,]?\s*(?:应|应该)?(?P<bu2>不)?选择?\s*[:：]?"
    r"(?=[*\s(（【]*[A-Z]))"
)
_SAYS = re.compile(
    rf"(?:{_ENGLISH}|{_CHINESE})[*_\s]*+(?:[:：][*_\s]*+)?"
    r"(?:(?:therefore|thus|then|simply|just|hence|indeed|clearly|certainly"
    r"|(?:(?:most|very|quite)\s)?(?:likely|probably)|definitely)(?![A-Za-z]),?\s*[:：]?\s*"
    r"(?:to be\s)?)?",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"^[ \t>#*_]{0,12}(?:\\(?:text|section)\w*\*?\{)?(?:the\s+)?(?:(?:final|correct|short)\s+)?"
    r"answers?[ \t*_}#]{0,12}$|^[ \t>#*_【]{0,12}(?:最终|正确)?答案[ \t*_}#】]{0,12}$",
    re.IGNORECASE | re.MULTILINE,
)
_HASHES = re.compile(r"^#### *([^\n]{1,200})$", re.MULTILINE)
_JSON = re.compile(
    r"[\"'](?:final_?)?answer[\"']\s*:\s*"
    r"(?:(\"(?:[^\"\\]|\\.){0,500}\")|(-?[0-9][0-9.eE+-]{0,40}))",
    re.IGNORECASE,
)
_TAG = re.compile(
    r"<((?:final_)?answer)>((?:(?!</?\1>).){0,2000})(</\1>)?", re.IGNORECASE | re.DOTALL
)
_REVERSED = re.compile(
    r"\sis\s+(?:the|our|my)\s+(?:final\s+|correct\s+)?answer(?![A-Za-z])", re.IGNORECASE
)
_BEFORE = re.compile(
    r"(?<![a-z])(?:(?:if|whether|suppose|assum\w+|unless|when|no|wrong|incorrect|previous|initial"
    r"|naive|first|other|estimated|approximate|student['’]s|user['’]s|his|her|their)\s+"
    r"(?:that\s+)?(?:the\s+|our\s+|this\s+|your\s+|an?\s+)?(?:final\s+|correct\s+)?)\Z",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"(?:not(?!\s+(?:possible|defined|unique|sufficient|enough|determin|convergent|continuous"
    r"|differentiable|real|prime|equal|exist|applicable|affected))|n['’]t|unknown|unclear|never"
    r"|不是|不(?=[A-Z0-9]))",
    re.IGNORECASE,
)
_FORMULA = re.compile(r"\$[^$]+\$\Z|\\\([^()]+\\\)\Z")
_MAX_TRIED = 50
"""So many places that say "answer" are read, last first; the rest are out of sight (ours)."""

_Place = tuple[int, str, re.Match[str]]


class _Denied(Exception):
    """The last such sentence says what the answer is not: there is none."""


def said(text: str, *, labels: bool = False) -> str | None:
    r"""Return what the last "answer" sentence, line, heading or tag of a text gives.

    What stands under such words may be prose that leads elsewhere: then the one before counts.
    A last sentence that denies ("the answer is not 5") or asks leaves no answer, and so does a
    tag that is never closed.

    Args:
        text: what is said, without thoughts.
        labels: keep the text behind an option's letter ("B. 42"), which else ends the sentence.

    >>> said("The answer is 5. **Final Answer:** $x = 6$ since 6 > 5.")
    '$x = 6$'
    >>> said("<answer>42</answer>"), said("#### 1,234"), said("故选：AC。")
    ('42', '1,234', 'AC')
    """
    found = sorted(_places(text), key=lambda place: place[0], reverse=True)[:_MAX_TRIED]
    tags = [match.span() for _, kind, match in found if kind == "tag"]
    try:
        for at, kind, match in found:
            if any(start < at < end for start, end in tags):
                continue
            answer = _READERS[kind](match, labels)
            if answer:
                return answer
    except _Denied:
        return None
    return None


def says(text: str) -> bool:
    """Whether a text says "answer" in any of the ways that are read."""
    return next(_places(text), None) is not None


def _places(text: str) -> Iterator[_Place]:
    lower = text.lower()
    patterns = []
    if any(word in lower for word in ("ans", "final", "correct", "solution set", "答", "选", "選")):
        patterns += [("says", _SAYS), ("heading", _HEADING)]
    elif "最" in text:
        patterns += [("says", _SAYS)]
    if "answer" in lower:
        patterns += [("json", _JSON), ("tag", _TAG), ("reversed", _REVERSED)]
    if "####" in text:
        patterns.append(("hashes", _HASHES))
    for kind, pattern in patterns:
        for match in list(pattern.finditer(text))[-_MAX_TRIED:]:
            yield match.start(), kind, match


def _after_words(match: re.Match[str], labels: bool) -> str | None:  # noqa: FBT001
    text = match.string
    if _BEFORE.search(text, max(0, match.start() - 60), match.start()):
        return None
    denied = any(match.group(name) for name in ("not", "bu", "bu2"))
    if denied or _NEGATED.match(text, match.end()):
        raise _Denied
    return _value(text, match.end(), labels)


def _after_heading(match: re.Match[str], labels: bool) -> str | None:  # noqa: FBT001
    return _value(match.string, match.end(), labels)


def _value(text: str, start: int, labels: bool) -> str | None:  # noqa: FBT001
    value = value_of(text, start, labels=labels)
    if value is not None and value.endswith(("?", "？")):
        raise _Denied
    return value


def _in_hashes(match: re.Match[str], labels: bool) -> str | None:  # noqa: FBT001
    del labels
    value = match.group(1).strip()
    return value if from_sentence(value) == value else None


def _in_json(match: re.Match[str], labels: bool) -> str | None:  # noqa: FBT001
    del labels
    quoted, plain = match.groups()
    if plain:
        return plain.strip()
    try:
        return str(json.loads(quoted)).strip()
    except json.JSONDecodeError:  # LaTeX in it, its backslashes single
        return quoted[1:-1].strip()


def _in_tag(match: re.Match[str], labels: bool) -> str | None:  # noqa: FBT001
    inner = match.group(2).strip()
    if match.group(3) is None:
        raise _Denied
    return said(inner, labels=labels) if says(inner) else inner


def _before_words(match: re.Match[str], labels: bool) -> str | None:  # noqa: FBT001
    del labels
    before = match.string[max(0, match.start() - 80) : match.start()]
    formula = _FORMULA.search(before)
    value = formula.group() if formula else (before.split() or [""])[-1].strip("*_`,$")
    return value if value and mathy(value) else None


_READERS = {
    "says": _after_words,
    "heading": _after_heading,
    "hashes": _in_hashes,
    "json": _in_json,
    "tag": _in_tag,
    "reversed": _before_words,
}
