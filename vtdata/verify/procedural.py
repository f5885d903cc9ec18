"""Families of ``reasoning_gym``, scored by the family's own scorer.

The scorer runs in a child with limits on time and memory (``vtdata.verify.guard``): some loop or
grow without end on a strange answer. The package is imported there, by the first such answer.

A child is no sandbox. Some scorers run the answer as Python (``eval``, or sympy's ``parse_expr``,
which evaluates too). A model's text must never get there: for those families an answer passes a
narrow alphabet first, in which nothing can be called, or the family isn't judged at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from vtdata.errors import ConfigError
from vtdata.records import Verdict
from vtdata.verify import guard
from vtdata.verify.extraction import extract

_ARITHMETIC = re.compile(r"(?!.*\*\s*\*)[0-9+\-*/(). ]{1,200}")
_LITERAL = re.compile(r"""[0-9A-Za-z_,\-\[\]'"\s]{1,10000}""")
_FORMS = {
    "countdown": _ARITHMETIC,
    "puzzle24": _ARITHMETIC,
    "string_insertion": _LITERAL,
    "spiral_matrix": _LITERAL,
    "binary_matrix": _LITERAL,
    "n_queens": _LITERAL,
}
UNSAFE = frozenset({"simple_integration", "intermediate_integration", "polynomial_multiplication"})
"""Families whose scorer evaluates algebra that no alphabet makes harmless."""
_MAX_CHARS = 20_000
_LIMIT_S = 10.0
"""For making the family's generator, at most 0.6 s, and for the score (ours)."""


def check(
    response: str, answer: str | None, spec: dict[str, Any], options: Sequence[str]
) -> Verdict:
    """Judge a response by the scorer of its family.

    Args:
        response: the whole response; its final answer is what the scorer sees.
        answer: not read; the scorer finds the reference in the entry.
        spec: ``family``, the ``entry`` as the generator gave it, and ``config`` where the family
            was not made with its defaults.
        options: not read.

    Reasons: ``correct``, ``wrong``, ``partial_credit`` (a score between 0 and 1 is not a right
    answer), ``bad_form``, ``no_answer`` (0.0); ``bad_spec``, ``scorer_error``, ``scorer_timeout``,
    ``scorer_memory``, ``scorer_died``, ``scorer_unsafe`` (None).

    Raises:
        ConfigError: reasoning_gym isn't installed.
        InfraError: the guard's helper can't be started.
    """
    del answer, options
    family, entry, config = spec.get("family"), spec.get("entry"), spec.get("config") or {}
    if not isinstance(family, str) or not isinstance(entry, dict):
        return Verdict(None, "bad_spec")
    found = extract(response)
    if found is None:
        return Verdict(0.0, "no_answer")
    if family in UNSAFE:
        return Verdict(None, "scorer_unsafe", answer=found)
    form = _FORMS.get(family)
    if len(found) > _MAX_CHARS or (form and not form.fullmatch(found)):
        return Verdict(0.0, "bad_form", answer=found)
    args = [family, json.dumps(config, sort_keys=True), found, entry]
    reply = guard.ask("score", args, limit_s=_LIMIT_S)
    if reply.reason == "error" and find_spec("reasoning_gym") is None:
        raise ConfigError(
            f"family '{family}' is scored by reasoning_gym, which isn't installed: "
            "pip install reasoning-gym"
        )
    if reply.reason != "ok":
        return Verdict(None, f"scorer_{reply.reason}", answer=found)
    if reply.value is None:
        return Verdict(None, "bad_spec", answer=found)
    if reply.value >= 1.0:
        return Verdict(1.0, "correct", answer=found)
    return Verdict(0.0, "partial_credit" if reply.value > 0 else "wrong", answer=found)
