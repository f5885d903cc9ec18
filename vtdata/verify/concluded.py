r"""What a response ends on: a display, a line in bold, a sentence that concludes with an equation.

Never the last number: a text that ends "and 3 of 7 are left" concludes nothing.
"""

from __future__ import annotations

import re

from vtdata.verify.pieces import WINDOW, display_answer, from_sentence, mathy, sentence_equation

_TRIMMINGS = re.compile(
    r"(?:\s|-{3,}+|\*\*\*|[$\\]*\\?(?:blacksquare|square|qed|Box)\$?|∎|Q\.E\.D\.?|[.,。])+\Z"
)
_BEGIN = re.compile(r"\\begin\s*\{(\w+\*?)\}")
_END = re.compile(r"\\end\s*\{(\w+\*?)\}\Z")
_CONCLUDES = re.compile(
    r"(?:(?:therefore|thus|hence|so|∴|finally|consequently|in conclusion|it follows that"
    r"|this gives|which gives|giving|we (?:find|get|have|obtain|conclude|see)"
    r"|we (?:find|get) that)(?![A-Za-z])"
    r"|所以|因此|故|综上(?:所述|可得|可知)?|从而|于是|可得|解得|得到?)[,，:：]?\s*",
    re.IGNORECASE,
)
_NUMBER = r"[-+−]?(?:[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?|\.[0-9]+)(?:/[0-9]+)?(?:\s?\\?%)?"
_PLAIN = rf"(?P<value>{_NUMBER}|\$[^$]+\$|\\\([^()]+\\\)|\*\*[^*]+\*\*)"
_ARRIVES = re.compile(
    rf"(?:(?:that\s+)?we\s+(?:get|obtain|find|arrive\s+at)\s+"
    rf"|(?:the|our|its|this|it)(?![A-Za-z])(?:\s[^.?!]{{0,200}})?\s(?:is|equals|comes\s+to)\s+)?{_PLAIN}",
    re.IGNORECASE,
)
_RESULT = re.compile(
    rf"(?:the|our)\s+(?:final\s+|end\s+|overall\s+)?result\s+(?:is|equals):?\s+{_PLAIN}",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"(?<![A-Za-z])(?:not|never|if|unless|whether|where|when|since|because|suppose|than)(?![A-Za-z])"
    r"|n['’]t(?![A-Za-z])",
    re.IGNORECASE,
)
_CHOOSES = re.compile(r"选择?\s*")
_SEES = re.compile(r"we (?:have|see|conclude)", re.IGNORECASE)
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_SENTENCE = re.compile(r"\n|[。！？]|[.!?]\s")
_BOLD_LINE = re.compile(r"\*\*([^*]+)\*\*|__([^_]+)__")
_MATH_LINE = re.compile(r"\$([^$]+)\$|\\\((.+)\\\)")


def concluded(text: str) -> str | None:
    r"""Return what a text ends on, where its form says that this is the result.

    >>> concluded("Some steps.\n\n**73**"), concluded("We add. So the total is $3 + 4 = 7$.")
    ('73', '7')
    >>> concluded("Hence 3 of 7 are left.") is None
    True
    """
    tail = text[-2 * WINDOW :].rstrip()
    display = _display(_TRIMMINGS.sub("", tail))
    if display is not None:
        answer = display_answer(display)
        return answer if mathy(answer) else None
    line = tail.rpartition("\n")[2].strip()
    return alone(line) or _last_sentence(line)


def _display(tail: str) -> str | None:
    for opener, closer in (("$$", "$$"), (r"\[", r"\]")):
        if tail.endswith(closer):
            start = tail.rfind(opener, 0, len(tail) - len(closer))
            return tail[start + len(opener) : -len(closer)] if start >= 0 else None
    end = _END.search(tail)
    if end:
        starts = [m for m in _BEGIN.finditer(tail) if m.group(1) == end.group(1)]
        return tail[starts[-1].start() :] if starts else None
    return None


def alone(line: str) -> str | None:
    """Return what a line gives that is nothing but bold or a formula.

    >>> alone("**7**"), alone("It is **7**.")
    ('7', None)
    """
    line = line.strip().rstrip(" .。")
    found = _BOLD_LINE.fullmatch(line) or _MATH_LINE.fullmatch(line)
    if found is None:
        return None
    content = next(group for group in found.groups() if group is not None).strip()
    content = display_answer(content) if _MATH_LINE.fullmatch(line) else content.rstrip(".")
    return content if mathy(content) else None


def _last_sentence(line: str) -> str | None:
    bare = line.rstrip(" .。!！*_")
    starts = [match.end() for match in _SENTENCE.finditer(bare)]
    sentence = line[starts[-1] if starts else 0 :].strip().rstrip(".。!！").strip()
    if len(sentence) > WINDOW or sentence.endswith(("?", "？")):
        return None
    if (result := _RESULT.fullmatch(sentence)) is not None:
        return _plain(result)
    conclusion = _CONCLUDES.search(sentence)
    if conclusion is None:
        return None
    if conclusion.start() > 0 and not _CHINESE.match(conclusion.group()):
        return None
    rest = sentence[conclusion.end() :]
    if (chooses := _CHOOSES.match(rest)) is not None:
        chosen = re.fullmatch(_PLAIN, rest[chooses.end() :])
        return _plain(chosen) if chosen else None
    if _CHINESE.search(sentence) or "**" in rest:
        return from_sentence(rest)
    return sentence_equation(rest) or _arrived(conclusion.group(), rest)


def _arrived(conclusion: str, rest: str) -> str | None:
    """A value at the very end, and nothing that makes it depend or denies it.

    >>> _arrived("Thus ", "we get 13"), _arrived("So ", "it holds if x is 5")
    ('13', None)
    """
    found = _ARRIVES.fullmatch(rest)
    if found is None or _OPEN.search(rest) or _SEES.match(conclusion):
        return None
    return _plain(found)


def _plain(found: re.Match[str]) -> str | None:
    value = found.group("value").strip("*").strip()
    return value if mathy(value) else None
