r"""The one door to the verifiers: a response, or a bare reference, against its query."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from vtdata.records import Query, Verdict
from vtdata.verify import choice, math, procedural
from vtdata.verify.extraction import extract
from vtdata.verify.policy import DEFAULT, Policy

Check = Callable[[str, str | None, dict[str, Any], Sequence[str]], Verdict]
"""(response, reference answer, spec, options) -> verdict; no I/O."""

CHECKS: dict[str, Check] = {
    "math": math.check,
    "choice": choice.check,
    "reasoning_gym": procedural.check,
}


def answer_kind(query: Query) -> str:
    """Return the kind by which answers to the query are read: its own; for ``vote`` by options."""
    if query.verifier.kind == "vote":
        return "choice" if query.options else "math"
    return query.verifier.kind


def policy_of(query: Query) -> Policy:
    """Return the conventions by which the query's math answers are compared.

    Raises:
        ConfigError: its spec names one that there is not.
    """
    settings = (_spec(query.verifier.spec) or {}).get("policy")
    return Policy.of(settings) if isinstance(settings, dict) else DEFAULT


def verify(response: str, query: Query) -> Verdict:
    r"""Judge a whole response to a query.

    The model's fault is 0.0; a bad reference or a verifier that can't decide is None. For kind
    ``vote`` without a label yet the verdict is None, ``label_to_come``, with the answer that the
    vote needs; once the vote wrote its label into ``query.answer``, the response is judged by it.
    Kinds without a verifier (code, constraints, rubric, none) give None, ``no_verifier``.

    Args:
        response: all that the model said, without or with its thoughts in ``<think>`` tags.
        query: the query; its verifier, answer and options are read.

    Returns:
        Verdict with ``kind`` the query's verifier kind and ``answer`` as extracted.
    """
    kind = query.verifier.kind
    check = CHECKS.get(answer_kind(query))
    if check is None:
        verdict = Verdict(None, "no_verifier")
    elif kind == "vote" and query.answer is None:
        verdict = Verdict(None, "label_to_come", answer=_answer(response, query))
    else:
        spec = _spec(query.verifier.spec)
        if spec is None:
            verdict = Verdict(None, "bad_spec")
        else:
            verdict = check(response, query.answer, spec, query.options)
    return replace(verdict, kind=kind)


def gold_check(query: Query) -> Verdict:
    r"""Run the query's verifier on its own reference answer.

    Reward 1.0 is a usable query. 0.0, and None with ``bad_reference`` or any other reason, is a
    reference that the verifier would not accept from a model: a data bug. ``no_verifier`` and
    ``label_to_come`` say that there is nothing to check yet.
    """
    if query.answer is None and query.verifier.kind in ("math", "choice"):
        return Verdict(None, "bad_reference", query.verifier.kind)
    answer = query.answer
    if answer is None and query.verifier.kind == "reasoning_gym":
        entry = (_spec(query.verifier.spec) or {}).get("entry")
        answer = entry.get("answer") if isinstance(entry, dict) else None
    return verify(rf"\boxed{{{answer or ''}}}", query)


def _answer(response: str, query: Query) -> str | None:
    return choice.find(response, query.options) if query.options else extract(response)


def _spec(text: str) -> dict[str, Any] | None:
    if text in ("", "{}"):
        return {}
    try:
        spec = json.loads(text)
    except json.JSONDecodeError:
        return None
    return spec if isinstance(spec, dict) else None
