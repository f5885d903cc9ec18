r"""Made-up answers in the proportions of a vote: 70 % integers, the rest whatever mathematics has.

``pairs`` are for benchmarks of equality, ``polls`` for benchmarks of the vote. Both know the truth,
and are the same for the same seed.

>>> [pair for pair in pairs(1_000, seed=1) if pair.kind == "surd"][0].gold
'19+\\sqrt{27}'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random

EQUAL_SHARE = 0.4
"""Share of pairs that are equal, in different spellings."""
ABSTAIN_SHARE = 0.05
"""Share of rollouts without an answer."""
PLAIN_SHARE = 0.85
"""Share of rollouts that spell an answer in the first way; the others are equally frequent."""
SQUAREFREE = (2, 3, 5, 6, 7, 10, 11, 13, 14, 15, 17, 19, 21)
VOWELS, CONSONANTS = "aeiou", "bdfgklmnprstvz"

Spellings = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two answers, and whether they mean the same."""

    gold: str
    pred: str
    equal: bool
    kind: str


@dataclass(frozen=True, slots=True)
class Poll:
    """The answers of one query's rollouts; ``truth`` has 0 where it is right, else which wrong."""

    answers: tuple[str | None, ...]
    truth: tuple[int | None, ...]
    kind: str


def pairs(n: int, seed: int) -> list[Pair]:
    """Return ``n`` pairs, no two of them alike; 40 % are equal and spelled differently."""
    rng = Random(f"pairs {seed}")
    seen: set[tuple[str, str]] = set()
    found: list[Pair] = []
    while len(found) < n:
        kind, right, wrong = _question(rng)
        equal = rng.random() < EQUAL_SHARE
        gold, pred = rng.sample(right, 2) if equal else (rng.choice(right), _any(rng, wrong))
        if (gold, pred) not in seen:
            seen.add((gold, pred))
            found.append(Pair(gold, pred, equal, kind))
    return found


def polls(n: int, seed: int, asked: int = 16) -> Iterator[Poll]:
    """Yield ``n`` votes of ``asked`` rollouts each.

    How often a query's rollouts are right is drawn from Beta(2, 1); the wrong ones agree among
    four wrong answers as far as exponential draws make them.
    """
    rng = Random(f"polls {seed}")
    for _ in range(n):
        kind, right, wrong = _question(rng)
        meanings = [right, *wrong]
        share = rng.betavariate(2, 1)
        luck = [rng.expovariate(1) for _ in wrong]
        odds = [share, *((1 - share) * draw / sum(luck) for draw in luck)]
        truth: list[int | None] = []
        answers: list[str | None] = []
        for _ in range(asked):
            if rng.random() < ABSTAIN_SHARE:
                truth.append(None)
                answers.append(None)
                continue
            (meant,) = rng.choices(range(len(meanings)), odds)
            truth.append(meant)
            answers.append(_spelled(rng, meanings[meant]))
        yield Poll(tuple(answers), tuple(truth), kind)


def _spelled(rng: Random, spellings: Spellings) -> str:
    return spellings[0] if rng.random() < PLAIN_SHARE else rng.choice(spellings[1:])


def _any(rng: Random, wrong: Sequence[Spellings]) -> str:
    return rng.choice(rng.choice(wrong))


def _question(rng: Random) -> tuple[str, Spellings, list[Spellings]]:
    """Return a kind of answer, the right answer's spellings, and those of four wrong ones."""
    (kind,) = rng.choices(list(KINDS), [share for share, _ in KINDS.values()])
    make = KINDS[kind][1]
    first = None
    meanings: dict[object, Spellings] = {}
    while len(meanings) < 5:
        value, spellings = make(rng, first)
        first = first if meanings else value
        meanings.setdefault(value, tuple(dict.fromkeys(spellings)))
    right, *wrong = meanings.values()
    return kind, right, wrong


def _integer(rng: Random, near: int | None) -> tuple[int, list[str]]:
    if near is None:
        value = rng.randrange(10 ** rng.randint(1, 6)) * rng.choice((1, 1, 1, 1, -1))
    else:
        value = rng.choice((near + rng.randint(-9, 9), -near, 10 * near, 2 * near))
    spelled = [f"{value}", f"{value}.0", f"${value}$", rf"\({value}\)", f"{value}."]
    return value, [*spelled, f"{value:,}"] if abs(value) >= 1_000 else spelled


def _fraction(rng: Random, near: Fraction | None) -> tuple[Fraction, list[str]]:
    value = Fraction(1)
    while value.denominator == 1:
        if near is None:
            value = Fraction(rng.randint(-300, 900), rng.randint(2, 60))
        else:
            value = rng.choice((-near, near + Fraction(1, rng.randint(2, 9)), near / 2, 1 - near))
    a, b = value.numerator, value.denominator
    sign, a = ("-", -a) if a < 0 else ("", a)
    spelled = [
        rf"{sign}\frac{{{a}}}{{{b}}}",
        f"{sign}{a}/{b}",
        rf"{sign}\dfrac{{{a}}}{{{b}}}",
        rf"{sign}\frac{{{2 * a}}}{{{2 * b}}}",
    ]
    finite = not any(b % prime == 0 for prime in (3, 7, 11, 13, 17, 19, 23, 29, 31, 37))
    if finite and 10**6 % b == 0:
        spelled.append(f"{float(value):.6f}".rstrip("0"))
    return value, spelled


