"""Pairs of answers that hang, blow up or break an in-process math verifier.

What is here is short to write and endless to evaluate, or long and slow to parse: what models do
write when they loop. No pair has an answer that matters; each must come back in time.
"""

from __future__ import annotations

_MATRIX = r"\begin{pmatrix}1&2\\3&4\end{pmatrix}"


def _nested(head: str, depth: int, tail: str = "}", core: str = "1") -> str:
    return head * depth + core + tail * depth


def _determinant(size: int) -> str:
    rows = r"\\".join("&".join(f"a_{{{i}{j}}}" for j in range(size)) for i in range(size))
    return rf"\begin{{vmatrix}}{rows}\end{{vmatrix}}"


HOSTILE: dict[str, tuple[str, str]] = {
    # Powers: cheap to write, too large to hold.
    "power tower": ("9^{9^9}", "9^{9^9}+1"),
    "high tower": ("5^{5^{5^{5^5}}}", "5^{5^{5^{5^4}}}"),
    "plain tower": ("9^9^9", "8^9^9"),
    "round tower": ("9^(9^9)", "9^(9^8)"),
    "tower of tens": ("10^{10^{10}}", "10^{10^{10}}+1"),
    "tiny tower": ("10^{-10^9}", "0"),
    "tower of e": ("e^{e^{e^{e^e}}}", "e^{e^{e^{e^4}}}"),
    "large power": (r"2^{10^7}", r"3^{10^7}"),
    "larger power": (r"2^{10^9}", r"2^{10^9}+1"),
    "power modulo": (r"7^{7^{7^7}} \bmod 1000", "343"),
    "log of a tower": (r"\log(9^{9^{9^9}})", r"9^{9^9}\log 9"),
    "root of a tower": (r"\sqrt{9^{9^{8}}+1}", r"3^{9^8}"),
    # Factorials, binomials, sums and products.
    "factorial": ("10000000!", "1"),
    "giant factorial": ("1000000000!", "1"),
    "factorial of factorials": ("((9!)!)!", "2"),
    "quotient of factorials": (r"\frac{10000000!}{9999999!}", "10000000"),
    "binomial": (r"\binom{10000000}{5000000}", "1"),
    "giant binomial": (r"\binom{10^{12}}{10^{11}}", r"\binom{10^{12}}{9\cdot10^{11}}"),
    "sum": (r"\sum_{k=1}^{100000000}\frac{1}{k}", "18"),
    "sum of squares of sines": (r"\sum_{k=1}^{100000000}\sin(k)^2", "5"),
    "product": (r"\prod_{k=1}^{1000000}k", "0"),
    "double sum": (r"\sum_{i=1}^{100000}\sum_{j=1}^{100000}\frac{1}{i+j}", "1"),
    # Algebra that is exponential or undecidable in practice.
    "determinant": (_determinant(8), "0"),
    "matrix power": (rf"{_MATRIX}^{{100000000}}", _MATRIX),
    "matrix of towers": (r"\begin{pmatrix}9^{9^9}&1\\1&9^{9^9}\end{pmatrix}", _MATRIX),
    "expanded power": (r"(x+y+z+w)^{400}", r"(x+y+z+w)^{399}(x+y+z+w+1)"),
    "polynomial of high degree": (r"(x+1)^{100000}-x^{100000}", "1"),
    "integral": (r"\int_0^1 x^{x^{x^x}}\,dx", r"\int_0^1 e^{e^{e^x}}\,dx"),
    "limit": (r"\lim_{x\to\infty}\frac{e^{e^x}}{e^{e^{x-e^{-e^x}}}}", "1"),
    "nested radicals": (
        "+".join(rf"\sqrt{{{n}+\sqrt{{{n + 1}}}}}" for n in range(2, 40)),
        "+".join(rf"\sqrt{{{n}-\sqrt{{{n - 1}}}}}" for n in range(2, 40)),
    ),
    "product of sines": (
        "".join(rf"\sin({n}x)" for n in range(1, 30)),
        "".join(rf"\cos({n}x)" for n in range(1, 30)),
    ),
    "interval of towers": ("[9^{9^{9^9}}, 10^{10^{10^{10}}}]", "[0, 1]"),
    "large set": (r"\{" + ",".join(rf"\sqrt{{{n}}}" for n in range(2, 800)) + r"\}", r"\{1\}"),
    # Long or deep text.
    "nested parentheses": (_nested("(", 500, ")"), "1"),
    "nested fractions": (_nested(r"\frac{1}{1+", 60), "1"),
    "deeply nested fractions": (_nested(r"\frac{1}{1+", 200), "1"),
    "nested roots": (_nested(r"\sqrt{2+", 300), "2"),
    "a million digits": ("9" * 1_000_000, "1"),
    "a million digits twice": ("1" * 1_000_000 + "/3", "2" * 1_000_000 + "/7"),
    "dollars": ("$" * 200_000, "1"),
    "brackets": ("[" * 20_000, "1"),
    "unclosed boxes": (r"\boxed{" * 5_000, "1"),
    "groups of digits": ("1 111 111 " * 20_000, "1"),
    "long sum": ("1+" * 50_000 + "1", "50001"),
    "100,000 characters of words": ("the answer is a number " * 4_348, "1"),
}
