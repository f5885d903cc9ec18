"""Seeds from procedural generators: reasoning_gym's families."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import sys
from collections.abc import Iterator
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, distribution
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from vtdata.errors import ConfigError
from vtdata.records import Origin, Provenance, Query, Turn, Verifier, query_id
from vtdata.seeds import derive_seed
from vtdata.steps import Context, Source, step
from vtdata.text import nearest

LICENSE = "Apache-2.0"
"""What the package's metadata says; a test compares."""

UNIQUE_INTEGER = frozenset(
    {
        "aiw", "basic_arithmetic", "binary_alternation", "chain_sum", "count_bits", "count_primes",
        "gcd", "gsm_symbolic", "largest_island", "lcm", "leg_counting", "letter_counting", "maze",
        "number_sequence", "products", "rectangle_count", "rotten_oranges", "self_reference",
        "simple_equations", "simple_geometry",
    }
)  # fmt: skip
"""Families whose only right answer is an integer: verified as math (100 items each were read)."""

SEEDED_WHEN_MADE = frozenset({"acre", "gsm_symbolic", "list_functions", "survo"})
"""Families that draw from their seed in the constructor: one generator per item. The others take a
new seed between items, which saves codebooks and word lists being loaded again for every one."""

SEED_BITS = {"pool_matrix": 32}
"""Families that can't take a 63-bit seed."""

HASH_DEPENDENT = frozenset(
    {"isomorphic_strings", "knight_swap", "polynomial_multiplication", "ransom_note", "word_ladder"}
)
"""Families that go through sets of strings, so that every process makes other items, unless
PYTHONHASHSEED is 0 (0.1.25; 5 families of 105 differed between two processes)."""

REFUSED = {
    "codeio": "it executes code and gives other items in every process",
    "composite": "it mixes other families; list them instead",
}
"""Families that can't be a source, and why."""

MATH_CATEGORIES = frozenset({"algebra", "arithmetic", "geometry", "probability"})
_MISSING = "vtdata.corpora.reasoning_gym needs reasoning_gym: pip install reasoning-gym"
_INTEGER = re.compile(r"[+-]?[0-9]+")


@step
class ReasoningGym(Source):
    """Make questions with reasoning_gym's generators.

    One item per seed, ``derive_seed(seed, "reasoning_gym", family, index)``: the generators add
    their index to the seed, so item 1 of seed 42 would be item 0 of seed 43. Families take turns,
    so a limit keeps all of them. Rank r of w takes every w-th item; origins are ``family[index]``.

    A family with one integer answer is verified as ``math``. All others keep their own scorer:
    kind ``reasoning_gym`` with the generator's entry in the spec.

    Drops: ``generator_failed`` (the family finds no item for a seed).

    Raises:
        ConfigError: reasoning_gym isn't installed; an unknown or irreproducible family; settings
            that a family doesn't have or allow.
    """

    families: list[str] | dict[str, dict[str, Any] | None]
    """Names, or names with the settings of each generator."""
    size: int
    """Items per family."""
    domain: str | None = None
    """Domain of all; None is math, code or logic by the family's category."""

    reasons: ClassVar[tuple[str, ...]] = ("generator_failed",)

    def __post_init__(self) -> None:
        if not self.families:
            raise ConfigError("families is empty; name at least one, for example chain_sum")
        if self.size < 1:
            raise ConfigError(f"size must be at least 1, got {self.size}")
        if len(set(self.families)) < len(self.families):
            raise ConfigError(f"families names one twice: {', '.join(self.families)}")

    def files(self, folder: Path) -> list[Path]:
        """The package's metadata: another version of it may make other items."""
        del folder
        try:
            parts = distribution("reasoning_gym").files or []
        except PackageNotFoundError as error:
            raise ConfigError(_MISSING) from error
        return [Path(str(part.locate())) for part in parts if part.name == "METADATA"]

    def open(self, ctx: Context) -> None:
        for name, config in self._configs().items():
            make(name, config, derive_seed(ctx.seed, "reasoning_gym", name, 0))

    def read(self, ctx: Context) -> Iterator[Query]:
        configs = self._configs()
        makers = {name: _Family(name, config, ctx.seed) for name, config in configs.items()}
        items = ((maker, index) for index in range(self.size) for maker in makers.values())
        for maker, index in islice(items, ctx.rank, ctx.limit, ctx.world):
            yield self._query(maker, index)

    def _configs(self) -> dict[str, dict[str, Any]]:
        if isinstance(self.families, list):
            return {name: {} for name in self.families}
        return {name: config or {} for name, config in self.families.items()}

    def _query(self, family: _Family, index: int) -> Query:
        where = f"{family.name}[{index}]"
        try:
            entry, category = family.item(index)
        except (ArithmeticError, AssertionError, LookupError, RuntimeError, ValueError) as error:
            query = _made(where, "", Verifier("none"))
            query.drop("reasoning_gym", "generator_failed", f"{where}: {error!r}"[:300])
            return query
        answer = entry["answer"]
        by_math = family.name in UNIQUE_INTEGER and _INTEGER.fullmatch(answer or "")
        spec = {"family": family.name, "entry": entry, "config": family.config}
        verifier = Verifier("math") if by_math else Verifier("reasoning_gym", as_json(spec))
        query = _made(where, entry["question"], verifier)
        query.answer = answer
        query.domain = self.domain or (
            "math" if category in MATH_CATEGORIES else "code" if category == "code" else "logic"
        )
        query.subdomain = category
        return query