def _decimal(rng: Random, near: Fraction | None) -> tuple[Fraction, list[str]]:
    places = rng.randint(1, 3)
    if near is None:
        value = Fraction(rng.randrange(1, 10 ** (places + 2)), 10**places)
    else:
        value = rng.choice((near * 10, near / 10, near + Fraction(rng.randint(1, 9), 1_000)))
    text = f"{float(value):.6f}".rstrip("0").rstrip(".")
    zero = f"{text}0" if "." in text else f"{text}.0"
    return value, [text, zero, f"${text}$", rf"\frac{{{value.numerator}}}{{{value.denominator}}}"]


def _surd(rng: Random, near: tuple[int, int, int] | None) -> tuple[tuple[int, int, int], list[str]]:
    plus, times, root = near or (0, 0, 0)
    if near is None:
        plus, root = rng.choice((0, 0, rng.randint(-20, 20))), rng.choice(SQUAREFREE)
        times = rng.choice((1, -1)) * rng.randint(2, 30)
    else:
        times = rng.choice((times, -times, times + 1)) or 2
        root = rng.choice((root, rng.choice(SQUAREFREE)))
        plus += rng.choice((0, 0, 1, 2))
    sign, size = ("-" if times < 0 else ""), abs(times)
    plain = rf"{sign}{'' if size == 1 else size}\sqrt{{{root}}}"
    whole = rf"{sign}\sqrt{{{size * size * root}}}"
    dotted = rf"{sign}{size}\cdot\sqrt{{{root}}}"
    terms = [plain, whole, dotted, f"${plain}$"]
    if plus:
        glue = "" if times < 0 else "+"
        terms = [f"{plus}{glue}{plain}", f"{plus}{glue}{whole}", f"{plain}{plus:+d}"]
    return (plus, times, root), terms


def _polynomial(rng: Random, near: tuple[int, int] | None) -> tuple[tuple[int, int], list[str]]:
    if near is None:
        p, q = (rng.choice((1, -1)) * rng.randint(1, 30) for _ in range(2))
    else:
        p, q = near[0] * rng.choice((1, -1)), near[1] * rng.choice((1, -1)) + rng.randint(0, 2)
    p, q = sorted((p, q or 31))
    total, product = -(p + q), p * q
    middle = "" if total == 0 else f"{'+' if total > 0 else '-'}{_times(abs(total))}"
    return (p, q), [
        f"x^2{middle}{product:+d}",
        f"(x{-p:+d})(x{-q:+d})",
        f"{product}{middle}+x^2",
        f"x^{{2}} {middle} {product:+d}",
    ]


def _times(size: int) -> str:
    return "x" if size == 1 else f"{size}x"


def _tuple(
    rng: Random, near: tuple[Fraction, ...] | None
) -> tuple[tuple[Fraction, ...], list[str]]:
    if near is None:
        size = rng.choice((2, 2, 3))
        values = [Fraction(rng.randint(-60, 60), rng.choice((1, 1, 2))) for _ in range(size)]
    else:
        values = list(near)
        at = rng.randrange(len(values))
        values[at] = rng.choice((-values[at], values[at] + rng.randint(1, 5)))
    plain = [str(value) for value in values]
    latex = [
        rf"\frac{{{value.numerator}}}{{{value.denominator}}}"
        if value.denominator > 1
        else str(value)
        for value in values
    ]
    return tuple(values), [
        f"({', '.join(plain)})",
        f"({','.join(plain)})",
        rf"\left({', '.join(latex)}\right)",
        f"$({', '.join(latex)})$",
    ]


def _text(rng: Random, near: str | None) -> tuple[str, list[str]]:
    del near
    syllables = [rng.choice(CONSONANTS) + rng.choice(VOWELS) for _ in range(rng.randint(3, 4))]
    name = "".join(syllables).capitalize()
    return name, [name, rf"\text{{{name}}}", name.lower(), f"**{name}**", f"{name}."]


def _function(rng: Random, near: tuple[str, int] | None) -> tuple[tuple[str, int], list[str]]:
    """What no canonical form decides: identities of sines and logarithms."""
    kind, size = near or (rng.choice(("sin", "ln")), rng.randint(2, 40))
    size = size + rng.randint(1, 5) if near else size
    if kind == "sin":
        double = [rf"{2 * size}\sin x\cos x", rf"{2 * size}\cos x\sin x"]
        return (kind, size), [rf"{size}\sin 2x", rf"{size}\sin(2x)", *double]
    return (kind, size), [rf"2\ln {size}", rf"\ln {size**2}", rf"\ln({size}^2)"]


Maker = Callable[[Random, object], tuple[object, list[str]]]
KINDS: dict[str, tuple[float, Maker]] = {
    "integer": (0.70, _integer),
    "fraction": (0.07, _fraction),
    "decimal": (0.05, _decimal),
    "surd": (0.05, _surd),
    "polynomial": (0.04, _polynomial),
    "tuple": (0.04, _tuple),
    "function": (0.03, _function),
    "text": (0.02, _text),
}  # ty: ignore[invalid-assignment] - each maker takes what it makes
"""How often each kind of answer comes, and what makes one, or another near a given one."""
