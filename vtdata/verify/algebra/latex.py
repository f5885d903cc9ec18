r"""An expression as plain LaTeX that math-verify reads without guessing."""

from __future__ import annotations

from vtdata.verify.algebra.tree import Node

_GREEK_NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau "
    "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
)
_GREEK = frozenset(_GREEK_NAMES.split())
_CONSTANTS = {"pi": r"\pi ", "e": "e", "i": "i", "oo": r"\infty "}
_COMMAND_NAMES = "sin cos tan cot sec csc sinh cosh tanh coth arcsin arccos arctan ln max min gcd"
_COMMANDS = frozenset(_COMMAND_NAMES.split())


def latex(node: Node) -> str:
    r"""Write an expression, with brackets wherever they could matter.

    >>> latex(("*", (("n", 2), ("f", "root", (("+", (("s", "x"), ("n", -1))), ("n", 2))))))
    '2 \\cdot \\sqrt{x+\\left(-1\\right)}'
    """
    kind = node[0]
    if kind == "n":
        top, bottom = node[1].numerator, node[1].denominator
        return f"{top}" if bottom == 1 else rf"\frac{{{top}}}{{{bottom}}}"
    if kind == "s":
        return _symbol(node[1])
    if kind == "k":
        return _CONSTANTS[node[1]]
    if kind in ("+", "*"):
        joiner = "+" if kind == "+" else r" \cdot "
        return joiner.join(_operand(part, kind) for part in node[1])
    if kind == "^":
        return rf"{_bracketed(node[1])}^{{{latex(node[2])}}}"
    if kind == "deg":
        return rf"\frac{{\pi \cdot {_bracketed(node[1])}}}{{180}}"
    if kind == "pm":
        return rf"{'+' if node[1] > 0 else '-'}{_bracketed(node[2])}"
    return _function(node[1], node[2])


def _operand(node: Node, of: str) -> str:
    """An operand of a sum or a product."""
    text = latex(node)
    bare = node[0] in ("n", "s", "k", "^", "f") or (of == "+" and node[0] == "*")
    return text if bare and not text.startswith("-") else rf"\left({text}\right)"


def _bracketed(node: Node) -> str:
    simple = node[0] == "s" or (node[0] == "k" and node[1] != "oo")
    return latex(node) if simple else rf"\left({latex(node)}\right)"


def _symbol(name: str) -> str:
    stem, _, index = name.lstrip("%").partition("_")
    base = f"\\{stem} " if stem in _GREEK else stem
    return f"{base}_{{{index}}}" if index else base


def _calculus(name: str, body: str, variable: str, *ends: str) -> str:
    if name == "integral":
        return rf"\int_{{{ends[0]}}}^{{{ends[1]}}} \left({body}\right) d{variable}"
    if name == "limit":
        return rf"\lim_{{{variable} \to {ends[0]}}} \left({body}\right)"
    if name == "derivative":
        return rf"\frac{{d}}{{d{variable}}} \left({body}\right)"
    return rf"\{name}_{{{variable}={ends[0]}}}^{{{ends[1]}}} \left({body}\right)"


def _function(name: str, arguments: tuple[Node, ...]) -> str:
    first = latex(arguments[0])
    if name == "root":
        index = arguments[1]
        return rf"\sqrt{{{first}}}" if index[1] == 2 else rf"\sqrt[{latex(index)}]{{{first}}}"
    if name == "abs":
        return rf"\left|{first}\right|"
    if name in ("floor", "ceil"):
        return rf"\l{name} {first} \r{name} "
    if name in ("sum", "prod", "integral", "limit", "derivative"):
        return _calculus(name, *map(latex, arguments))
    if name.startswith("@"):
        return rf"{_symbol(name[1:])}\left({','.join(map(latex, arguments))}\right)"
    if name == "factorial":
        return rf"\left({first}\right)!"
    if name == "double_factorial":
        return rf"\left({first}\right)!!"
    if name == "binom":
        return rf"\binom{{{first}}}{{{latex(arguments[1])}}}"
    if name == "mod":
        return rf"\left({first}\right) \bmod \left({latex(arguments[1])}\right)"
    if name == "log":
        base = f"_{{{latex(arguments[1])}}}" if len(arguments) > 1 else ""
        return rf"\log{base}\left({first}\right)" if base else rf"\ln\left({first}\right)"
    inside = ",".join(latex(argument) for argument in arguments)
    prefix = f"\\{name}" if name in _COMMANDS else rf"\operatorname{{{name}}}"
    return rf"{prefix}\left({inside}\right)"
