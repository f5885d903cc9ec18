"""Programs that decide where several outputs are right; as untrusted as what they judge."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass

from vtdata.sandbox import Limits, Outcome
from vtdata.verify.code.drivers import source_of
from vtdata.verify.code.finding import Finding, Witness
from vtdata.verify.code.model import Text

LIMITS = Limits(cpu_s=10.0, wall_s=50.0, memory_mib=1024, output_mib=1)
"""What a checker may use (ours)."""


@dataclass(frozen=True, slots=True)
class Checker:
    """A checker of open-r1/codeforces: called with three files, it prints 1 or 0."""

    program: str
    sandbox: Witness

    async def again(
        self, tests: Sequence[Text], outcomes: Sequence[Outcome], findings: Sequence[Finding]
    ) -> list[Finding]:
        """Ask it about outputs that differ from what is expected; equal ones are right anyway."""
        open_ = [at for at, found in enumerate(findings) if found.verdict == "wrong_answer"]
        closed = list(findings)
        if not open_:
            return closed
        files = [(tests[at].input, tests[at].output, outcomes[at].stdout) for at in open_]
        inputs = [
            json.dumps([base64.b64encode(part).decode() for part in three]).encode()
            for three in files
        ]
        source = source_of("checker", program=self.program)
        said = await self.sandbox.run(source, inputs, LIMITS)
        for at, outcome in zip(open_, said, strict=True):
            closed[at] = _ruling(outcome, findings[at])
        return closed


def _ruling(outcome: Outcome, wrong: Finding) -> Finding:
    if outcome.state == "sandbox_error":
        return Finding("sandbox_error", outcome.detail)
    words = outcome.stdout.split()
    try:
        score = float(words[-1]) if outcome.state == "ok" and words else None
    except ValueError:
        score = None
    if score is None or score != score:
        shown = (outcome.stdout or outcome.stderr)[-200:]
        return Finding("checker_error", f"the checker ended as {outcome.state}, saying {shown!r}")
    return Finding("ok") if score >= 1.0 else wrong
