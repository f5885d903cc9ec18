r"""One spelling for answers that are written differently and mean the same.

Only what can't change the value: wrappers, spacing commands, Unicode forms of LaTeX symbols, full
width, redundant braces. A pair that this makes equal is equal; a pair that stays different may
still be.
"""

from __future__ import annotations

import functools
import re
import unicodedata

_FULL_WIDTH = {chr(0xFF01 + i): chr(0x21 + i) for i in range(94)}
_GREEK_NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau "
    "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega phi epsilon"
)
_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξρστυφχψωΓΔΘΛΞΠΣΦΨΩϕϵ",
        _GREEK_NAMES.split(),
        strict=True,
    )
)
_COMMANDS = {
    "×": "times", "·": "cdot", "⋅": "cdot", "∙": "cdot", "∞": "infty", "π": "pi", "√": "sqrt",
    "≤": "leq", "≥": "geq", "⩽": "leq", "⩾": "geq", "≠": "neq", "±": "pm", "∓": "mp",
    "°": "degree", "º": "degree", "∅": "emptyset", "∪": "cup", "∩": "cap", "∈": "in",
    "∉": "notin", "⊂": "subset", "⊆": "subseteq", "≡": "equiv", "∠": "angle", "△": "triangle",
    "∥": "parallel", "⊥": "perp", "≈": "approx", "…": "ldots", "⋯": "ldots", "∖": "setminus",
    "→": "to", "⇒": "Rightarrow", "∧": "land", "∨": "lor", "∫": "int", "∑": "sum", "∏": "prod",
    "⌊": "lfloor", "⌋": "rfloor", "⌈": "lceil", "⌉": "rceil", "∼": "sim", "≅": "cong",
    "⟨": "langle", "⟩": "rangle", "ℓ": "ell", "∂": "partial",
} | _GREEK  # fmt: skip
_PLAIN_FORMS = {
    "−": "-", "–": "-", "‐": "-", "‑": "-", "÷": "/", "⁄": "/", "∕": "/", "∶": ":", "’": "'",
    "′": "'", "∣": "|", "∗": "*", "‰": "/1000", "∛": r"\sqrt[3]", "∜": r"\sqrt[4]",
    "。": ".", "、": ",", "℃": r"^\circ C", "\u3000": " ", "\u00a0": " ",
    "\u202f": " ", "\u2009": " ", "\u2002": " ", "\u2003": " ", "\u2005": " ", "\u2006": " ",
    "\u200b": "", "\u2060": "", "\ufeff": "", "\u2061": "", "\u2062": "",
    "ℝ": r"\mathbb{R}", "ℤ": r"\mathbb{Z}", "ℕ": r"\mathbb{N}", "ℚ": r"\mathbb{Q}",
    "ℂ": r"\mathbb{C}",
}  # fmt: skip
_SYMBOLS = {symbol: f"\\{name} " for symbol, name in _COMMANDS.items()} | _PLAIN_FORMS
_VULGAR = {
    "½": "12",
    "⅓": "13",
    "⅔": "23",
    "¼": "14",
    "¾": "34",
    "⅕": "15",
    "⅖": "25",
    "⅗": "35",
    "⅘": "45",
    "⅙": "16",
    "⅚": "56",
    "⅛": "18",
    "⅜": "38",
    "⅝": "58",
    "⅞": "78",
}
_TABLE = str.maketrans(
    _FULL_WIDTH | _SYMBOLS | {c: rf"\frac{{{v[0]}}}{{{v[1]}}}" for c, v in _VULGAR.items()}
)
_FONTS = re.compile("[\U0001d400-\U0001d7ff\u2460-\u2473]+")
"""Mathematical alphabets and circled numbers."""
_DASH = re.compile("^—(?=[0-9])")
_SUPERSCRIPT = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ]+")
_SUBSCRIPT = re.compile("[₀₁₂₃₄₅₆₇₈₉]+")
_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ₀₁₂₃₄₅₆₇₈₉", "0123456789-+n0123456789")
_ROOT = re.compile(r"√\s*([0-9]+(?:\.[0-9]+)?)")
_ROW = re.compile(r"\\\\(?:\[[^\]]*\])?")
_ALIASES = {
    "dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "dbinom": "binom", "tbinom": "binom",
    "le": "leq", "ge": "geq", "leqslant": "leq", "geqslant": "geq", "ne": "neq", "lbrace": "{",
    "rbrace": "}", "lbrack": "[", "rbrack": "]", "lparen": "(", "rparen": ")", "dots": "ldots",
    "cdots": "ldots", "dotsc": "ldots", "varnothing": "emptyset", "infin": "infty",
    "colon": ":", "mid": "|", "lvert": "|", "rvert": "|", "vert": "|", "lt": "<", "gt": ">",
    "degree": "^\\circ ", "space": " ", "thinspace": " ", "Vert": "||", "middle": "",
    "cdotp": "cdot",
    "displaystyle": "", "textstyle": "", "limits": "", "nolimits": "", "left": "", "right": "",
    "bigl": "", "bigr": "", "Bigl": "", "Bigr": "", "big": "", "Big": "", "bigg": "", "Bigg": "",
    "biggl": "", "biggr": "", "rm": "", "bf": "", "it": "", "quad": " ", "qquad": " ",
    "boldsymbol": "", "arccot": "arccot", "lnot": "neg", "nonumber": "", "notag": "",
}  # fmt: skip
_ALIAS = re.compile(r"\\([A-Za-z]+)(?=([^A-Za-z]?))")
_DELIMITER = re.compile(r"\\(?:left|right)\s*\.")
_HIDDEN = re.compile(r"\\(?:hspace|vspace|phantom|tag|label)\*?\s*\{[^{}]*\}")
_SET = re.compile(r"\\(?:mathbb|Bbb)\s*\{?\s*([RZNQC])\s*\}?")
_WRAPPED = ((r"\(", r"\)"), (r"\[", r"\]"), ("**", "**"), ("`", "`"))
_ODD = re.compile(
    r"""^\s*["'#:=*_?]|["'?*_\\]\s*$|\n|\*\*|\+\ ?/?\ ?-|[0-9]\ ?[xX]\ ?10\^|\.\.\.
    |[0-9]['_][0-9]|[0-9]\.[0-9]{3}\.|log_?[0-9]+\(""",
    re.VERBOSE,
)
"""Whether there is anything for ``_plain`` to do."""
_LINES = re.compile(r"\s*\n\s*")
_QUOTED = re.compile(r"^([\"'])(.+)\1$", re.DOTALL)
_LEADING = re.compile(r"^(?:#+\s+|[:=]\s*(?=[^=]))")
_MARKED = re.compile(r"^(\*\*|__|\*|_)([^*_]+)\1(?:\s*(?=\S))?")
_PLUS_MINUS = re.compile(r"\+ ?/ ?-|^\+-|(?<=[=,(])\+-")
_CROSS = re.compile(r"(?<=[0-9]) ?[xX] ?10\^")
_CYCLE = re.compile(r"([0-9]*\.[0-9]*?)([0-9]{1,3}?)\2{2,}(?:\.\.\.|\\[lc]?dots)")
_APOSTROPHES = re.compile(
    r"(?<![0-9.'_])[0-9]{1,3}(?:(?:'[0-9]{3})+|(?:_[0-9]{3})+|(?:\.[0-9]{3}){2,})(?![0-9'_.])"
)
_LOG_BASE = re.compile(r"\\?log_?([0-9]+)\(")
_WRAPPERS = frozenset({"\\", "*", "`"})
_DOLLAR = re.compile(r"(?<!\\)\$")
_DRESSED = re.compile(r"\\(?:left|right|[hv]space|phantom|tag|label|math|Bbb|text|mbox|f?box|op)")
"""What most answers don't have, so that most are spared a look for each."""
_PRIME = re.compile(r"\^\{?\s*\\prime\s*\}?")
_OVER = re.compile(r"\{?\s*([^{}\\]+?)\s*(\\over)(?![A-Za-z])\s*\{?([^{}]+?)\}?\s*\}?$")
_CHOOSE = re.compile(r"\{?\s*([^{}\\]+?)\s*(\\choose)(?![A-Za-z])\s*\{?([^{}]+?)\}?\s*\}?$")
_COMMAND_DIGIT = re.compile(r"(\\[A-Za-z]+) (?=[0-9])")
_SPACE = re.compile(r"\\[,;:!> ]")
_THOUSANDS = re.compile(r"(?<=[0-9])(?:\\[,! ]|\{,\}|,\\!)(?=[0-9]{3}(?![0-9]))")
_LIST = re.compile(r"(?<=[0-9])\s*,\s+(?=[0-9]{3}(?![0-9]))")
_TEXT = re.compile(
    r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mathsf|operatorname|mbox|boxed|fbox)"
    r"\s*\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"
)
_BARE_TEXT = re.compile(r"\\(?:text|mathrm|mathbf|mathit|rm)\s+([A-Za-z0-9])(?![A-Za-z])")
_SHORT_FRAC = re.compile(r"\\frac\s*([0-9A-Za-z])\s*([0-9A-Za-z])")
_HALF_FRAC = re.compile(r"\\frac\s*(\{[^{}]*\})\s*([0-9A-Za-z])")
_FRAC_HALF = re.compile(r"\\frac\s*([0-9A-Za-z])\s*(\{)")
_SHORT_SQRT = re.compile(r"\\sqrt\s*([0-9]+|[A-Za-z])")
_SCRIPT = re.compile(r"([_^])\{([0-9A-Za-z])\}(?![0-9])")
_INNER_SPACE = re.compile(r"(?<![0-9A-Za-z.]) | (?![0-9A-Za-z])")
_WORDS = re.compile(r"[A-Za-z]+(?: [A-Za-z]+)*")
_PLAIN = re.compile(r"-?[0-9]+|[0-9]+\.[0-9]+|[A-Za-z]+")
_CASED = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_CLOSED = frozenset({"yes", "no", "true", "false", "odd", "even"})

