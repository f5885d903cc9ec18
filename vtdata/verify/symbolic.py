"""The last stage of the rules: algebra by sympy, in a process that can be killed."""

from __future__ import annotations

from collections.abc import Callable

from vtdata.verify.algebra.tree import Node, dumps
from vtdata.verify.cascade import word

LIMIT_S = 4.0
"""Seconds for one question; what takes longer is ``timeout``, never an answer (ours)."""
MAX_CHARS = 4_000
"""Longer expressions are not asked about (ours)."""


def symbolic(
    limit_s: float, said: dict[str, str], open_: Callable[[str], None]
) -> Callable[[str, str, Node | None, Node | None, bool | None], bool | None]:
    """Return a function that decides between two expressions in LaTeX.

    Equal if sympy shows that the difference of the two is zero, or else only if math-verify says
    so in both directions; different only if math-verify says so in both and random points do not
    contradict it; else undecided. The proof is asked first: it reads no LaTeX, which takes
    math-verify 40 times as long.

    Args:
        limit_s: seconds for each question.
        said: where to write what was said.
        open_: told why nothing was decided.
    """

    def decide(
        a: str,
        b: str,
        left: Node | None,
        right: Node | None,
        points: bool | None,  # noqa: FBT001
    ) -> bool | None:
        from vtdata.verify import guard

        if max(len(a), len(b)) > MAX_CHARS:
            open_("too_long")
            return None
        troubles: list[str] = []
        if points and left is not None and right is not None:
            proof = guard.ask("prove", [dumps(left), dumps(right)], limit_s=limit_s)
            said["proof"] = word(proof.value) if proof.reason == "ok" else proof.reason
            if proof.value:
                return True
            troubles.append(proof.reason)
        reply = guard.ask("math", [a, b], limit_s=limit_s)
        verdicts = reply.value if reply.reason == "ok" else {}
        forward, backward = verdicts.get("forward"), verdicts.get("backward")
        said["forward"] = word(forward) if verdicts else reply.reason
        said["backward"] = word(backward) if verdicts else reply.reason
        if forward and backward:
            return True
        if forward is False and backward is False and points is None:
            return False
        troubles.append(reply.reason)
        for trouble in troubles:
            if trouble != "ok":
                open_(trouble if trouble in ("timeout", "memory") else "outage")
        return None

    return decide
