r"""Two answers, compared as what they are: a tuple is not a set, ``x=3`` is not ``y=3``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from vtdata.verify.algebra.latex import latex
from vtdata.verify.algebra.tree import minus, num, over, plus, times
from vtdata.verify.cascade import Cascade, all_of, formed
from vtdata.verify.reading import words
from vtdata.verify.reading.union import as_reals
from vtdata.verify.reading.values import (
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
_CALCULUS = re.compile(
    r"\\(?:i?i?int|oint|sum|prod|lim|det|partial|begin|cap|setminus)(?![A-Za-z])|\\frac\{d[}a-z^]"
)
"""What the symbolic stage reads better than we do. Of anything else that we can't read it would
guess: ``1 1`` is 2 to math-verify, and ``x2`` is 2x."""


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
        """A list, a tuple or a set of one as that one; a set keeps its braces."""
        while isinstance(value, Group) and len(value.items) == 1 and value.shape != "set":
            value = value.items[0]
        return value

    def _mixed(self, a: Value, b: Value) -> bool | None:
        """Types that are never the same, unless one of them was not understood."""
        for one, other in ((a, b), (b, a)):
            if isinstance(one, Foreign):
                return self._foreign(one, other)
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

    def _foreign(self, one: Foreign, other: Value) -> bool | None:
        if isinstance(other, Words) or not _CALCULUS.search(one.text):
            self.open("not_comparable")
            return None
        spelled = _written(other)
        if spelled is None:
            self.open("not_comparable")
            return None
        return self.ask(one.text, spelled)

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
        if a_names and b_names:
            if a_names.keys() != b_names.keys():
                return False
            return all_of(self.values(a_names[name], b_names[name]) for name in sorted(a_names))
        if a_names or b_names:
            named, other = (a_names, b) if a_names else (b_names, a)
            if self.policy.names == "strict" or other.shape == "set":
                return False
            return self.in_order([*(named or {}).values()], other.items)
        shapes = {a.shape, b.shape}
        if "bracket" in shapes and len(shapes) == 2:
            return self._bracket(a, b)
        if a.items and b.items and (_DOTS in a.items or _DOTS in b.items):
            return self._dotted(a, b)
        if shapes == {"set", "tuple"}:
            return False
        if shapes in ({"set"}, {"set", "list"}):
            return self.in_any_order(_distinct(a), _distinct(b))
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
        """``[a,b]`` beside something else: a list, never the open interval."""
        other = b if a.shape == "bracket" else a
        if other.shape == "tuple" and len(other.items) == 2:
            return False
        if other.shape == "list" and self.policy.order == "ignored":
            return self.in_any_order(a.items, b.items)
        return False if other.shape == "set" else self.in_order(a.items, b.items)

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
        """A pair read as an interval, a set of points."""
        found = as_reals(b)
        return False if found is None else self.reals(a, found)

    def named(self, a: Named, b: Named) -> bool | None:
        """``x=3`` and ``y=3`` differ."""
        return self.values(a.value, b.value) if a.name == b.name else False

    def named_and_value(self, a: Named, b: Value) -> bool | None:
        """``x=3`` and 3."""
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
        """A vector and a tuple."""
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
        if found and _is_time(a) and _is_time(b):
            halves = {half for _, _, half in (a.text.partition(" "), b.text.partition(" ")) if half}
            if len(halves) > 1:
                return False
            if [formed(x) for x in a.parts] == [formed(y) for y in b.parts]:
                return True
            self.open("time_or_ratio")
            return None
        return found

    def ratio_and_scalar(self, a: Ratio, b: Scalar) -> bool | None:
        """``1:2`` and 1/2."""
        if len(a.parts) != 2 or b.unit is not None:
            return False
        return self.nodes(over(a.parts[0], a.parts[1]), b.node)

    def congruences(self, a: Congruence, b: Congruence) -> bool | None:
        """The same residue class."""
        if a.name != b.name or not self.nodes(a.modulus, b.modulus):
            return False
        apart = ("f", "mod", (plus(a.residue, minus(b.residue)), a.modulus))
        return self.nodes(apart, num(0))

    def congruence_and_scalar(self, a: Congruence, b: Scalar) -> bool | None:
        """``x = 3 (mod 7)`` and 3: the residue, as it is written."""
        found = self.nodes(a.residue, b.node)
        if found is not True or self.policy.names == "strict":
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


def _is_time(of: Ratio) -> bool:
    hours, *rest = of.text.partition(" ")[0].split(":")
    return (
        hours.isdigit()
        and int(hours) < 25
        and all(len(part) == 2 and part.isdigit() and int(part) < 60 for part in rest)
    )


def _written(value: Value) -> str | None:
    """A value as LaTeX for the symbolic stage, where it is simple enough."""
    if isinstance(value, Scalar) and value.unit is None:
        return latex(value.node)
    if isinstance(value, Foreign):
        return value.text
    if isinstance(value, Relation):
        return f"{latex(value.left)}{value.op}{latex(value.right)}"
    if isinstance(value, Group) and value.items:
        parts = [_written(item) for item in value.items]
        if None in parts:
            return None
        inside = ",".join(part or "" for part in parts)
        return {"tuple": f"({inside})", "set": rf"\{{{inside}\}}"}.get(value.shape, inside)
    return None