MAX_CHARS = 10_000
"""Longer answers are compared as they stand (ours)."""
CACHED_CHARS = 200
"""Longer answers are read anew each time, so that a cache stays small (ours)."""


def normal(answer: str) -> str:
    r"""Return the canonical spelling of an answer; empty where nothing is left.

    >>> normal(r"$\dfrac12$"), normal(r"\text{ Yes. }"), normal("（1， 2）")
    ('\\frac{1}{2}', 'yes', '(1,2)')

    A space between two letters or digits stays, so that "1 2" is not 12:

    >>> normal("1  2")
    '1 2'
    """
    if _PLAIN.fullmatch(answer):
        return _fold(answer)
    if len(answer) <= CACHED_CHARS:
        return _cached(answer)
    return answer.strip() if len(answer) > MAX_CHARS else _spell(answer)


def _spell(answer: str) -> str:
    text = answer if answer.isascii() else _ascii(answer)
    if "$" in text:
        text = _DOLLAR.sub("", text)
    if _ODD.search(text) is not None:
        text = _plain(text)
    text = _ROW.sub(r"\\cr ", _unwrap(text)) if "\\\\" in text else _unwrap(text)
    if "," in text or "\\" in text:
        text = _THOUSANDS.sub("", text)
        text = _LIST.sub(";", text)  # "1, 234" is two numbers, "1,234" is one
    if "\\" in text:
        text = _commands(text)
    if "{" in text:
        text = _SCRIPT.sub(r"\1\2", text)
    text = _unwrap(" ".join(text.replace("~", " ").split()))
    if " " in text:
        text = _INNER_SPACE.sub("", text)
    return _fold(text)


