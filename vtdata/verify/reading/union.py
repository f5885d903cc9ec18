r"""Unions of intervals: ``(-\infty,1)\cup[2,3)``, and the line without some points."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from vtdata.verify.algebra.points import value
from vtdata.verify.algebra.tree import Node, minus
from vtdata.verify.reading.split import cut
from vtdata.verify.reading.values import EMPTY, Group, Reals, Scalar, Span, Value

_CUP = re.compile(r"\\cup(?![A-Za-z])")
_WITHOUT = re.compile(r"\\(?:setminus|backslash)(?![A-Za-z])")
_INFINITY: Node = ("k", "oo")
_LINE = Reals((Span(minus(_INFINITY), False, _INFINITY, False),))  # noqa: FBT003


def is_union(text: str) -> bool:
    """Whether the text joins or subtracts sets at its top level."""
    if r"\cup" not in text and r"\setminus" not in text and r"\backslash" not in text:
        return False
    return len(cut(text, _CUP)[0]) > 1 or len(cut(text, _WITHOUT)[0]) > 1


def union(text: str, value_of: Callable[[str], Value]) -> Value | None:
    """Read a union or a difference; None where a part is no set of real numbers."""
    parts = cut(text, _CUP)[0]
    if len(parts) > 1:
        found = [_reals(value_of(part)) for part in parts]
        if any(part is None for part in found):
            return None
        return join([part for part in found if part is not None])
    whole, *removed = cut(text, _WITHOUT)[0]
    base = _reals(value_of(whole))
    if base is None or len(removed) != 1:
        return None
    points = value_of(removed[0])
    if (
        not isinstance(points, Group)
        or points.shape != "set"
        or not all(isinstance(p, Scalar) for p in points.items)
    ):
        return None
    for point in points.items:
        cut_out = without(base, point.node) if isinstance(point, Scalar) else None
        if cut_out is None:
            return None
        base = cut_out
    return base


def _reals(found: Value) -> Reals | None:
    if isinstance(found, Reals):
        return found
    return as_reals(found)


def as_reals(found: Value) -> Reals | None:
    """The interval that a pair is, and the points that a set is; None for anything else."""
    if not isinstance(found, Group) or not found.items:
        return None
    nodes = [item.node for item in found.items if isinstance(item, Scalar)]
    if len(nodes) != len(found.items):
        return None
    if found.shape == "set":
        return join([Reals((Span(node, True, node, True),)) for node in nodes])  # noqa: FBT003
    if found.shape in ("tuple", "bracket") and len(nodes) == 2:
        closed = found.shape == "bracket"
        low, high = position(nodes[0]), position(nodes[1])
        if low is not None and high is not None and low > high:
            return None
        return Reals((Span(nodes[0], closed, nodes[1], closed),))
    return None


def position(node: Node) -> float | None:
    """Where an end lies on the line; None where it has symbols."""
    if node == _INFINITY:
        return float("inf")
    if node == minus(_INFINITY):
        return float("-inf")
    return value(node)


def join(parts: Sequence[Reals]) -> Reals | None:
    """The union, in the order of the lower ends; spans that touch become one."""
    spans = [span for part in parts for span in part.spans]
    placed = [
        (position(span.low), not span.low_closed, position(span.high), span) for span in spans
    ]
    if any(low is None or high is None for low, _, high, _ in placed):
        return None
    placed.sort(key=lambda entry: entry[:3])
    merged: list[Span] = []
    for *_, span in placed:
        if merged and _touch(merged[-1], span):
            merged[-1] = _merged(merged[-1], span)
        else:
            merged.append(span)
    return Reals(tuple(merged), parts[0].name)


def meet(parts: Sequence[Reals]) -> Reals | None:
    """The intersection of single intervals; None where it isn't known, or empty."""
    spans = [part.spans[0] for part in parts if len(part.spans) == 1]
    lows = [(position(span.low), not span.low_closed, span) for span in spans]
    highs = [(position(span.high), span.high_closed, span) for span in spans]
    known = all(entry[0] is not None for entry in (*lows, *highs))
    if len(spans) < len(parts) or not known:
        return None
    low = max(lows, key=lambda entry: entry[:2])[2]
    high = min(highs, key=lambda entry: entry[:2])[2]
    first, last = position(low.low), position(high.high)
    if first is None or last is None or first >= last:
        return None
    name = next((part.name for part in parts if part.name), None)
    return Reals((Span(low.low, low.low_closed, high.high, high.high_closed),), name)


def _touch(left: Span, right: Span) -> bool:
    end, start = position(left.high), position(right.low)
    if end is None or start is None:
        return False
    return start < end or (start == end and (left.high_closed or right.low_closed))


def _merged(left: Span, right: Span) -> Span:
    first, second = position(left.high), position(right.high)
    if first is None or second is None or (second, right.high_closed) > (first, left.high_closed):
        return Span(left.low, left.low_closed, right.high, right.high_closed)
    return left


def without(base: Reals, point: Node) -> Reals | None:
    """The set without a point; None where it isn't known where the point lies."""
    at = position(point)
    if at is None:
        if len(base.spans) == 1 and base.spans == _LINE.spans:
            below = Span(minus(_INFINITY), False, point, False)  # noqa: FBT003
            return Reals((below, Span(point, False, _INFINITY, False)), base.name)  # noqa: FBT003
        return None
    spans: list[Span] = []
    for span in base.spans:
        low, high = position(span.low), position(span.high)
        if low is None or high is None:
            return None
        if low < at < high:
            spans.append(Span(span.low, span.low_closed, point, False))  # noqa: FBT003
            spans.append(Span(point, False, span.high, span.high_closed))  # noqa: FBT003
        else:
            spans.append(
                Span(
                    span.low,
                    span.low_closed and low != at,
                    span.high,
                    span.high_closed and high != at,
                )
            )
    return Reals(tuple(spans), base.name)


__all__ = ["EMPTY", "as_reals", "is_union", "join", "position", "union", "without"]
