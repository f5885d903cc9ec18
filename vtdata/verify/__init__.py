"""Verifiers: plain functions that say 1.0, 0.0 or None about an answer, and the vote."""

from __future__ import annotations

from vtdata.verify.dispatch import CHECKS, Check, answer_kind, gold_check, policy_of, verify
from vtdata.verify.extraction import extract
from vtdata.verify.math import equal
from vtdata.verify.vote import TYPES, Majority, answer_type, key, majority

VERSION = 3
"""Raised whenever an answer could get another verdict: it is in the fingerprint of every block that
judges answers."""

__all__ = [
    "CHECKS",
    "TYPES",
    "VERSION",
    "Check",
    "Majority",
    "answer_kind",
    "answer_type",
    "equal",
    "extract",
    "gold_check",
    "key",
    "majority",
    "policy_of",
    "verify",
]