def _plain(text: str) -> str:
    """What is seldom written, as it is usually written."""
    text = _LINES.sub(";", text.strip()) if "\\begin" not in text else text
    text = _LEADING.sub("", _QUOTED.sub(r"\2", text.strip()))
    text = _MARKED.sub(r"\2", text).rstrip("?\\ ") if text.rstrip("?\\ ") else text
    text = _PLUS_MINUS.sub(r"\\pm ", text)
    text = _CROSS.sub(r"\\times 10^", text)
    text = _CYCLE.sub(lambda m: f"{m[1]}\\overline{{{m[2]}}}", text)
    text = text.replace("...", "\\ldots ")
    text = _APOSTROPHES.sub(lambda m: re.sub("['_.]", "", m.group()), text)
    return _LOG_BASE.sub(r"\\log_{\1}(", text)


def _ascii(text: str) -> str:
    """Unicode's forms of symbols, digits and brackets as LaTeX has them."""
    text = _FONTS.sub(lambda match: unicodedata.normalize("NFKC", match.group()), text)
    text = "".join(str(unicodedata.digit(c)) if c.isdecimal() else c for c in text)
    text = _DASH.sub("-", unicodedata.normalize("NFC", text))
    text = _SUPERSCRIPT.sub(lambda match: f"^{{{match.group().translate(_DIGITS)}}}", text)
    text = _SUBSCRIPT.sub(lambda match: f"_{{{match.group().translate(_DIGITS)}}}", text)
    return _ROOT.sub(r"\\sqrt{\1}", text).translate(_TABLE)


