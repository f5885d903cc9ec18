r"""Pieces of prose and displays that may be an answer: where it ends, and what it comes to."""

from __future__ import annotations

import re

_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3,}")
_FUNCTION = re.compile(
    r"(?:arc)?(?:sin|cos|tan|cot|sec|csc)h?|log|exp|sqrt|lim|max|min|gcd|lcm|[pb]?mod|det|infty"
    r"|frac|and",
    re.IGNORECASE,
)
_CLOSED = re.compile(
    r"(?:yes|no|true|false|none|odd|even|infinity|undefined|convergent|divergent"
    r"|[是否对错甲乙丙丁]|正确|错误|无解|不存在|不确定)",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"(?:step|case|part|note|example|section|problem|question|figure|table|equation|eq|method|let"
    r"|approach|check|summary|conclusion|lemma|claim|theorem)(?![A-Za-z])"
    r"|[0-9]+[.)、](?:\s|$)",
    re.IGNORECASE,
)
_MATH = re.compile(r"[0-9\\∞π√]|(?<![A-Za-z])[A-Za-z](?![A-Za-z])|[①-⑳]")
_WRAPPERS = re.compile(
    r"\\(?:begin|end)\s*\{(?:aligned|align\*?|gathered|gather\*?|split|equation\*?|alignedat"
    r"|multline\*?|eqnarray\*?|displaymath)\}(?:\{[0-9]+\})?"
)
_TAGS = re.compile(r"\\(?:tag\*?|label)\s*\{[^{}]*\}|\\nonumber|\\notag|\\displaystyle")
_AMPERSAND = re.compile(r"(?<!\\)&")
_ROW_END = re.compile(r"\\\\(?:\[[^\]]*\])?")
_ARROW = re.compile(r"\\(?:implies|[Rr]ightarrow|Longrightarrow|therefore|iff)(?![A-Za-z])|[⇒∴]|=>")
_EQUALS = re.compile(r"(?<![<>!:=\\])=(?![=>])|＝")
_LETTER = re.compile(
    r"(?<![A-Za-z\\])[A-Za-z](?![A-Za-z])|(?<!\\)\b[A-Z]{2,4}\b|(?<!\\)\b[A-Za-z]{2,}\b"
    r"|\\(?:alpha|beta|gamma|delta|epsilon|theta|lambda|mu|phi|omega|angle|triangle)(?![A-Za-z])"
)
_VARIABLE = r"[A-Za-z](?:_(?:\w|\{\w{1,3}\}))?"
_ASSIGNMENT = re.compile(rf"\s*({_VARIABLE})\s*[=＝][^=＝]+")
_ASSIGNMENTS = re.compile(
    rf"(?<![\w\\])({_VARIABLE}\s*[=＝][^=＝,;]{{1,80}}?"
    rf"(?:(?:\s*[,;]\s*|\s+|\\text\s*\{{\s*)(?:(?:and|or|和|或)[\s}}]+)?"
    rf"{_VARIABLE}\s*[=＝][^=＝,;]{{1,80}}?){{1,8}})\s*\Z"
)
_ONE_ASSIGNMENT = re.compile(rf"(?<![\w\\^+*/(-])(?<![+*/-] )({_VARIABLE}\s*[=＝][^=＝]+)\Z")
_DELIMITERS = re.compile(r"(?<!\\)\$|\\[()]|\*\*")

