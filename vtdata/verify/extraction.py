r"""The final answer of a whole response: its last ``\boxed{}``, or what it says is the answer."""

from __future__ import annotations

from vtdata.verify.boxes import boxed
from vtdata.verify.concluded import concluded
from vtdata.verify.said import said
from vtdata.verify.spoken import spoken


def extract(response: str) -> str | None:
    r"""Return the response's final answer as it is written, or None where it gives none.

    What counts is, in this order:

    1. The last ``\boxed{}`` or ``\fbox{}`` with balanced braces, or ``\boxed 5`` without; boxes
       that stand side by side are one list. A box wins over whatever else is said. One that is
       never closed was cut off, though the response may look finished: it is no answer, and
       neither is what stands before it. "It cannot be \boxed{7}" leaves no answer either.
    2. The last "the answer is X", "Answer: X", "## Final Answer", ``<answer>X</answer>``,
       "#### X", ``"answer": X``, 答案是X or 故选X.
    3. What the response ends on: a display, a last line that is only bold or a formula, a last
       sentence that concludes with "= X", or with a number or formula as its last word: "So the
       total is X", "Thus we get X", "The result is X".

    Thoughts don't count, and after an unfinished thought there is no answer at all. The last
    number of the text is never taken for an answer. A hedge ("5 or 6") stays one.

    Args:
        response: the whole text, with or without ``<think>`` tags.

    Source: ours; the order is that of the graders compared in TRL and verl, without their
    fallback to the last number.

    >>> extract(r"<think>\boxed{7}?</think> It is \boxed{\frac{1}{2}}.")
    '\\frac{1}{2}'
    >>> extract("Hence the answer is 14.5.")
    '14.5'
    >>> extract(r"\boxed{7} <think> or rather \boxed{8}") is None
    True
    >>> extract("There are 3 of 7 left") is None
    True
    """
    text = spoken(response)
    if text is None:
        return None
    answer, cut = boxed(text)
    if answer is not None or cut:
        return answer
    return said(text) or concluded(text)
