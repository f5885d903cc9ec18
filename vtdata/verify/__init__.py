"""Verifiers: plain functions that say 1.0, 0.0 or None about an answer, and the vote."""

from __future__ import annotations

from vtdata.verify.dispatch import CHECKS, Check, answer_kind, gold_check, verify
from vtdata.verify.extraction import extract
from vtdata.verify.math import equal
from vtdata.verify.vote import Majority, key, majority

__all__ = [
    "CHECKS",
    "Check",
    "Majority",
    "answer_kind",
    "equal",
    "extract",
    "gold_check",
    "key",
    "majority",
    "verify",
]
