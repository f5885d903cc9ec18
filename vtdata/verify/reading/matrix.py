r"""LaTeX environments: matrices, and systems written as cases."""

from __future__ import annotations

import re
from collections.abc import Callable

from vtdata.verify.algebra.tree import Node, minus, plus, times
from vtdata.verify.reading.split import cut
from vtdata.verify.reading.values import Foreign, Group, Matrix, Scalar, Value

_ENVIRONMENT = re.compile(
    r"(?:[(\[]|\\\{)?\s*\\begin\{(?P<name>[pbBvV]?matrix|smallmatrix|array|cases|aligned)\}"
    r"(?:\{[lcr|]*\})?(?P<rows>.*)\\end\{(?P=name)\}\s*[)\]]?",
    re.DOTALL,
)
_ROW = re.compile(r"\\cr(?![A-Za-z])")
_CELL = re.compile("&")
_DETERMINANTS = ("vmatrix", "Vmatrix")
_MAX_CELLS = 400
_MAX_ORDER = 4


def matrix(text: str, value_of: Callable[[str], Value]) -> Value | None:
    """Read an environment: rows and cells, or a list of equations; None where there is more."""
    match = _ENVIRONMENT.fullmatch(text)
    if match is None:
        return None
    rows = [row for row in cut(match["rows"], _ROW)[0] if row]
    cells = [cut(row, _CELL)[0] for row in rows]
    if sum(map(len, cells)) > _MAX_CELLS or not cells:
        return Foreign(text)
    system = match["name"] in ("cases", "aligned") or text.startswith(r"\{")
    if system:
        lines = [value_of("".join(row).rstrip(",;.")) for row in cells]
        return lines[0] if len(lines) == 1 else Group("list", tuple(lines))
    if len({len(row) for row in cells}) > 1 or not all(cell for row in cells for cell in row):
        return Foreign(text)
    found = tuple(tuple(value_of(cell) for cell in row) for row in cells)
    return _determinant(found, text) if match["name"] in _DETERMINANTS else Matrix(found)


def _determinant(rows: tuple[tuple[Value, ...], ...], text: str) -> Value:
    nodes = [[cell.node for cell in row if isinstance(cell, Scalar)] for row in rows]
    size = len(rows)
    if size > _MAX_ORDER or any(len(row) != size for row in nodes):
        return Foreign(text)
    return Scalar(_expanded(nodes))


def _expanded(rows: list[list[Node]]) -> Node:
    """The determinant, along the first row."""
    if len(rows) == 1:
        return rows[0][0]
    terms = []
    for at, head in enumerate(rows[0]):
        minor = _expanded([[*row[:at], *row[at + 1 :]] for row in rows[1:]])
        terms.append(times(head, minor) if at % 2 == 0 else minus(times(head, minor)))
    return plus(*terms)
