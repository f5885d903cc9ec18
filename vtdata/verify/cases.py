r"""Pairs of a reference and what a model said, from a JSON Lines file, judged in their order.

A line is ``{"id", "gold", "pred"}``, and may hold ``options`` (a choice's), ``form`` (``answer``
or ``response``) and ``equal`` (the right verdict, for a measurement). Other keys are not read.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from vtdata.errors import ConfigError
from vtdata.records import Verdict
from vtdata.verify import choice, math
from vtdata.verify.cascade import opposed
from vtdata.verify.concluded import alone, concluded
from vtdata.verify.rows import (
    Id,
    found,
    id_of,
    must_be_a_file,
    must_have,
    one_of,
    read_lines,
    row_of,
    text_of,
)
from vtdata.verify.said import says
from vtdata.verify.spoken import has_marks

KINDS = ("math", "choice")
LATER = ("constraints",)
Form = Literal["answer", "response"]

EXAMPLE = '{"id": 1, "gold": "1/2", "pred": "0.5"}'
_BOX = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])")
_SENTENCES = re.compile(r"[.!?][\"')\]*]*\s+\S|[。！？]\s*\S|\n\s*\n")
_WORDS = re.compile(r"[A-Za-z]{2,}|[\u4e00-\u9fff]{2}")
_MIN_WORDS = 5
_MAX_ANSWER = 200
"""Longest text without an answer in it that is still taken for a bare answer (ours)."""


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the file."""

    id: Id
    gold: str
    pred: str
    options: tuple[str, ...] = ()
    form: Form | None = None
    equal: bool | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """A case with its verdict."""

    case: Case
    verdict: Verdict
    ms: float

    def row(self) -> dict[str, Any]:
        """The line that is written."""
        return {
            "id": self.case.id,
            "reward": self.verdict.reward,
            "reason": self.verdict.reason,
            "extracted": self.verdict.answer,
            "ms": round(self.ms, 3),
        }

    def disagreement(self) -> dict[str, Any] | None:
        """The line for people where two stages of the verifier contradict each other."""
        said = self.verdict.said or {}
        if not opposed(said):
            return None
        asked = {"id": self.case.id, "gold": self.case.gold, "pred": self.case.pred}
        return {**asked, **self.row(), **said}


def judge(kind: str, case: Case, limit_s: float | None = None) -> Judged:
    r"""Judge one case by the verifier of its kind.

    Where the case doesn't say which, ``form_of`` decides whether ``pred`` is a bare answer or a
    response. Several short sentences in which no answer is found are a bare answer after all.

    Args:
        kind: ``math`` or ``choice``.
        case: the case.
        limit_s: seconds for one question to the symbolic stage; None is its default.

    >>> judge("math", Case(1, "1/2", "0.5")).verdict.reward
    1.0
    >>> options = ("41", "42")
    >>> judge("choice", Case(1, "B", "I choose B, as 6 * 7 = 42.", options)).row()["extracted"]
    'B'
    """
    began = time.perf_counter()
    form = case.form or form_of(kind, case, limit_s)
    verdict = _check(kind, case, form, limit_s)
    guessed = case.form is None and form == "response" and len(case.pred) <= _MAX_ANSWER
    if guessed and verdict.reason == "no_answer" and not _marked(case.pred):
        verdict = _check(kind, case, "answer", limit_s)
    return Judged(case, verdict, (time.perf_counter() - began) * 1_000)


def _check(kind: str, case: Case, form: Form, limit_s: float | None) -> Verdict:
    response = case.pred if form == "response" else rf"\boxed{{{case.pred}}}"
    seconds = math.LIMIT_S if limit_s is None else limit_s
    check = choice.check if kind == "choice" else math.check
    return check(response, case.gold, {}, case.options, limit_s=seconds)


def form_of(kind: str, case: Case, limit_s: float | None = None) -> Form:
    r"""Decide whether ``pred`` is a bare answer or a whole response.

    A response has a box, a mark of a thought or words such as "the answer is"; or it has several
    sentences, or ends on a display or a sentence that concludes. What names an option as it
    stands, and what equals the reference letter by letter, is a bare answer.

    >>> [form_of("math", Case(0, "", p)) for p in ("0.5", r"\boxed{5}", "So x = 3.", "St. Louis")]
    ['answer', 'response', 'response', 'answer']
    """
    pred = case.pred
    if pred.strip() == case.gold.strip():
        return "answer"
    if _marked(pred):
        return "response"
    if kind == "choice":
        picked = choice.pick(pred, case.options, limit_s=limit_s or math.LIMIT_S)
        return "response" if picked.reason == "no_such_option" else "answer"
    if says(pred) or (concluded(pred) is not None and alone(pred) is None):
        return "response"
    several = _SENTENCES.search(pred) and len(_WORDS.findall(pred)) >= _MIN_WORDS
    return "response" if several else "answer"


def _marked(pred: str) -> bool:
    return bool(_BOX.search(pred)) or has_marks(pred)


def read_cases(path: Path) -> Iterator[Case]:
    """Yield the cases of a file; blank lines are none.

    Raises:
        ConfigError: the file isn't there, or a line is malformed; it says which and why.
    """
    for number, line in read_lines(path, EXAMPLE):
        yield case_of(line, f"{path}:{number}")


def count_cases(path: Path) -> int:
    """Read a whole file and say how many cases it has, so that no work starts on a bad one.

    Raises:
        ConfigError: see ``read_cases``; or it is a pipe, which can't be read twice.
    """
    must_be_a_file(path)
    return sum(1 for _ in read_cases(path))


def case_of(line: bytes, where: str) -> Case:
    """Read a line; ``where`` is what an error calls it.

    Raises:
        ConfigError: it is malformed.
    """
    row = row_of(line, where, EXAMPLE)
    must_have(row, ("id", "gold", "pred"), where, EXAMPLE)
    return Case(
        id_of(row["id"], where),
        text_of(row["gold"], "gold", where),
        text_of(row["pred"], "pred", where),
        _options(row.get("options"), where),
        one_of(row.get("form"), "form", ("answer", "response", None), where),
        one_of(row.get("equal"), "equal", (True, False, None), where),
    )


def _options(value: Any, where: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, list) and all(isinstance(option, str) for option in value):
        return tuple(value)
    raise ConfigError(
        f"{where}: 'options' is {found(value)}: write a list of texts in their order, "
        '["41", "42"]'
    )
