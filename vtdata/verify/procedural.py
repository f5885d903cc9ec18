"""Families of ``reasoning_gym``, scored by the family's own scorer.

The package is imported when the first such answer is judged: it takes two seconds.

Some of its scorers run the answer as Python (``eval``, or sympy's ``parse_expr``, which evaluates
too). A model's text must never get there: for those families an answer passes a narrow alphabet
first, in which nothing can be called, or the family isn't judged at all.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from vtdata.errors import ConfigError
from vtdata.records import Verdict
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

_RAISED = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError)
_RAISED += (RuntimeError, SyntaxError, TypeError, ValueError)


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
    answer), ``bad_form``, ``no_answer`` (0.0); ``bad_spec``, ``scorer_error``, ``scorer_unsafe``
    (None).

    Raises:
        ConfigError: reasoning_gym isn't installed.
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
    scorer = _scorer(family, json.dumps(config, sort_keys=True))
    if scorer is None:
        return Verdict(None, "bad_spec", answer=found)
    try:
        score = float(scorer(found, entry))
    except _RAISED:
        return Verdict(None, "scorer_error", answer=found)
    if score >= 1.0:
        return Verdict(1.0, "correct", answer=found)
    return Verdict(0.0, "partial_credit" if score > 0 else "wrong", answer=found)


@functools.lru_cache(maxsize=256)
def _scorer(family: str, config: str) -> Callable[[str, dict[str, Any]], float] | None:
    """The family's ``score_answer``; None where the family or its settings are unknown."""
    try:
        import reasoning_gym
    except ImportError as error:
        raise ConfigError(
            f"family '{family}' is scored by reasoning_gym, which isn't installed: "
            "pip install reasoning-gym"
        ) from error
    try:
        return reasoning_gym.create_dataset(family, **json.loads(config)).score_answer
    except (AssertionError, TypeError, ValueError):
        return None
