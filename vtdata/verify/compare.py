r"""Two answers, compared as what they are: a tuple is not a set, ``x=3`` is not ``y=3``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from vtdata.verify.algebra.form import formed
from vtdata.verify.algebra.tree import Node, minus, num, over, plus, replaced, times
from vtdata.verify.cascade import Cascade, all_of
from vtdata.verify.reading import words
from vtdata.verify.reading.read import is_infinite
from vtdata.verify.reading.union import as_reals, join
from vtdata.verify.reading.values import (
    EMPTY,
    Based,
    Congruence,
    Foreign,
    Group,
    Matrix,
    Named,
    Ratio,
    Reals,
    Relation,
    Scalar,
    Span,
    Value,
    Words,
)

_MAX_MATCHED = 64
_DOTS = Scalar(("s", "ldots"))


@dataclass(slots=True)
class Comparison(Cascade):
    """One comparison of two values; see ``Cascade``."""

    def values(self, a: Value, b: Value) -> bool | None:
        """Whether two values are the same answer."""
        a, b = self._plain(a), self._plain(b)
        if a == b:
            return None if isinstance(a, Foreign) and not a.text else True
        compare = _SAME.get((type(a), type(b)))
        if compare is not None:
            return compare(self, a, b)
        compare = _SAME.get((type(b), type(a)))
        if compare is not None:
            return compare(self, b, a)
        return self._mixed(a, b)

    def _plain(self, value: Value) -> Value:
        """A list, a tuple or a set of one as that one."""
        while isinstance(value, Group) and len(value.items) == 1 and value.items[0] != EMPTY:
            value = value.items[0]
        return value

    def _mixed(self, a: Value, b: Value) -> bool | None:
        """Types that are never the same, unless one of them was not understood."""
        if isinstance(a, Foreign) or isinstance(b, Foreign):
            self.open("not_comparable")
            return None
        if {type(a), type(b)} == {Relation, Reals}:
            self.open("not_comparable")  # it may be solved for the variable
            return None
        for one, other in ((a, b), (b, a)):
            if isinstance(one, Words):
                if words.is_atomic(one.text) and not isinstance(other, Words):
                    return False
                self.open("not_comparable")
                return None
        return False

    def in_order(self, a: Sequence[Value], b: Sequence[Value]) -> bool | None:
        """Member by member."""
        if len(a) != len(b):
            return False
        return all_of(self.values(x, y) for x, y in zip(a, b, strict=True))

    def in_any_order(self, a: Sequence[Value], b: Sequence[Value]) -> bool | None:
        """Each member of one with its own of the other."""
        if len(a) != len(b):
            return False
        if len(a) > _MAX_MATCHED:
            return self.in_order(a, b)
        left, unsure = list(b), []
        for one in a:
            found = [self.values(one, other) for other in left]
            if True in found:
                del left[found.index(True)]
            elif None in found:
                unsure.append(one)
            else:
                return False
        return None if unsure else True

    def groups(self, a: Group, b: Group) -> bool | None:
        """Tuples, sets and lists."""
        a_names, b_names = _system(a), _system(b)
        if _half_named(a, a_names) or _half_named(b, b_names):
            return self.in_any_order(a.items, b.items) if a.shape == b.shape else None
        if a_names and b_names:
            if a_names.keys() != b_names.keys():
                return False
            return all_of(self.values(a_names[name], b_names[name]) for name in sorted(a_names))
        if a_names or b_names:
            named, other = (a_names or {}, b) if a_names else (b_names or {}, a)
            if self.policy.names == "strict" or other.shape in ("set", "either"):
                return False
            return self.in_order([named[name] for name in _ordered(named)], other.items)
        shapes = {a.shape, b.shape}
        if "bracket" in shapes and len(shapes) == 2:
            return self._bracket(a, b)
        if a.items and b.items and (_DOTS in a.items or _DOTS in b.items):
            return self._dotted(a, b)
        if shapes in ({"set", "tuple"}, {"either", "tuple"}):
            return False
        if shapes == {"set"} or shapes in ({"set", "list"}, {"set", "either"}):
            return self.in_any_order(_distinct(a), _distinct(b))
        if "either" in shapes:
            return self.in_any_order(a.items, b.items)
        if shapes == {"list"} and self.policy.order == "ignored":
            return self.in_any_order(a.items, b.items)
        return self.in_order(a.items, b.items)

    def _dotted(self, a: Group, b: Group) -> bool | None:
        r"""Sequences with ``\ldots``: their ends can differ, but what lies between is not seen."""
        found = all_of(
            self.values(x, y)
            for x, y in ((a.items[0], b.items[0]), (a.items[-1], b.items[-1]))
            if _DOTS not in (x, y)
        )
        if found is not False and a.items != b.items:
            self.open("not_comparable")
            return None
        return found

    def _bracket(self, a: Group, b: Group) -> bool | None:
        """``[a,b]`` beside something else: of two numbers it may be a closed interval."""
        bracket, other = (a, b) if a.shape == "bracket" else (b, a)
        pair = len(bracket.items) == 2
        if other.shape in ("set", "either") or (pair and other.shape == "tuple"):
            return False
        found = self.in_order(bracket.items, other.items)
        if pair and found is not False:
            self.open("interval_or_list")
            return None
        return found

    def reals(self, a: Reals, b: Reals) -> bool | None:
        """Unions of intervals."""
        if a.name and b.name and a.name != b.name:
            return False
        if (a.name or b.name) and a.name != b.name and self.policy.names == "strict":
            return False
        if len(a.spans) != len(b.spans):
            return False
        return all_of(self._span(x, y) for x, y in zip(a.spans, b.spans, strict=True))

    def _span(self, a: Span, b: Span) -> bool | None:
        if (a.low_closed, a.high_closed) != (b.low_closed, b.high_closed):
            return False
        return all_of((self.nodes(a.low, b.low), self.nodes(a.high, b.high)))

    def reals_and_group(self, a: Reals, b: Group) -> bool | None:
        """A pair read as an interval, several as their union, a set of points."""
        parts = b.items if b.shape in ("list", "either") else (b,)
        found = [part if isinstance(part, Reals) else as_reals(part) for part in parts]
        reals = [part for part in found if part is not None]
        if not reals or len(reals) < len(found):
            return False
        joined = join(reals) if len(reals) > 1 else reals[0]
        return None if joined is None else self.reals(a, joined)

    def reals_and_scalar(self, a: Reals, b: Scalar) -> bool | None:
        """The real line is written R, too."""
        line = len(a.spans) == 1 and is_infinite(a.spans[0].low) and is_infinite(a.spans[0].high)
        return line and b == Scalar(("s", "R"))

    def named(self, a: Named, b: Named) -> bool | None:
        """``x=3`` and ``y=3`` differ; ``f(x)=x`` and ``f(y)=y`` don't."""
        if a.name == b.name:
            return self.values(a.value, b.value)
        first, second = _applied(a), _applied(b)
        if first is None or second is None or first[0] != second[0]:
            return False
        return self.nodes(first[1], second[1])

    def named_and_value(self, a: Named, b: Value) -> bool | None:
        """``x=3`` and 3; ``n=2,3`` and a list, but no tuple."""
        if isinstance(b, Group) and any(isinstance(item, Named) for item in b.items):
            return self.in_any_order(_spread(a), b.items)
        if isinstance(a.value, Group) and isinstance(b, Group):
            several = a.value.shape in ("list", "either")
            if several and b.shape in ("tuple", "bracket"):
                self.open("not_comparable")
                return None
        if a.name[1:] == "." and b == Scalar(("s", a.name[0])):
            return True  # "B. 42" and B
        return False if self.policy.names == "strict" else self.values(a.value, b)

    def named_and_relation(self, a: Named, b: Relation) -> bool | None:
        """``y=2x+1`` and ``2x-y+1=0``."""
        if not isinstance(a.value, Scalar):
            return False
        return self.relations(Relation("=", ("s", a.name), a.value.node), b)

    def matrices(self, a: Matrix, b: Matrix) -> bool | None:
        """Entry by entry."""
        if [len(row) for row in a.rows] != [len(row) for row in b.rows]:
            return False
        return all_of(self.in_order(x, y) for x, y in zip(a.rows, b.rows, strict=True))

    def matrix_and_group(self, a: Matrix, b: Group) -> bool | None:
        """A vector and a tuple, or rows in brackets."""
        rows = [item for item in b.items if isinstance(item, Group)]
        if rows and len(rows) == len(b.items) == len(a.rows):
            return all_of(self.in_order(x, y.items) for x, y in zip(a.rows, rows, strict=True))
        if b.shape not in ("tuple", "list", "bracket") or not a.rows:
            return False
        if len(a.rows) == 1:
            return self.in_order(a.rows[0], b.items)
        if all(len(row) == 1 for row in a.rows):
            return self.in_order([row[0] for row in a.rows], b.items)
        return False

    def based(self, a: Based, b: Based) -> bool | None:
        """By value: digits in another base are other digits."""
        return int(a.digits, a.base) == int(b.digits, b.base)

    def based_and_scalar(self, a: Based, b: Scalar) -> bool | None:
        """A number without its subscript has the same digits, or the same value."""
        found = formed(b.node)
        value = None if found is None or b.unit is not None else found.value
        if value is None or value.denominator != 1:
            return False
        if value == int(a.digits, a.base):
            return True
        return self.policy.bases == "lenient" and str(value) == a.digits

    def ratios(self, a: Ratio, b: Ratio) -> bool | None:
        """Proportions; two times of day only by their digits."""
        if len(a.parts) != len(b.parts):
            return False
        found = all_of(
            self.nodes(times(a.parts[0], y), times(b.parts[0], x))
            for x, y in zip(a.parts[1:], b.parts[1:], strict=True)
        )
        first, second = _clock(a), _clock(b)
        if first is not None and second is not None:
            if first == second or (first[0] == second[0] and None in (first[1], second[1])):
                return True
            if _day(first) == _day(second):
                return True
            if found and None in (first[1], second[1]):
                self.open("time_or_ratio")
                return None
            return False
        return found

    def ratio_and_scalar(self, a: Ratio, b: Scalar) -> bool | None:
        """``1:2`` and 1/2."""
        if len(a.parts) != 2 or b.unit is not None:
            return False
        found = self.nodes(over(a.parts[0], a.parts[1]), b.node)
        if found and _clock(a) is not None:
            self.open("time_or_ratio")
            return None
        return found

    def congruences(self, a: Congruence, b: Congruence) -> bool | None:
        """The same residue class."""
        if (a.name and b.name and a.name != b.name) or not self.nodes(a.modulus, b.modulus):
            return False
        apart = ("f", "mod", (plus(a.residue, minus(b.residue)), a.modulus))
        return self.nodes(apart, num(0))

    def congruence_and_scalar(self, a: Congruence, b: Scalar) -> bool | None:
        """``x = 3 (mod 7)`` and 3: the residue, as it is written."""
        found = self.nodes(a.residue, b.node)
        residue, modulus = formed(a.residue), formed(a.modulus)
        smallest = (
            residue is not None
            and modulus is not None
            and residue.value is not None
            and modulus.value is not None
            and 0 <= residue.value < modulus.value
        )
        if found is not True or not smallest or self.policy.names == "strict":
            self.open("not_comparable")
            return False if found is False else None
        return True

    def texts(self, a: Words, b: Words) -> bool | None:
        """Prose."""
        found = words.same_words(a.text, b.text)
        if found is None:
            self.open("not_comparable")
        return found


