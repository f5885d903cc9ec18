r"""The types of answers: a tuple is not a set, and ``x=3`` is not ``y=3``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from vtdata.verify.algebra.tree import Node
from vtdata.verify.reading.units import Unit


@dataclass(frozen=True, slots=True)
class Scalar:
    """An expression, with its unit if there is one."""

    node: Node
    unit: Unit | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """``x = 3``: a name and what it stands for."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Relation:
    """An equation or inequality that names nothing; ``op`` is =, !=, < or <=."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Span:
    """One interval; an infinite end is the node of infinity, with its sign."""

    low: Node
    low_closed: bool
    high: Node
    high_closed: bool


@dataclass(frozen=True, slots=True)
class Reals:
    """A union of intervals, perhaps of a named variable; in the order of their lower ends."""

    spans: tuple[Span, ...]
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Several answers; ``shape`` is tuple ``(a,b)``, bracket ``[a,b]``, set, or list ``a,b``."""

    shape: str
    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows of expressions."""

    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True)
class Based:
    """Digits in a base that is written out."""

    digits: str
    base: int


@dataclass(frozen=True, slots=True)
class Ratio:
    """``2:3``, which may also be a time of day."""

    parts: tuple[Node, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Congruence:
    """``x = residue`` modulo something."""

    name: str
    residue: Node
    modulus: Node


@dataclass(frozen=True, slots=True)
class Words:
    """Prose, or a name; in one case and without articles."""

    text: str


@dataclass(frozen=True, slots=True)
class Foreign:
    """What is not understood: mathematics that isn't read here. It equals only its own spelling."""

    text: str


Value: TypeAlias = (
    Scalar
    | Named
    | Relation
    | Reals
    | Group
    | Matrix
    | Based
    | Ratio
    | Congruence
    | Words
    | Foreign
)

EMPTY = Group("set", ())
"""The empty set, and an equation without a solution."""
