"""The last stage of the rules: algebra by sympy, in a process that can be killed."""

from __future__ import annotations

import time
from collections.abc import Callable

from vtdata.verify import guard
from vtdata.verify.algebra.tree import Node, dumps
from vtdata.verify.cascade import word

LIMIT_S = 4.0
"""Seconds for one question; what takes longer is ``timeout``, never an answer (ours)."""
QUESTIONS = 3
"""A whole comparison takes at most so many times the limit of one question (ours)."""
MAX_CHARS = 4_000
"""Longer expressions are not asked about (ours)."""


def symbolic(
    limit_s: float, said: dict[str, str], open_: Callable[[str], None]
) -> Callable[[str, str, Node | None, Node | None, bool | None], bool | None]:
    """Return a function that decides between two expressions in LaTeX.

    Equal or different if sympy shows that the difference of the two is zero, or another number;
    else equal only if random points and math-verify in both directions say so. That math-verify
    says no is no verdict: it says so where it can't tell. The proof is asked first: it reads no
    LaTeX, which takes math-verify 40 times as long.

    Args:
        limit_s: seconds for each question.
        said: where to write what was said.
        open_: told why nothing was decided.
    """
    began = time.monotonic()

    def ask(job: str, args: list[str]) -> guard.Reply:
        left = min(limit_s, QUESTIONS * limit_s - (time.monotonic() - began))
        if left <= 0:
            return guard.Reply(None, "timeout", 0.0)
        return guard.ask(job, args, limit_s=left)

    def decide(
        a: str,
        b: str,
        left: Node | None,
        right: Node | None,
        points: bool | None,  # noqa: FBT001
    ) -> bool | None:
        if max(len(a), len(b)) > MAX_CHARS:
            open_("too_long")
            return None
        troubles: list[str] = []
        if left is not None and right is not None:
            proof = ask("prove", [dumps(left), dumps(right)])
            said["proof"] = word(proof.value) if proof.reason == "ok" else proof.reason
            if proof.value is not None:
                return proof.value
            troubles.append(proof.reason)
        reply = ask("math", [a, b])
        verdicts = reply.value if reply.reason == "ok" else {}
        forward, backward = verdicts.get("forward"), verdicts.get("backward")
        said["forward"] = word(forward) if verdicts else reply.reason
        said["backward"] = word(backward) if verdicts else reply.reason
        if forward and backward and points:  # it rounds: without points it proves nothing
            return True
        troubles.append(reply.reason)
        for trouble in troubles:
            if trouble != "ok":
                open_(trouble if trouble in ("timeout", "memory") else "outage")
        return None

    return decide