_SENTENCE_END = re.compile(r"\n|[。！？]|(?!\A)【|[.!?](?=\s|\Z|[*_\"'”)]+(?:\s|\Z))")
_LABELED = re.compile(r"[*_\s(\[]{0,4}[A-Z][.)\]:]{1,2}[*_]{0,2}[ \t]+")
_CLAUSE = re.compile(
    r",?\s+(?:because|since|so that|which|hence|therefore|thus|given that)(?![A-Za-z])"
    r"|,\s*(?:not|so|as|but|and\s+(?:the|we|it|this|hence|so))(?![A-Za-z])"
    r"|\s+\((?:since|because|as)\s|\s*—|;\s*(?:the|we|it|this|that)\s|[，,]\s*(?:因为|所以|即|其中)",
    re.IGNORECASE,
)
_PROSE = re.compile(
    r"(?:to (?:find|solve|determine|answer|get|see)|let(?:'s| us|\s)|we\s|first\b|here\b|as follows"
    r"|given by|obtained|found (?:by|in|to)|below|above|clear|correct\b|wrong\b|incorrect\b"
    r"|in the form|step\b|based on|i (?:think|need|will|would)\b|by\s|using\s|what\b|how\b"
    r"|supposed|expected to|likely|probably|determined by|depend|in the box|(?:a|the) same)",
    re.IGNORECASE,
)
_IS = re.compile(
    r"(?:the|its|there|so|total|it|an?|our|one)(?![A-Za-z]).{0,200}\s(?:is|are|equals|be)\s+"
    r"(?P<value>\S.{0,80})",
    re.IGNORECASE | re.DOTALL,
)
_SHI = re.compile(r".{0,200}(?:是|为|等于)\s*(?P<value>[^是为]{1,60})", re.DOTALL)
_BOLD = re.compile(r"(?<![\w)*])\*\*([^*\n]+)\*\*(?![\w(*])")
_FENCED = re.compile(r"```\w*[ \t]*\n(.{0,500}?)\n?[ \t]*```", re.DOTALL)
_SKIP = re.compile(r"[*_\s】]*")
_PAIRS = (("$$", "$$"), (r"\[", r"\]"), ("$", "$"), (r"\(", r"\)"))
_EMPTY_BOX = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])\s*(?:\{\s*\})?")

WINDOW = 2_000
"""Characters in which an answer must end (ours)."""
MAX_UNITS = 4
"""Most words, units say, of a piece that counts as mathematics (ours)."""
_MAX_WORDS = 15
_MAX_REST = 160


def mathy(text: str) -> bool:
    r"""Whether a piece is a value and not prose: something is computed, few words stand by.

    >>> mathy("42 apples"), mathy("B"), mathy("Yes"), mathy("Step 3"), mathy("Hope this helps!")
    (True, True, True, False, False)
    """
    text = text.strip().strip("*_$").strip()
    if not text or len(text) > WINDOW or text.endswith((":", "：", "?", "？")):
        return False
    if _CLOSED.fullmatch(text.rstrip(".")):
        return True
    if _LABEL.match(text) or not _MATH.search(text):
        return False
    return _words(text) <= MAX_UNITS and _chinese(text) <= 2 * MAX_UNITS


def _words(text: str) -> int:
    return sum(not _FUNCTION.fullmatch(word) for word in _WORD.findall(text))


def _chinese(text: str) -> int:
    return sum("\u4e00" <= char <= "\u9fff" for char in text)


def value_of(text: str, start: int, *, labels: bool = False) -> str | None:
    r"""Return the answer that follows words such as "the answer is" in ``text`` at ``start``.

    A display is read to its end, else the sentence, without the clauses that give reasons. Prose
    is read for what it comes to only where the response ends with it: "Answer: we have 12 = 3·4,
    so ..." begins a solution.

    >>> value_of("the answer is 5, since 2 + 3 = 5.", 14), value_of("Answer: To see this, ...", 7)
    ('5', None)
    """
    inside_bold = text.count("**", text.rfind("\n", 0, start) + 1, start) % 2 == 1
    space = _SKIP.match(text, start)
    if space is not None:
        inside_bold ^= space.group().count("**") % 2 == 1
        start = space.end()
    rest = text[start : start + WINDOW]
    if fenced := _FENCED.match(rest):
        return fenced.group(1).strip()
    if (display := _display(rest)) is not None:
        return display_answer(display) or None
    end = _end(rest, labels=labels)
    sentence = rest[:end]
    if inside_bold:
        sentence = sentence.replace("**", "", 1)
    if rest[end : end + 1] in ("?", "？"):
        return "?"
    ends_here = len(text) - start - end <= _MAX_REST
    return _cut(sentence, may_reduce=ends_here)


def _display(rest: str) -> str | None:
    for opener, closer in _PAIRS[:2]:
        if rest.startswith(opener):
            end = rest.find(closer, len(opener))
            return rest[len(opener) : end] if end > 0 else None
    return None


def _end(rest: str, *, labels: bool) -> int:
    """Where the sentence ends: not within its first formula, nor behind an option's letter."""
    start = 0
    for opener, closer in _PAIRS[2:]:
        if rest.startswith(opener):
            start = max(0, rest.find(closer, len(opener)))
    labeled = _LABELED.match(rest) if labels else None
    end = _SENTENCE_END.search(rest, labeled.end() if labeled else start)
    return end.start() if end else len(rest)