_SAME: dict[tuple[type, type], Callable[[Comparison, Any, Any], bool | None]] = {
    (Scalar, Scalar): Comparison.scalars,
    (Group, Group): Comparison.groups,
    (Reals, Reals): Comparison.reals,
    (Reals, Group): Comparison.reals_and_group,
    (Reals, Scalar): Comparison.reals_and_scalar,
    (Named, Named): Comparison.named,
    (Named, Relation): Comparison.named_and_relation,
    (Relation, Relation): Comparison.relations,
    (Matrix, Matrix): Comparison.matrices,
    (Matrix, Group): Comparison.matrix_and_group,
    (Based, Based): Comparison.based,
    (Based, Scalar): Comparison.based_and_scalar,
    (Ratio, Ratio): Comparison.ratios,
    (Ratio, Scalar): Comparison.ratio_and_scalar,
    (Congruence, Congruence): Comparison.congruences,
    (Congruence, Scalar): Comparison.congruence_and_scalar,
    (Words, Words): Comparison.texts,
} | {
    (Named, other): Comparison.named_and_value
    for other in (Scalar, Group, Reals, Matrix, Based, Ratio, Words, Foreign)
}


def _system(group: Group) -> dict[str, Value] | None:
    """``x=1, y=2`` as a mapping; None for anything else."""
    if group.shape not in ("list", "set") or len(group.items) < 2:
        return None
    named = {item.name: item.value for item in group.items if isinstance(item, Named)}
    return named if len(named) == len(group.items) else None


