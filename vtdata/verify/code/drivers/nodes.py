"""LeetCode's lists and trees, which tests write as plain lists."""

from __future__ import annotations

from typing import Any

MOST_NODES = 1_000_000
"""A list of nodes that goes round in circles ends here."""


class ListNode:
    """A node of a list."""

    def __init__(self, val: Any = 0, next: Any = None) -> None:
        self.val = val
        self.next = next


class TreeNode:
    """A node of a tree."""

    def __init__(self, val: Any = 0, left: Any = None, right: Any = None) -> None:
        self.val = val
        self.left = left
        self.right = right


def dressed(value: Any, hint: str, kinds: dict[str, Any]) -> Any:
    """Return an argument as what the starter code says it is.

    Args:
        value: plain lists.
        hint: ``ListNode``, ``TreeNode``, with a ``*`` before for a list of such, or nothing.
        kinds: the classes, which the program may have defined itself.
    """
    if hint.startswith("*"):
        return [dressed(item, hint[1:], kinds) for item in value]
    if hint == "ListNode":
        head = None
        for item in reversed(value or []):
            head = kinds[hint](item, head)
        return head
    if hint == "TreeNode":
        return _planted(value or [], kinds[hint])
    return value


def _planted(values: list[Any], kind: Any) -> Any:
    nodes = [None if value is None else kind(value) for value in values]
    children = iter(nodes[1:])
    for node in nodes:
        if node is not None:
            node.left = next(children, None)
            node.right = next(children, None)
    return nodes[0] if nodes else None


def stripped(value: Any, hint: str) -> Any:
    """Return a result as plain lists, where it is made of nodes."""
    if hint.startswith("*") and isinstance(value, (list, tuple)):
        return [stripped(item, hint[1:]) for item in value]
    if hint == "ListNode":
        return _chain(value)
    return _levels(value) if hint == "TreeNode" else value


def _chain(node: Any) -> list[Any]:
    values: list[Any] = []
    while node is not None and len(values) < MOST_NODES:
        values.append(node.val)
        node = node.next
    return values


def _levels(root: Any) -> list[Any]:
    values: list[Any] = []
    waiting = [root]
    for node in waiting:
        if len(values) >= MOST_NODES:
            break
        values.append(None if node is None else node.val)
        if node is not None:
            waiting += [node.left, node.right]
    while values and values[-1] is None:
        values.pop()
    return values
