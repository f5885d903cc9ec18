r"""LaTeX environments: matrices, and systems written as cases."""

from __future__ import annotations

import re
from collections.abc import Callable

from vtdata.verify.reading.split import cut
from vtdata.verify.reading.values import Foreign, Group, Matrix, Value

_ENVIRONMENT = re.compile(
    r"[(\[]?\s*\\begin\{(?P<name>[pbBvV]?matrix|smallmatrix|array|cases|aligned)\}"
    r"(?:\{[lcr|]*\})?(?P<rows>.*)\\end\{(?P=name)\}\s*[)\]]?",
    re.DOTALL,
)
_ROW = re.compile(r"\\cr(?![A-Za-z])")
_CELL = re.compile("&")
_DETERMINANTS = ("vmatrix", "Vmatrix")
_MAX_CELLS = 400


def matrix(text: str, value_of: Callable[[str], Value]) -> Value:
    """Read an environment: rows and cells, or a list of equations."""
    match = _ENVIRONMENT.fullmatch(text)
    if match is None or match["name"] in _DETERMINANTS:
        return Foreign(text)
    rows = [row for row in cut(match["rows"], _ROW)[0] if row]
    cells = [[cell for cell in cut(row, _CELL)[0] if cell] for row in rows]
    if sum(map(len, cells)) > _MAX_CELLS or not cells:
        return Foreign(text)
    if match["name"] in ("cases", "aligned"):
        lines = [value_of("".join(row).rstrip(",;.")) for row in cells]
        return lines[0] if len(lines) == 1 else Group("list", tuple(lines))
    if len({len(row) for row in cells}) > 1:
        return Foreign(text)
    return Matrix(tuple(tuple(value_of(cell) for cell in row) for row in cells))
