"""The job ``score``: reasoning_gym's own scorer of a family."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import reasoning_gym


def score(family: str, config: str, answer: str, entry: dict[str, Any]) -> float | None:
    """Return what the family's scorer gives the answer; None for an unknown family or setting.

    Args:
        family: its name in reasoning_gym.
        config: its settings as JSON.
        answer: as extracted.
        entry: the item as the generator gave it.
    """
    scorer = _scorer(family, config)
    return None if scorer is None else float(scorer(answer, entry))


@functools.lru_cache(maxsize=256)
def _scorer(family: str, config: str) -> Callable[[str, dict[str, Any]], float] | None:
    try:
        return reasoning_gym.create_dataset(family, **json.loads(config)).score_answer
    except (AssertionError, TypeError, ValueError):
        return None
