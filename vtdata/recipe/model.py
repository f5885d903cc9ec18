"""What a recipe holds, as pydantic sees it; the steps validate themselves in ``plan``."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from vtdata.llm.ledger import Budget
from vtdata.llm.model import ModelSpec


class From(BaseModel):
    """Where a recipe begins that does not begin with corpora."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    run: str
    block: str


class RecipeModel(BaseModel):
    """The top level of a recipe."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True
    )

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    """Name of the corpus and of its folder under runs/: lower case, digits, dots and dashes."""
    seed: Annotated[int, Field(ge=0)]
    """Every random choice is derived from it."""
    description: str = ""
    """What it is for; goes into the dataset card."""
    models: dict[str, ModelSpec] = {}
    """The models that steps ask by name."""
    sandbox: str | None = None
    """The sandbox that runs programs: local, e2b, container or package.module:Class."""
    budget: Budget = Budget()
    """Limits of the whole run; reaching one ends it resumably with exit code 3."""
    max_failed_share: Annotated[float, Field(ge=0, le=1)] = 0.01
    """Largest share of model calls that may stay failed after their retries (ours)."""
    stages: Annotated[list[dict[str, Any]], Field(min_length=1)]
    """The blocks in order: KIND or KIND.label, each a list of steps."""
