r"""Multiple choice: what a response names, by label or by an option's text, one or several."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

from vtdata.records import Verdict
from vtdata.verify.boxes import boxed
from vtdata.verify.concluded import concluded
from vtdata.verify.math import LIMIT_S
from vtdata.verify.menu import Menu, clean, menu_of
from vtdata.verify.options import Picked, labels_in, pick
from vtdata.verify.said import said
from vtdata.verify.spoken import spoken

__all__ = ["Picked", "check", "find", "pick"]

_NOT = re.compile(
    r"(?:not|n't|never|cannot|avoid|rather than|instead of|than)\s+(?:to\s+|the\s+)?\Z"
)
_MAX_LINE = 200


def check(
    response: str,
    answer: str | None,
    spec: dict[str, Any],
    options: Sequence[str],
    *,
    limit_s: float = LIMIT_S,
) -> Verdict:
    r"""Judge a response by the option it names; the reference is a letter or an option's text.

    Answer matching and option verification together: a label, an option's text, or a value equal
    to it. The reference follows the options' text where it is a text, and their order, or their
    own labels, where it is a letter. Several correct options must all be named, and no other.

    Reasons: ``correct``, ``wrong``, ``no_answer``, ``no_such_option``, ``letter_text_conflict``,
    ``hedged``, ``negated`` (0.0); ``bad_reference``, ``ambiguous`` (one of two readings is
    right), ``undecided`` (whether it is the right one, a limit kept open) and ``no_options``
    (the answer is a text, and the query doesn't hold the options' own) (None).

    Source: 3B p.6, which names both for STEM and says no more; how they are done is ours.

    >>> check("The answer is (B).", "42", {}, ["41", "42"])
    Verdict(reward=1.0, reason='correct')
    >>> check(r"\boxed{A}", "B", {}, ["41", "42"])
    Verdict(reward=0.0, reason='wrong')
    """
    del spec
    found = find(response, options, limit_s=limit_s)
    gold = (
        pick(answer, options, limit_s=limit_s) if answer else Picked(frozenset(), "no_such_option")
    )
    if not gold.indices:
        return Verdict(None, "bad_reference", answer=found)
    if found is None:
        return Verdict(0.0, "no_answer")
    picked = pick(found, options, limit_s=limit_s)
    if picked.indices:
        right = picked.indices == gold.indices
        return Verdict(float(right), "correct" if right else "wrong", answer=found)
    if picked.reason in ("ambiguous", "undecided"):
        if not picked.others & gold.indices:
            return Verdict(0.0, "wrong", answer=found)
        return Verdict(None, picked.reason, answer=found)
    if picked.reason == "no_such_option" and not options:
        return Verdict(None, "no_options", answer=found)
    return Verdict(0.0, picked.reason, answer=found)


def find(response: str, options: Sequence[str], *, limit_s: float = LIMIT_S) -> str | None:
    r"""Return what a response gives as its choice, as it is written; None where it gives none.

    First a box; then of "the answer is X", "option X is correct", "I choose X", 选X, a last line
    that is a label, and the forms of ``extract``, the first that names an option.

    >>> find("Option (B) is correct, since 6 * 7 = 42.", ["41", "42"])
    'B'
    >>> find("It may be anything.", ["41", "42"]) is None
    True
    """
    text = spoken(response)
    if text is None:
        return None
    answer, cut = boxed(text)
    if answer is not None or cut:
        return answer
    menu = menu_of(tuple(options), limit_s)
    given = [found for found in _candidates(text, menu, options) if found]
    named = (
        found for found in given if pick(found, options, limit_s=limit_s).reason != "no_such_option"
    )
    return next(named, given[0] if given else None)


def _candidates(text: str, menu: Menu, options: Sequence[str]) -> list[str | None]:
    plain, labeled = said(text), said(text, labels=True)
    if labeled and labeled != plain:
        picked = pick(labeled, options, limit_s=menu.limit_s)
        plain = labeled if picked.reason == "letter_text_conflict" else plain
    return [plain, _stated(text, menu), _last_line(text, menu, options), concluded(text)]


def _stated(text: str, menu: Menu) -> str | None:
    """The last "option X is correct" or "I choose X"."""
    for match in reversed(list(_statements(tuple(menu.labels)).finditer(text))[-20:]):
        if not _NOT.search(text, max(0, match.start() - 30), match.start()):
            return match["before"] or match["after"]
    return None


@functools.lru_cache(maxsize=256)
def _statements(labels: tuple[str, ...]) -> re.Pattern[str]:
    mark = "|".join(sorted(map(re.escape, labels), key=len, reverse=True))
    return re.compile(
        rf"(?<![A-Za-z0-9])[*(\[]{{0,3}}(?P<before>{mark})[*)\].:]{{0,3}}\s+(?:is|must\s+be)\s+"
        r"(?:the\s+|therefore\s+)?(?:only\s+)?(?:correct|right|best|true)(?![A-Za-z])"
        r"|(?:(?<![A-Za-z])(?:choose|select|pick|chose|go\s+with|opt\s+for)"
        r"(?:\s+(?:the\s+)?(?:option|choice|answer))?\s+"
        r"|(?<![A-Za-z])(?:must|has\s+to)\s+be\s+(?:option|choice)?\s*|(?<!不)选择?[项:：\s]{0,3}"
        r"|(?<![A-Za-z])(?:corresponds\s+to|matches)\s+(?:option|choice)\s+)"
        rf"[*(（\[]{{0,3}}(?P<after>{mark})(?![A-Za-z0-9'])"
    )


def _last_line(text: str, menu: Menu, options: Sequence[str]) -> str | None:
    """A last line that is a label, alone or with its option's text; or the option's text alone.

    The last line of a list of options that is merely repeated is no answer.
    """
    lines = [line.strip() for line in text[-20 * _MAX_LINE :].splitlines() if line.strip()]
    if not lines or len(lines[-1]) > _MAX_LINE:
        return None
    last = lines[-1]
    if len(lines) > 1 and menu.head.match(clean(lines[-2])):
        return None
    bare = clean(last)
    if labels_in(bare, menu) and (len(bare) > 1 or bare.isupper() or len(lines) == 1):
        return last
    head = menu.head.match(bare)
    if head and pick(last, options, limit_s=menu.limit_s).reason in ("", "letter_text_conflict"):
        rest = bare[head.end() :]
        return last if not rest or menu.named(rest) else None
    whole = len(lines) == 1 and menu.named(last)
    return last if whole else None
