"""The share of votes that a label needs, from questions whose answer is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import pyarrow as pa
from pydantic import Field

from vtdata.intervals import clopper_pearson
from vtdata.records import Query
from vtdata.records import Vote as VoteRecord
from vtdata.steps import Context, Global, step
from vtdata.verify.calibrate import Point, as_text, choose_threshold, curve

if TYPE_CHECKING:
    import polars as pl

REST = "(rest)"
"""The pool of the groups that are too small for a threshold of their own."""
CALIBRATION = pa.schema(
    [
        ("pool", pa.string()),
        ("threshold", pa.float64()),
        ("chosen", pa.bool_()),
        ("winners", pa.int64()),
        ("right", pa.int64()),
        ("questions", pa.int64()),
        ("precision", pa.float64()),
        ("at_least", pa.float64()),
        ("at_most", pa.float64()),
        ("coverage", pa.float64()),
    ]
)
Trait = Literal["domain", "subdomain", "source", "answer_type"]


def _domain_and_type() -> list[Trait]:
    return ["domain", "answer_type"]


@step
class Calibrate(Global):
    """Let a vote's label stand only where votes with such a share were right often enough.

    Stands behind ``vote``. Queries with a reference are the sample: they voted as the others did,
    and the vote saw no reference. Their winners, right or wrong by the verdict that ``verify``
    gave, make a curve of precision by share, per group of ``by``; from it comes the group's
    threshold (see ``vtdata.verify.calibrate.choose_threshold``). A label below it is withdrawn and
    its query dropped. What ``vote`` asks for holds as well: its ``min_votes``, and its shares as
    the lowest thresholds that can come out, so they may be low when this step follows.

    A group with fewer than ``min_group`` winners of known answer shares one pool, ``(rest)``, with
    the other small ones; the bound then holds for the pool and not for each of them. A group with
    none at all gets no label. A winner that nobody could judge counts as wrong.

    The promise: in at most ``1 - confidence`` of corpora is the true precision of a pool's labels
    below the target. It is one promise per pool. It rests on queries that are alike: those without
    a reference must resemble those with one, of the same sources, say, with the reference hidden
    at random, and no two may be copies. Where the open questions are harder, precision is lower
    than promised, and nothing in the data shows it.

    Reads ``vote``, and for queries with a reference the verdicts of its set. Logs the curves into
    the table ``calibration``; ``decisions/STEP.parquet`` holds each query's group, pool, share and
    threshold, and ``show`` prints the curves from it. Notes ``golds_right``, ``golds_wrong``,
    ``golds_unjudged`` (they are among the wrong), ``labeled``. Memory: about 300 MB per million
    queries.

    Drops queries, of verifier ``vote`` only: ``below_threshold``, ``no_threshold`` (no share of
    its pool reaches the target), ``no_vote`` (the label is not of this vote).

    Source: ours; the papers label by majority without a measured precision. The bounds are
    Clopper and Pearson's, the choice is fixed sequence testing (arXiv:2110.01052).
    """

    of: str | None = None
    """The rollout set that voted; None where there is only one."""
    target_precision: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """Share of right labels among a pool's labels, in (0, 1) (ours)."""
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """How sure to be of it, in (0, 1) (ours)."""
    by: list[Trait] = Field(default_factory=_domain_and_type)
    """What makes a group: each combination has its own threshold (ours)."""
    min_group: Annotated[int, Field(ge=1)] = 100
    """Fewest winners of known answer for a threshold of one's own (ours)."""

    needs = ("verdicts", "vote")
    gives = ("vote",)
    reasons = ("below_threshold", "no_threshold", "no_vote")
    tables: ClassVar[dict[str, pa.Schema]] = {"calibration": CALIBRATION}
    columns: ClassVar[dict[str, pa.DataType]] = {
        "group": pa.string(),
        "open": pa.bool_(),
        "share": pa.float64(),
        "right": pa.bool_(),
        "judged": pa.bool_(),
    }

    def observe(self, query: Query, ctx: Context) -> tuple[Any, ...] | None:
        del ctx
        vote = query.vote
        if vote is None or (self.of is not None and vote.set != self.of):
            return None
        is_open = query.verifier.kind == "vote"
        if is_open and (query.answer is None or query.answer != vote.answer):
            return None
        reward = None if is_open else _reward(query, vote)
        right = None if is_open or vote.answer is None else reward == 1.0
        return self._group(query, vote), is_open, vote.share, right, reward is not None

    def _group(self, query: Query, vote: VoteRecord) -> str:
        holders = {"answer_type": vote}
        values = [getattr(holders.get(name, query), name) or "none" for name in self.by]
        return "/".join(values) or "all"

    def decide(self, table: pl.DataFrame, ctx: Context) -> pl.DataFrame:
        del ctx
        import polars as pl

        is_gold = ~pl.col("open")
        winners = (is_gold & pl.col("right").is_not_null()).sum().over("group")
        small = winners.is_between(1, self.min_group - 1)
        pooled = table.with_columns(
            pool=pl.when(small).then(pl.lit(REST)).otherwise(pl.col("group"))
        )
        counted = pl.DataFrame(
            self._points(pooled),
            schema={
                "pool": pl.String,
                "share": pl.Float64,
                "winners": pl.Int64,
                "num_right": pl.Int64,
                "questions": pl.Int64,
                "chosen": pl.Boolean,
            },
            orient="row",
        )
        thresholds = counted.filter("chosen").select("pool", threshold="share")
        first = pl.col("id").min().over("pool", "share", pl.col("right").is_null())
        return (
            pooled.join(counted, on=["pool", "share"], how="left")
            .join(thresholds, on="pool", how="left")
            .with_columns(speaks=pl.col("right").is_not_null() & (pl.col("id") == first))
            .sort("id")
        )

    def _points(self, pooled: pl.DataFrame) -> list[tuple[Any, ...]]:
        """The curves of all pools, point by point."""
        found: list[tuple[Any, ...]] = []
        for (name,), rows in pooled.filter(~pooled["open"]).group_by("pool"):
            won = rows.filter(rows["right"].is_not_null())
            points = curve(
                zip(won["share"].to_list(), won["right"].to_list(), strict=True), len(rows)
            )
            chosen = choose_threshold(points, self.target_precision, self.confidence)
            found += [
                (name, p.threshold, p.num_kept, p.correct, p.total, p == chosen) for p in points
            ]
        return found

    def apply(self, query: Query, row: dict[str, Any] | None, ctx: Context) -> None:
        if row is not None and not row["open"]:
            self._tell(row, ctx)
        if query.verifier.kind != "vote":
            return
        if row is None:
            query.drop("calibrate", "no_vote", f"the label is not of a vote of set '{self.of}'")
        elif row["threshold"] is None:
            detail = f"no share of {row['pool']} reaches {self.target_precision:g}"
            query.drop("calibrate", "no_threshold", detail)
        elif row["share"] < row["threshold"]:
            detail = f"{row['share']:.3f}, {row['pool']} asks for {row['threshold']:.3f}"
            query.drop("calibrate", "below_threshold", detail)
        else:
            ctx.note("labeled", 1)

    def _tell(self, row: dict[str, Any], ctx: Context) -> None:
        """Count a query with a reference, and log its point of the curve if it is the first."""
        if row["right"] is None:
            return
        ctx.note("golds_right" if row["right"] else "golds_wrong", 1)
        if not row["judged"]:
            ctx.note("golds_unjudged", 1)
        if not row["speaks"]:
            return
        point = Point(row["share"], row["winners"], row["num_right"], row["questions"])
        low, high = clopper_pearson(point.correct, point.num_kept, self.confidence)
        ctx.log(
            "calibration",
            {
                "pool": row["pool"],
                "threshold": point.threshold,
                "chosen": row["chosen"],
                "winners": point.num_kept,
                "right": point.correct,
                "questions": point.total,
                "precision": point.precision,
                "at_least": low,
                "at_most": high,
                "coverage": point.coverage,
            },
        )


def _reward(query: Query, vote: VoteRecord) -> float | None:
    """What ``verify`` said of the winner; None where there is none, or nobody could judge it."""
    for rollout in query.rollouts:
        verdict = rollout.verdict
        if rollout.set == vote.set and verdict is not None and verdict.answer == vote.answer:
            return verdict.reward
    return None


def show(decisions: Path | str, confidence: float = 0.95) -> str:
    """Return the curves of a ``decisions/STEP.parquet`` of ``Calibrate`` as text for people."""
    import polars as pl

    table = pl.read_parquet(decisions, glob=False).filter("speaks")
    blocks = []
    for (pool,), rows in table.sort("pool", "share", descending=[False, True]).group_by(
        "pool", maintain_order=True
    ):
        points = [
            Point(row["share"], row["winners"], row["num_right"], row["questions"])
            for row in rows.iter_rows(named=True)
        ]
        chosen = [point for point in points if point.threshold == rows["threshold"][0]]
        blocks.append(f"{pool}\n{as_text(points, confidence, chosen[0] if chosen else None)}")
    return "\n\n".join(blocks)
