r"""LaTeX commands: what \dfrac and /, \leq and ≤, \alpha and α have in common.

Operators and relations are no words in either spelling: word n-grams that keep them flag three
times as many clean documents (measured; "= 0 \Rightarrow x =" is an idiom). A command that isn't
listed here counts by its name, as \sin does.
"""

from __future__ import annotations

_NO_TOKEN = """
    frac dfrac tfrac cfrac over left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr
    Biggl Biggr text textbf textit textrm textsf texttt textup textnormal mbox hbox emph underline
    mathrm mathbf mathit mathsf mathtt mathcal mathbb mathfrak mathscr mathop operatorname
    boldsymbol bm pmb rm bf it displaystyle textstyle scriptstyle limits nolimits quad qquad
    hspace vspace hfill phantom hphantom vphantom smallskip medskip bigskip noindent par newline
    item label tag notag nonumber centering hline cr
    cdot times div pm mp ast star bullet circ le leq leqslant leqq ge geq geqslant geqq lt gt ne
    neq not approx equiv sim simeq cong propto to gets rightarrow leftarrow Rightarrow Leftarrow
    longrightarrow Longrightarrow leftrightarrow Leftrightarrow longleftrightarrow implies iff
    mapsto longmapsto in notin ni subset subseteq supset supseteq cup cap setminus mid nmid
    parallel perp wedge vee land lor lnot neg oplus otimes triangle square
    ldots cdots dots dotsc dotsb vdots ddots degree prime langle rangle lfloor rfloor lceil rceil
    lvert rvert lVert rVert vert Vert lbrace rbrace lbrack rbrack backslash colon
    overline bar overrightarrow overleftarrow vec hat widehat tilde widetilde dot ddot underbrace
    overbrace overset underset stackrel
"""

SILENT = frozenset(_NO_TOKEN.lower().split())
"""Formatting, spacing, delimiters, operators and relations: no token."""

_NAMED = (
    "alpha α beta β gamma γ delta δ epsilon ε varepsilon ε zeta ζ eta η theta θ vartheta θ iota ι "
    "kappa κ lambda λ mu μ nu ν xi ξ pi π varpi π rho ρ varrho ρ sigma σ varsigma σ tau τ "
    "upsilon υ phi φ varphi φ chi χ psi ψ omega ω"
)
_LETTERS = _NAMED.split()

GREEK = dict(zip(_LETTERS[::2], _LETTERS[1::2], strict=True))
"""Names of letters, for both cases, to the letter: a token by itself."""

SIGNS = {
    "varnothing": "emptyset",
    "oint": "int",
    "lbinom": "binom",
    "dbinom": "binom",
    "tbinom": "binom",
}
"""Commands that are another one's synonym."""

RENAMED = {**SIGNS, **GREEK}
"""What a word that is a token is called, where it is the name of a letter or a synonym."""

_WORDS = """
    over left right middle big text it item label tag par bf in to gets not star square triangle
    prime times div bullet circ cr dot bar hat tilde vec mid wedge vee land neg sim le ge lt gt ne
    ni phantom ast colon cap cup degree vert subset
"""

ENGLISH = frozenset(_WORDS.split())
"""Silent commands that are words of a language, too: silent only behind a backslash."""

_BLOCKS = "align aligned gather gathered multline pmatrix bmatrix vmatrix tabular"
BLOCKS = frozenset(_BLOCKS.split())
r"""Names of environments: the name in \begin{pmatrix} is no token, "begin" is."""

FRACTIONS = frozenset({"frac", "dfrac", "tfrac", "cfrac"})
r"""\frac12 is 1 and 2: after these, a digit that follows at once is a token by itself, twice."""


def said(name: str, *, command: bool) -> str | None:
    r"""The token that a word stands for, or None where it stands for none.

    Text that lost its backslashes on the way (Markdown eats them) still says the same: "mathbf" is
    silent and "alpha" is a letter with a backslash or without.

    Args:
        name: folded; ASCII letters only.
        command: whether a backslash stands before it.

    >>> [said(name, command=True) for name in ("dfrac", "delta", "sin", "to")]
    [None, 'δ', 'sin', None]
    >>> [said(name, command=False) for name in ("dfrac", "delta", "sin", "to")]
    [None, 'δ', 'sin', 'to']
    """
    if name in BLOCKS or (name in SILENT and (command or name not in ENGLISH)):
        return None
    return RENAMED.get(name, name)
