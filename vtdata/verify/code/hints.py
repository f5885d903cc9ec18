"""Which arguments of a function are made of LeetCode's nodes, by its starter code."""

from __future__ import annotations

import ast


def node_hints(starter_code: str, fn_name: str) -> tuple[list[str], str] | None:
    r"""Return which arguments, and whether the result, are made of LeetCode's nodes; else None.

    >>> node_hints("class Solution:\n  def f(self, a: Optional[ListNode], k: int): pass", "f")
    (['ListNode', ''], '')
    """
    if "Node" not in starter_code:
        return None
    try:
        tree = ast.parse(_with_body(starter_code))
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == fn_name:
            args = [arg for arg in node.args.args if arg.arg != "self"]
            return [_hint(arg.annotation) for arg in args], _hint(node.returns)
    return None


def _with_body(code: str) -> str:
    """Starter code often ends behind a colon."""
    last = code.rstrip().rpartition("\n")[2]
    indent = len(last) - len(last.lstrip()) + 4
    return f"{code.rstrip()}\n{' ' * indent}pass\n" if last.endswith(":") else code


def _hint(annotation: ast.expr | None) -> str:
    text = ast.unparse(annotation) if annotation is not None else ""
    for kind in ("ListNode", "TreeNode"):
        if kind in text:
            return "*" * text.lower().count("list[") + kind
    return ""