def _distinct(group: Group) -> list[Value]:
    return list(dict.fromkeys(group.items))


def _half_named(group: Group, system: dict[str, Value] | None) -> bool:
    """Whether some members have names, and yet it is no system of different ones."""
    return system is None and any(isinstance(item, Named) for item in group.items)


def _ordered(named: dict[str, Value]) -> list[str]:
    """The order of a system's names in a tuple: that of the alphabet for single letters."""
    return sorted(named) if all(len(name) == 1 for name in named) else list(named)


def _spread(named: Named) -> list[Value]:
    """``x=1,2`` as ``x=1, x=2``."""
    value = named.value
    several = isinstance(value, Group) and value.shape in ("list", "either")
    inner = value.items if isinstance(value, Group) and several else (value,)
    return [Named(named.name, item) for item in inner]


def _applied(named: Named) -> tuple[str, Node] | None:
    """``f(x) = ...`` as the name f, and the right side with the argument renamed."""
    head, _, rest = named.name.partition("(")
    if not rest or len(rest) != 2 or not isinstance(named.value, Scalar):
        return None
    return head, replaced(named.value.node, ("s", rest[0]), ("s", "%argument"))


def _clock(of: Ratio) -> tuple[tuple[int, ...], str | None] | None:
    """Hours and minutes, and the half of the day if it is said; None where it is no time."""
    text, _, half = of.text.partition(" ")
    hours, *rest = text.split(":")
    timed = (
        hours.isdigit()
        and int(hours) < 25
        and all(len(part) == 2 and part.isdigit() for part in rest)
    )
    return (tuple(int(part) for part in (hours, *rest)), half or None) if timed else None


def _day(clock: tuple[tuple[int, ...], str | None]) -> tuple[int, ...]:
    """The time in 24 hours."""
    (hours, *rest), half = clock
    shifted = hours % 12 + (12 if half == "pm" else 0)
    return (shifted if half else hours, *rest)
