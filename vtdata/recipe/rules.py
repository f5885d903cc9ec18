"""What a recipe may not say, beyond what its types allow."""

from __future__ import annotations

import pyarrow as pa

from vtdata.errors import ConfigError
from vtdata.llm.secrets import has_env
from vtdata.recipe.model import RecipeModel
from vtdata.recipe.source import Path_, Source
from vtdata.steps import Async, Step
from vtdata.text import nearest

_SECRET_KEYS = frozenset({"api_key", "apikey", "authorization", "password", "secret", "token"})
_HEADER = "name it in api_key_env or in a header"
_SECRET_WORDS = ("auth", "key", "token", "secret", "password", "cookie")


def check_budget(recipe: RecipeModel, source: Source) -> None:
    """Refuse a budget in dollars where a model has no price."""
    try:
        recipe.budget.check(recipe.models)
    except ConfigError as error:
        place = source.where(("budget",))
        raise ConfigError(f"{place}: {str(error).removeprefix('budget: ')}") from None


def no_literal_secrets(recipe: RecipeModel, source: Source) -> None:
    """Refuse a key or password in the recipe, since a run writes the recipe to disk."""
    for name, model in recipe.models.items():
        urls = [model.url] if isinstance(model.url, str) else model.url or []
        if any("@" in url.partition("//")[2].partition("/")[0] for url in urls):
            raise ConfigError(
                f"{source.where(('models', name, 'url'))}: a URL with a user or password would be "
                "written to disk with the recipe: put it into the environment and write "
                '"${env:NAME}"'
            )
        for url in urls:
            for part in url.partition("?")[2].split("&"):
                key, _, value = part.partition("=")
                if value and not has_env(value) and any(w in key.lower() for w in _SECRET_WORDS):
                    raise ConfigError(_written(source, ("models", name, "url")))
        for key in model.extra_body:
            if key.lower().replace("-", "_") in _SECRET_KEYS:
                raise ConfigError(_written(source, ("models", name, "extra_body", key), _HEADER))
        for header, value in model.headers.items():
            if not has_env(value) and any(word in header.lower() for word in _SECRET_WORDS):
                raise ConfigError(_written(source, ("models", name, "headers", header)))


def _written(source: Source, path: Path_, way: str = 'write "${env:NAME}"') -> str:
    return (
        f"{source.where(path)}: what looks like a secret would be written to disk with the recipe: "
        f"put it into the environment and {way}"
    )


def check_means(step: Step, recipe: RecipeModel, where: str) -> None:
    """Refuse a step that needs a model or a sandbox which the recipe doesn't name."""
    for name in step.model_names():
        if name not in recipe.models:
            raise ConfigError(
                f"{where}: model '{name}' is not in models;{nearest(name, recipe.models)} there "
                f"is: {', '.join(recipe.models) or 'none'}"
            )
    if wants_sandbox(step) and recipe.sandbox is None:
        raise ConfigError(
            f"{where} runs programs that nobody trusts, and the recipe names no sandbox: write "
            "'sandbox: local' at its top"
        )


def wants_sandbox(step: Step) -> bool:
    """Whether a step runs programs."""
    return isinstance(step, Async) and step.wants_sandbox


def no_twins(source: Source, names: list[str], *, first: int) -> None:
    """Refuse two blocks of one name; ``first`` is the position of the first in ``stages``."""
    seen: set[str] = set()
    for index, name in enumerate(names, start=first):
        if name in seen:
            raise ConfigError(
                f"{source.where(('stages', index))}: block '{name}' comes twice: "
                f"give one a label, for example '{name.partition('.')[0]}.second'"
            )
        seen.add(name)


def check_tables(step: Step, tables: dict[str, pa.Schema], where: str) -> None:
    """Add the tables that a step logs into to those of the steps before it.

    Raises:
        ConfigError: a name that can't be a folder's, a column that has no order, or another
            step's table with other columns.
    """
    for name, schema in step.tables.items():
        if not name.isidentifier() or not name.isascii():
            raise ConfigError(f"{where}: table '{name}' needs a name of letters, digits and _")
        nested = [field.name for field in schema if pa.types.is_nested(field.type)]
        if nested or "step" in schema.names:
            raise ConfigError(
                f"{where}: table '{name}' has column '{[*nested, 'step'][0]}': columns hold text, "
                "numbers and booleans, and 'step' is the runner's own"
            )
        if tables.setdefault(name, schema) != schema:
            raise ConfigError(f"{where}: table '{name}' has other columns before it")
