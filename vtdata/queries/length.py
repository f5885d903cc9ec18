"""Keep questions of a sensible length."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from vtdata.errors import ConfigError
from vtdata.records import Query
from vtdata.steps import Context, Keep, step


@step
class Length(Keep):
    """Keep a query when its last turn has between ``min_chars`` and ``max_chars`` characters.

    A question of three characters is a broken row; one of a hundred thousand is a document.

    Drops: ``too_short``, ``too_long``.

    Raises:
        ConfigError: the band is empty.

    Source: ours.
    """

    min_chars: Annotated[int, Field(ge=0)] = 8
    """Fewest characters, after collapsing white space (ours)."""
    max_chars: Annotated[int, Field(ge=1)] = 20_000
    """Most characters (ours)."""

    reasons = ("too_short", "too_long")

    def __post_init__(self) -> None:
        if self.min_chars > self.max_chars:
            raise ConfigError(
                f"need min_chars <= max_chars, got {self.min_chars} and {self.max_chars}"
            )

    def why_drop(self, query: Query, ctx: Context) -> str | None:
        del ctx
        num_chars = len(" ".join(query.question.split()))
        if num_chars < self.min_chars:
            return "too_short"
        return "too_long" if num_chars > self.max_chars else None
