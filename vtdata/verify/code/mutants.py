"""Programs that differ from a right one in one place, as a tired programmer's would."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

from vtdata.seeds import derive_seed
from vtdata.verify.code.program import parse

_COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}


def mutants(program: str, most: int) -> list[str]:
    """Return programs with one change each: at most ``most``, spread over the whole program.

    A comparison or operator becomes a near one, a number grows by one, a truth value turns, ``and``
    becomes ``or``, a condition is negated, a returned value becomes None, ``min`` becomes ``max``.

    A mutant may do the same as the program (a limit that is never met, a speed-up): no test can
    kill such a one, so not even perfect tests kill all.

    Source: the usual operators of mutation testing; the choice is ours.

    >>> mutants("print(1 < 2)", 9)
    ['print(1 <= 2)', 'print(2 < 2)', 'print(1 < 3)']
    """
    tree = parse(program)
    if tree is None:
        return []
    own = ast.unparse(tree)
    found = list(dict.fromkeys(text for text in _all(tree) if text != own))
    if len(found) <= most:
        return found
    ranked = sorted(range(len(found)), key=lambda at: derive_seed("mutant", found[at]))
    return [found[at] for at in sorted(ranked[:most])]


def _all(tree: ast.Module) -> Iterator[str]:
    number = sum(1 for _ in ast.walk(tree))
    for at in range(number):
        for change in _CHANGES:
            mutant = copy.deepcopy(tree)
            node = next(node for place, node in enumerate(ast.walk(mutant)) if place == at)
            if change(node):
                yield ast.unparse(ast.fix_missing_locations(mutant))


def _near(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        swap = _COMPARE.get(type(node.ops[0]))
        if swap is not None:
            node.ops[0] = swap()
            return True
    if isinstance(node, (ast.BinOp, ast.AugAssign)):
        operator = _BINARY.get(type(node.op))
        if operator is not None:
            node.op = operator()
            return True
    if isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return True
    return False


def _other(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int)):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
        return True
    if isinstance(node, (ast.If, ast.While)):
        node.test = ast.UnaryOp(ast.Not(), node.test)
        return True
    if isinstance(node, ast.Return) and node.value is not None:
        node.value = None
        return True
    if isinstance(node, ast.Name) and node.id in _NAMES and isinstance(node.ctx, ast.Load):
        node.id = _NAMES[node.id]
        return True
    return False


_CHANGES: tuple[Callable[[ast.AST], bool], ...] = (_near, _other)