def _cut(sentence: str, *, may_reduce: bool) -> str | None:
    clause = _CLAUSE.search(sentence)
    whole = sentence
    if clause and sentence[: clause.start()].strip():
        sentence = sentence[: clause.start()]
    answer = _EMPTY_BOX.sub("", _BOLD.sub(r"\1", sentence)).strip().strip("*_").strip()
    if _PROSE.match(answer):
        return None
    words = _words(answer)
    if may_reduce and (found := _IS.fullmatch(answer)) and mathy(found.group("value")):
        answer, words = found.group("value").strip(), 0
    elif may_reduce and words > MAX_UNITS and (reduced := from_sentence(whole)):
        return reduced
    if words > _MAX_WORDS or answer.endswith((":", "：")):
        return None
    if "=" in answer and words <= MAX_UNITS:
        bare = _DELIMITERS.sub("", answer)
        return answer if (side := right_side(bare)) == bare else side
    return answer or None


def from_sentence(sentence: str) -> str | None:
    r"""Return the value a sentence comes to: emphasized, behind an equals sign or "is", or alone.

    >>> from_sentence("The number of ways is $5 + 5 = 10$"), from_sentence("42 is even")
    ('10', None)
    """
    sentence = sentence.strip().rstrip(".。").strip()
    bold = _BOLD.findall(sentence)
    if len(bold) == 1 and mathy(bold[0]):
        return bold[0].strip()
    if (equation := sentence_equation(sentence)) is not None:
        return equation
    found = _IS.fullmatch(sentence) or _SHI.fullmatch(sentence)
    if found:
        value = found.group("value").strip()
        return value if mathy(value) else None
    alone = mathy(sentence) and not re.search(r"\s(?:is|are|has|have)\s", sentence)
    return sentence if alone else None


def display_answer(content: str) -> str:
    r"""Return what a displayed equation or aligned block arrives at.

    The right side of a chain or of arithmetic, the whole of a single equation, all of a list of
    assignments.

    >>> display_answer(r"\begin{aligned} x &= 2+3\\ &= 5\end{aligned}"), display_answer("2+3 = 5")
    ('5', '5')
    >>> display_answer("x^2+y^2 = 1"), display_answer(r"x &= 1 \\ y &= 2")
    ('x^2+y^2 = 1', 'x = 1, y = 2')
    """
    text = _TAGS.sub("", _WRAPPERS.sub("", content)).strip()
    if r"\begin" in text:
        return text.rstrip(".,;。").strip()  # a matrix, cases: their rows are no steps
    rows = [row.strip().rstrip(".,;。").strip() for row in _ROW_END.split(_AMPERSAND.sub("", text))]
    rows = [row for row in rows if row]
    if not rows:
        return ""
    heads = [match.group(1) for row in rows if (match := _ASSIGNMENT.fullmatch(row))]
    if len(rows) > 1 and len(set(heads)) == len(rows):
        return ", ".join(rows)
    return right_side(_ARROW.split(rows[-1])[-1].strip())


def right_side(text: str) -> str:
    """Return the end of a chain of equations, or the text where it is no chain."""
    if _ASSIGNMENTS.search(text):
        return text
    sides = _EQUALS.split(text)
    if len(sides) == 1:
        return text
    if len(sides) == 2 and _LETTER.search(sides[0]):
        return text
    return sides[-1].strip() or text


def sentence_equation(sentence: str) -> str | None:
    r"""Return what the equation at the end of a sentence says, or None where there is none.

    >>> sentence_equation("the number of ways is 5 + 5 = 10"), sentence_equation("we get x = 3")
    ('10', 'x = 3')
    >>> sentence_equation("we get x = 1 and y = 2")
    'x = 1 and y = 2'
    """
    bare = _DELIMITERS.sub("", sentence).strip()
    if not _EQUALS.search(bare):
        return None
    found = _ASSIGNMENTS.search(bare) or _ONE_ASSIGNMENT.search(bare)
    answer = found.group(1) if found else _EQUALS.split(bare)[-1]
    answer = answer.strip()
    return answer if mathy(answer) else None