@dataclasses.dataclass(slots=True)
class _Family:
    """One family's generator, made when its first item is asked for."""

    name: str
    config: dict[str, Any]
    seed: int
    _made: Any = None

    def item(self, index: int) -> tuple[dict[str, Any], str]:
        """Return the entry of one index and the family's category."""
        seed = derive_seed(self.seed, "reasoning_gym", self.name, index)
        if self._made is None or self.name in SEEDED_WHEN_MADE:
            self._made = make(self.name, self.config, seed)
        self._made.seed = seed >> (63 - SEED_BITS.get(self.name, 63))
        with contextlib.redirect_stdout(sys.stderr):  # family bf prints a dot per item
            return self._made[0], self._made.category


def make(name: str, config: dict[str, Any], seed: int) -> Any:
    """Return a family's generator.

    Raises:
        ConfigError: it is unknown, refused, or its settings are wrong; see ``ReasoningGym``.
    """
    datasets = _registry()
    if name in REFUSED:
        raise ConfigError(f"family '{name}' can't be a source: {REFUSED[name]}")
    if name not in datasets:
        raise ConfigError(
            f"reasoning_gym has no family '{name}';{nearest(name, datasets)} it has "
            f"{len(datasets)}, see reasoning_gym.factory.DATASETS"
        )
    if name in HASH_DEPENDENT and os.environ.get("PYTHONHASHSEED") != "0":
        raise ConfigError(
            f"family '{name}' makes other items in every process: set PYTHONHASHSEED=0 in the "
            "environment, or leave it out"
        )
    kind, settings = datasets[name]
    allowed = {field.name for field in dataclasses.fields(settings)} - {"seed", "size"}
    for key in config:
        if key not in allowed:
            raise ConfigError(
                f"family '{name}' has no setting '{key}';{nearest(key, allowed)} it has "
                f"{', '.join(sorted(allowed))}"
            )
    try:
        return kind(settings(**config, seed=seed >> (63 - SEED_BITS.get(name, 63)), size=1))
    except (AssertionError, TypeError, ValueError) as error:  # how its settings are validated
        raise ConfigError(f"family '{name}' refuses the settings {config}: {error}") from error


def _registry() -> dict[str, Any]:
    try:
        from reasoning_gym.factory import DATASETS
    except ImportError as error:
        raise ConfigError(_MISSING) from error
    return DATASETS


def as_json(value: Any) -> str:
    """Return a spec as JSON; a Fraction becomes text, and tuples lists.

    >>> as_json({"p": Fraction(1, 3), "q": (1, 2.5)})
    '{"p": "1/3", "q": [1, 2.5]}'
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    raise TypeError(f"reasoning_gym's entry holds a {type(value).__name__}: {value!r}")


def _made(where: str, question: str, verifier: Verifier) -> Query:
    prompt = [Turn("user", question)]
    name = query_id(prompt if question else [Turn("user", where)])
    origin = Origin("reasoning_gym", where, LICENSE)
    return Query(
        id=name,
        prompt=prompt,
        verifier=verifier,
        source="reasoning_gym",
        license=LICENSE,
        provenance=Provenance(name, origins=[origin]),
    )