def _commands(text: str) -> str:
    """LaTeX without what changes its looks alone, and with one name for each thing."""
    if _DRESSED.search(text) is not None:
        text = _HIDDEN.sub("", _DELIMITER.sub("", text))
        text = _SET.sub(r"\\mathbb{\1}", text)
        text = _BARE_TEXT.sub(r"\1", text)
        for _ in range(4):
            text, changed = _TEXT.subn(r" \1 ", text)
            if not changed:
                break
    text = _ALIAS.sub(_renamed, text)
    if "\\prime" in text:
        text = _PRIME.sub("'", text)
    if "\\over" in text or "\\choose" in text:
        text = _OVER.sub(r"\\frac{\1}{\3}", _CHOOSE.sub(r"\\binom{\1}{\3}", text))
    return _COMMAND_DIGIT.sub(r"\1", _fractions(_SPACE.sub(" ", text)))


def _renamed(match: re.Match[str]) -> str:
    """One name for what LaTeX has several for."""
    name = _ALIASES.get(match[1])
    if name is None:
        return match.group()
    if name.isalpha() or name in ("{", "}"):
        return f"\\{name}"
    return name


# The rollouts of one query repeat its reference, and each other.
_cached = functools.lru_cache(maxsize=8_192)(_spell)


def _unwrap(text: str) -> str:
    """Strip math delimiters, Markdown emphasis, and the full stop that ends a sentence."""
    before = None
    while before != text:
        before = text
        text = text.strip()
        for opener, closer in _WRAPPED if text[:1] in _WRAPPERS else ():
            inner = text[len(opener) : -len(closer)]
            whole = len(text) > len(opener) + len(closer) and opener not in inner
            if whole and text.startswith(opener) and text.endswith(closer):
                text = inner.strip()
        if text.endswith((".", ",", ";", "\\")) and not text.endswith(".."):
            text = text[:-1]
    return text


def _fractions(text: str) -> str:
    if "\\frac" in text:
        text = _SHORT_FRAC.sub(r"\\frac{\1}{\2}", text)
        text = _HALF_FRAC.sub(r"\\frac\1{\2}", text)
        text = _FRAC_HALF.sub(r"\\frac{\1}\2", text)
    return _SHORT_SQRT.sub(r"\\sqrt{\1}", text)


def _fold(text: str) -> str:
    """Fold the case of words, never of symbols: AB and ab are two products."""
    if not _WORDS.fullmatch(text):
        return text
    words = text.split()
    if all(_is_word(word) for word in words):
        return text.lower()
    return text


def _is_word(word: str) -> bool:
    """Whether a word is no product of symbols, and its case means nothing: AaBb is a genotype."""
    if word.lower() in _CLOSED:
        return True
    cased = len(word) > 3 and _CASED.fullmatch(word) is not None
    return cased and not set(word) <= set("ABCDEFGH")
