"""What came out of a file of cases: verdicts by reason, and agreement with right values."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from vtdata.verify.cases import Judged
from vtdata.verify.rows import Id

_MAX_IDS = 50


@dataclass(slots=True)
class Tally:
    """Counts of verdicts; where cases say what is right, also who agrees with it."""

    reasons: dict[float | None, Counter[str]] = field(
        default_factory=lambda: {1.0: Counter(), 0.0: Counter(), None: Counter()}
    )
    right: int = 0
    false_positives: list[Id] = field(default_factory=list)
    """Ids of cases that are different, and were judged 1.0."""
    false_negatives: list[Id] = field(default_factory=list)
    """Ids of cases that are equal, and were judged 0.0."""
    abstained: list[Id] = field(default_factory=list)
    """Ids of cases that nobody could judge, among those with a right value."""
    abstained_equal: int = 0
    """How many of those are equal."""
    seconds: float = 0.0
    workers: int = 1

    def add(self, judged: Judged) -> None:
        """Count one verdict."""
        reward, case = judged.verdict.reward, judged.case
        self.reasons[reward][judged.verdict.reason] += 1
        if case.equal is None:
            return
        if reward is None:
            self.abstained.append(case.id)
            self.abstained_equal += case.equal
        elif reward == float(case.equal):
            self.right += 1
        elif case.equal:
            self.false_negatives.append(case.id)
        else:
            self.false_positives.append(case.id)

    def merge(self, other: Tally) -> None:
        """Count what another one counted, after this one's."""
        for reward, reasons in other.reasons.items():
            self.reasons[reward].update(reasons)
        self.right += other.right
        self.false_positives += other.false_positives
        self.false_negatives += other.false_negatives
        self.abstained += other.abstained
        self.abstained_equal += other.abstained_equal

    @property
    def pairs(self) -> int:
        return sum(count.total() for count in self.reasons.values())

    @property
    def compared(self) -> int:
        """How many cases said what is right."""
        wrong = len(self.false_positives) + len(self.false_negatives)
        return self.right + wrong + len(self.abstained)

    def data(self) -> dict[str, Any]:
        """Return the summary as plain data; ``agreement`` is None without right values."""
        names = {1.0: "1.0", 0.0: "0.0", None: "null"}
        agreement = {
            "cases": self.compared,
            "right": self.right,
            "false_positives": self.false_positives,
            "false_negatives": self.false_negatives,
            "abstained": self.abstained,
            "abstained_equal": self.abstained_equal,
        }
        return {
            "pairs": self.pairs,
            "seconds": round(self.seconds, 3),
            "pairs_per_s": round(self.pairs / self.seconds, 1) if self.seconds else None,
            "workers": self.workers,
            "rewards": {names[reward]: count.total() for reward, count in self.reasons.items()},
            "reasons": {
                names[reward]: dict(count.most_common()) for reward, count in self.reasons.items()
            },
            "agreement": agreement if self.compared else None,
        }

    def lines(self) -> Iterator[str]:
        """Say the same to a person."""
        rate = f", {self.pairs / self.seconds:,.0f}/s" if self.seconds else ""
        workers = "1 worker" if self.workers == 1 else f"{self.workers} workers"
        yield f"{self.pairs:,} pairs in {self.seconds:.1f} s{rate}, {workers}"
        for reward, count in self.reasons.items():
            why = ", ".join(f"{reason} {num:,}" for reason, num in count.most_common())
            word = "null" if reward is None else str(reward)
            yield f"  {word:4}  {count.total():>7,}  {why}".rstrip()
        if not self.compared:
            return
        equal, different = self.abstained_equal, len(self.abstained) - self.abstained_equal
        yield (
            f"against 'equal' of {self.compared:,}: right {self.right:,}, "
            f"false positives {len(self.false_positives):,}, "
            f"false negatives {len(self.false_negatives):,}, "
            f"abstained {len(self.abstained):,} ({equal:,} equal, {different:,} different)"
        )
        for name, ids in (
            ("false positives", self.false_positives),
            ("false negatives", self.false_negatives),
            ("abstained", self.abstained),
        ):
            if ids:
                yield f"  {name}: {_ids(ids)}"


def _ids(ids: list[Id]) -> str:
    shown = ", ".join(json.dumps(one, ensure_ascii=False) for one in ids[:_MAX_IDS])
    return shown if len(ids) <= _MAX_IDS else f"{shown} and {len(ids) - _MAX_IDS:,} more"
