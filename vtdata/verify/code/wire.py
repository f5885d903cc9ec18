"""Values as JSON with their types, to a driver in a sandbox and back.

This file is also the first part of every driver: it needs the standard library alone. What comes
out of a sandbox is data and nothing else: ``unpack`` makes builtin values, whatever it is given.

    None, bool, int, finite float, str, list     as themselves
    {"t": TAG, "v": ...}                          tuple, set, dict, bytes, big ints, inf, nan ...
    {"t": "ref", "v": k}                          what call k of this run returned and is no data
"""

from __future__ import annotations

from typing import Any

MAX_DEPTH = 200
TYPES: dict[str, type] = {
    kind.__name__: kind
    for kind in (bool, int, float, complex, str, bytes, list, tuple, set, frozenset, dict)
}
"""Types that may themselves be values."""
BIG = 1 << 63


class Malformed(ValueError):
    """A text that is no value."""


class Ref:
    """Something that only exists in the program's process: what call ``k`` returned."""

    def __init__(self, k: int) -> None:
        self.k = k


def tagged(tag: str, value: Any) -> dict[str, Any]:
    """What JSON has no form for, with the name of its type."""
    return {"t": tag, "v": value}


def pack(value: Any, depth: int = 0) -> Any:
    """Return a builtin value as JSON; raises Malformed for what is none.

    Subclasses of builtin types are sent as the plain value they hold, whatever they define.
    """
    if depth > MAX_DEPTH:
        raise Malformed(f"nested deeper than {MAX_DEPTH}")
    if value is None or value is True or value is False:
        return value
    kind = type(value)
    if isinstance(value, int):
        plain = int.__add__(value, 0)
        return plain if -BIG < plain < BIG else tagged("int", hex(plain))
    if isinstance(value, float):
        plain_float = float.__add__(value, 0.0) if kind is not float else value
        finite = plain_float - plain_float == 0.0
        return plain_float if finite else tagged("float", float.__repr__(plain_float))
    if isinstance(value, str):
        return value if kind is str else str.__str__(value)
    if isinstance(value, list):
        return [pack(item, depth + 1) for item in list.__iter__(value)]
    if isinstance(value, tuple):
        return tagged("tuple", [pack(item, depth + 1) for item in tuple.__iter__(value)])
    if isinstance(value, dict):
        pairs = dict.items(value)
        return tagged("dict", [[pack(k, depth + 1), pack(v, depth + 1)] for k, v in pairs])
    return _pack_rare(value, depth)


def _pack_rare(value: Any, depth: int) -> Any:
    if isinstance(value, (set, frozenset)):
        tag, each = ("set", set) if isinstance(value, set) else ("frozenset", frozenset)
        return tagged(tag, [pack(item, depth + 1) for item in each.__iter__(value)])
    if isinstance(value, (bytes, bytearray)):
        return tagged("bytes" if isinstance(value, bytes) else "bytearray", value.hex())
    if isinstance(value, complex):
        return tagged("complex", [pack(value.real), pack(value.imag)])
    if type(value) is range:
        return tagged("range", [value.start, value.stop, value.step])
    if isinstance(value, type) and TYPES.get(value.__name__) is value:
        return tagged("type", value.__name__)
    if isinstance(value, Ref):
        return tagged("ref", value.k)
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return pack(value.tolist(), depth)
    raise Malformed(f"a {type(value).__name__} is no data")


def unpack(data: Any, refs: Any = Ref, depth: int = 0) -> Any:
    """Return the value that ``pack`` was given.

    Args:
        data: parsed JSON, from anybody.
        refs: called with the number of a ``ref``.
        depth: how deep it lies.

    Raises:
        Malformed: it is none.
    """
    if depth > MAX_DEPTH:
        raise Malformed(f"nested deeper than {MAX_DEPTH}")
    if data is None or isinstance(data, (bool, int, float, str)):
        return data
    if isinstance(data, list):
        return [unpack(item, refs, depth + 1) for item in data]
    if not isinstance(data, dict) or set(data) != {"t", "v"}:
        raise Malformed("an object without a type")
    tag, inner = data["t"], data["v"]
    try:
        return _untag(tag, inner, refs, depth)
    except (TypeError, ValueError, OverflowError) as error:
        raise Malformed(f"{tag}: {error}") from error


def _untag(tag: Any, inner: Any, refs: Any, depth: int) -> Any:
    if tag in ("tuple", "set", "frozenset", "iter"):
        makers: dict[str, Any] = {"tuple": tuple, "set": set, "frozenset": frozenset, "iter": iter}
        return makers[tag]([unpack(item, refs, depth + 1) for item in _listed(inner)])
    if tag == "dict":
        pairs = (_listed(pair) for pair in _listed(inner))
        return {unpack(k, refs, depth + 1): unpack(v, refs, depth + 1) for k, v in pairs}
    if tag == "int":
        return int(inner, 16)
    if tag == "float":
        return float(inner)
    if tag in ("bytes", "bytearray"):
        raw = bytes.fromhex(inner)
        return raw if tag == "bytes" else bytearray(raw)
    if tag == "complex":
        real, imaginary = (unpack(part, refs, depth + 1) for part in _listed(inner))
        return complex(real, imaginary)
    if tag == "type" and isinstance(inner, str) and inner in TYPES:
        return TYPES[inner]
    if tag == "range":
        return range(*_listed(inner))
    if tag == "ref" and isinstance(inner, int):
        return refs(inner)
    raise Malformed("no such type")


def _listed(data: Any) -> list[Any]:
    if not isinstance(data, list):
        raise Malformed("a list is missing")
    return data
