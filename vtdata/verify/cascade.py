r"""Two expressions, compared: exact form, random points, algebra in a child.

Each stage decides or passes on; what is passed on to the end is undecided, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from vtdata.verify.algebra.form import formed, ratio, same
from vtdata.verify.algebra.latex import latex
from vtdata.verify.algebra.points import agree
from vtdata.verify.algebra.poly import TooLargeError
from vtdata.verify.algebra.tree import (
    Node,
    children,
    minus,
    num,
    plus,
    replaced,
    symbols,
    times,
    walk,
)
from vtdata.verify.policy import Policy
from vtdata.verify.reading.read import is_infinite
from vtdata.verify.reading.units import DEGREE, PERCENT, Unit, scaled
from vtdata.verify.reading.values import Relation, Scalar

Symbolic = Callable[[str, str, Node | None, Node | None, bool | None], bool | None]
"""Decides when nothing else did: LaTeX, the nodes if there are, and what the points said."""
_OPEN = (
    "not_comparable undecided unit_unclear time_or_ratio list_or_number interval_or_list too_long "
    "timeout memory outage"
)
OPEN_REASONS = frozenset(_OPEN.split())
"""Why a comparison may decide nothing; all but an outage may be asked of a judge."""
_PROBES = 3
"""Points tried for one at which neither side of a relation is zero (ours)."""
_LETTERS = {"length": "m", "time": "s", "mass": "g"}


@dataclass(slots=True)
class Cascade:
    """One comparison: its policy, its last stage, and what the stages said."""

    policy: Policy
    symbolic: Symbolic
    reason: str = ""
    """Why nothing was decided, where that is known."""
    stage: str = "key"
    said: dict[str, str] = field(default_factory=dict)

    def open(self, reason: str) -> None:
        """Nobody could decide; the first reason stands."""
        assert reason in OPEN_REASONS, reason
        self.reason = self.reason or reason

    def ask(
        self,
        a: str,
        b: str,
        left: Node | None = None,
        right: Node | None = None,
        *,
        points: bool | None = None,
    ) -> bool | None:
        """The last stage, with its two sides in an order of their own."""
        self.stage = "symbolic"
        if (b, repr(right)) < (a, repr(left)):
            a, b, left, right = b, a, right, left
        found = self.symbolic(a, b, left, right, points)
        if found is None:
            self.open("undecided")
        return found

    def nodes(self, a: Node, b: Node) -> bool | None:
        """Whether two expressions have the same value, as functions of their symbols."""
        if a == b:
            return True
        if is_infinite(a) or is_infinite(b):
            return False
        left, right = formed(a), formed(b)
        if left is not None and right is not None:
            exact = same(left, right)
            if exact is not None:
                return exact
        self.stage = "points" if self.stage == "key" else self.stage
        points = agree(a, b)
        if points is False and (decimal := _decimal_logs(a, b)) is not None:
            return self.nodes(*decimal)
        self.said["points"] = word(points)
        if points is False:
            return False
        if _any_infinite(a) or _any_infinite(b):
            self.open("not_comparable")
            return None
        return self.ask(latex(a), latex(b), a, b, points=points)

    def scalars(self, a: Scalar, b: Scalar) -> bool | None:
        """Expressions with units."""
        if a.unit == b.unit:
            return self.nodes(a.node, b.node)
        if a.unit is None or b.unit is None:
            bare, other = (a, b) if a.unit is None else (b, a)
            return self._one_unit(bare.node, other.node, other.unit or PERCENT)
        if a.unit.label or b.unit.label:
            found = self.nodes(a.node, b.node)
            if found:
                self.open("unit_unclear")
                return None
            return False if a.unit.label and b.unit.label else found
        if a.unit.dims != b.unit.dims:
            return False
        return self.nodes(scaled(a.node, a.unit), scaled(b.node, b.unit))

    def _one_unit(self, bare: Node, node: Node, unit: Unit) -> bool | None:
        """A unit on one side: what is without it may mean the same one."""
        readings = []
        if unit in (PERCENT, DEGREE):
            readings.append(scaled(node, unit))
            lenient = self.policy.percent if unit == PERCENT else self.policy.units
            if lenient in ("either", "unit", "lenient"):
                readings.append(node)
            if unit == PERCENT and lenient == "unit":
                readings = [node]
        elif self.policy.units == "lenient":
            readings.append(node)
            if not unit.label and any(part[0] == "s" for part in walk(bare)):
                return self._letter_unit(bare, node, unit)
        return any_of(self.nodes(bare, reading) for reading in readings)

    def _letter_unit(self, bare: Node, node: Node, unit: Unit) -> bool | None:
        """``5m`` beside ``5 m``: the letter is read as a unit on one side alone."""
        found = self.nodes(bare, node)
        if found is not False:
            return found
        base = (
            ("s", {"length": "m", "time": "s", "mass": "g"}.get(unit.dims[0][0], ""))
            if unit.dims
            else None
        )
        if base is None or len(unit.dims) != 1 or unit.factor != num(1):
            return False
        return self.nodes(bare, times(node, ("^", base, num(unit.dims[0][1]))))

    def relations(self, a: Relation, b: Relation) -> bool | None:
        """Two equations are the same if one is a multiple of the other."""
        if a.op != b.op:
            return False
        left, right = plus(a.left, minus(a.right)), plus(b.left, minus(b.right))
        if symbols(left) != symbols(right):
            return False
        first, second = formed(left), formed(right)
        if first is not None and second is not None:
            try:
                factor = ratio(first, second)
            except TooLargeError:
                factor = None
            if factor is not None:
                return factor > 0 if a.op in ("<", "<=") else True
            if first.exact and second.exact:
                return False
        return self._multiple(left, right)

    def _multiple(self, left: Node, right: Node) -> bool | None:
        """Whether the quotient of two left sides is one number everywhere; never shown, if so."""
        names = sorted(symbols(left))
        for shift in range(_PROBES):
            point = {name: num(3 + 2 * i + 7 * shift) for i, name in enumerate(names)}
            at_left, at_right = _placed(left, point), _placed(right, point)
            found = agree(at_left, num(0)), agree(at_right, num(0))
            if found[0] is not found[1]:
                return False if None not in found else None
            if found[0] is False:
                differ = agree(times(left, at_right), times(right, at_left)) is False
                self.open("undecided")
                return False if differ else None
        self.open("undecided")
        return None


def any_of(found: Iterable[bool | None]) -> bool | None:
    """True if one is, False if all are, else None.

    >>> any_of([False, None]), any_of([False, True]), any_of([])
    (None, True, False)
    """
    unsure = False
    for one in found:
        if one:
            return True
        unsure = unsure or one is None
    return None if unsure else False


def all_of(found: Iterable[bool | None]) -> bool | None:
    """False if one is, True if all are, else None.

    >>> all_of([True, None]), all_of([None, False]), all_of([])
    (None, False, True)
    """
    unsure = False
    for one in found:
        if one is False:
            return False
        unsure = unsure or one is None
    return None if unsure else True


def _decimal_logs(a: Node, b: Node) -> tuple[Node, Node] | None:
    r"""Both with ``\log`` read to base 10; None where there is none without a base."""
    found = [part for part in (*walk(a), *walk(b)) if part[:2] == ("f", "log")]
    bare = {part for part in found if len(part[2]) == 1}
    for part in bare:
        decimal = ("f", "log", (part[2][0], num(10)))
        a, b = replaced(a, part, decimal), replaced(b, part, decimal)
    return (a, b) if bare else None


def _any_infinite(node: Node) -> bool:
    """Whether infinity stands in an expression other than as an end of a sum or an integral."""
    if node[0] == "f" and node[1] in ("sum", "prod", "integral", "limit"):
        return _any_infinite(node[2][0])
    return node == ("k", "oo") or any(map(_any_infinite, children(node)))


def opposed(said: Mapping[str, str]) -> bool:
    """Whether one stage says ``equal`` and another ``different``.

    >>> opposed({"points": "equal", "forward": "equal", "backward": "different"})
    True
    >>> opposed({"points": "equal", "forward": "timeout"})
    False
    """
    return {"equal", "different"} <= set(said.values())


def word(found: bool | None) -> str:  # noqa: FBT001
    """What a stage said, in a word."""
    return {True: "equal", False: "different", None: "unknown"}[found]


def _placed(node: Node, point: dict[str, Node]) -> Node:
    for name, value in point.items():
        node = replaced(node, ("s", name), value)
    return node
