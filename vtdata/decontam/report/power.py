"""How much a scan would have found: rates with their intervals, and the sentence about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from vtdata.errors import ConfigError
from vtdata.intervals import clopper_pearson

CONFIDENCE = 0.95


class Counted(TypedDict):
    """So many of so many."""

    found: int
    of: int


class Power(TypedDict):
    """What a scan measured about itself, by kind of mutation."""

    recall: Mapping[str, Counted]
    """Planted items that were found, by kind."""
    false_flags: Mapping[str, Counted]
    """Texts without a plant that were flagged, by kind of text; may be empty."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A share with its exact interval.

    Source: Clopper and Pearson, Biometrika 26 (1934) 404; 95 % is ours.
    """

    found: int
    of: int
    low: float
    high: float

    @classmethod
    def over(cls, counted: Counted) -> Rate:
        """Return the rate of counts; without trials the interval is all of [0, 1]."""
        low, high = clopper_pearson(counted["found"], counted["of"], CONFIDENCE)
        return cls(counted["found"], counted["of"], round(low, 4), round(high, 4))

    def __str__(self) -> str:
        if not self.of:
            return "unmeasured"
        low, high = self.low, self.high
        return f"{self.found / self.of:.3f} (95 % interval {low:.3f} to {high:.3f})"

    def data(self) -> dict[str, Any]:
        """Return the rate as JSON has it."""
        share = round(self.found / self.of, 4) if self.of else None
        found = {"found": self.found, "of": self.of, "share": share}
        return {**found, "low": self.low, "high": self.high}


def pooled(counts: Mapping[str, Counted]) -> Rate:
    """Return one rate over all kinds.

    >>> str(pooled({"exact": {"found": 50, "of": 50}, "edited": {"found": 45, "of": 50}}))
    '0.950 (95 % interval 0.887 to 0.984)'
    """
    found = sum(counted["found"] for counted in counts.values())
    return Rate.over({"found": found, "of": sum(counted["of"] for counted in counts.values())})


def power_data(power: Power) -> dict[str, Any]:
    """Return power with shares and intervals, as JSON has it, sorted by kind."""
    return {
        side: {
            "all": pooled(power[side]).data(),
            "kinds": {kind: Rate.over(power[side][kind]).data() for kind in sorted(power[side])},
        }
        for side in ("recall", "false_flags")
    }


def verdict_sentence(num_hits: int, num_dropped: int, power: Power | None) -> str:
    """Say what was found and how much could have been missed; nothing is ever called clean.

    Args:
        num_hits: rows of evidence.
        num_dropped: those of them in the classes that are dropped.
        power: what the scan measured about itself; None where it did not.

    >>> verdict_sentence(0, 0, {"recall": {"exact": {"found": 50, "of": 50}}, "false_flags": {}})
    'no hit at recall 1.000 (95 % interval 0.929 to 1.000), over 50 planted items of 1 kind'
    >>> verdict_sentence(0, 0, None)
    'no hit; recall was not measured, so nothing is said of what a scan can miss'
    >>> verdict_sentence(3, 2, None)
    '3 hits, 2 of them of a class that is dropped; recall was not measured'
    """
    measured = power is not None and any(kind["of"] for kind in power["recall"].values())
    if power is None or not measured:
        if not num_hits:
            return "no hit; recall was not measured, so nothing is said of what a scan can miss"
        return f"{_hits(num_hits, num_dropped)}; recall was not measured"
    rate = pooled(power["recall"])
    kinds = sum(kind["of"] > 0 for kind in power["recall"].values())
    over = f"over {rate.of:,} planted items of {kinds} {'kind' if kinds == 1 else 'kinds'}"
    if not num_hits:
        return f"no hit at recall {rate}, {over}"
    return f"{_hits(num_hits, num_dropped)}; recall {rate}, {over}"


def as_power(power: Mapping[str, Any] | None) -> Power | None:
    """Return power that has the shape of ``Power``; None stays None.

    Raises:
        ConfigError: ``recall`` or ``false_flags`` is missing, or a kind lacks its counts.
    """
    if power is None:
        return None
    for side in ("recall", "false_flags"):
        if side not in power:
            raise ConfigError(f"power needs 'recall' and 'false_flags', got {sorted(power)}")
        for kind, counted in power[side].items():
            if not {"found", "of"} <= counted.keys():
                raise ConfigError(
                    f"power, {side} of '{kind}': need 'found' and 'of', got {sorted(counted)}"
                )
    return {"recall": power["recall"], "false_flags": power["false_flags"]}


def _hits(num_hits: int, num_dropped: int) -> str:
    hits = f"{num_hits:,} {'hit' if num_hits == 1 else 'hits'}"
    if not num_dropped:
        return f"{hits}, none of a class that is dropped"
    return f"{hits}, {num_dropped:,} of them of a class that is dropped"
