"""Which came first, the row or the item; what isn't known is undated."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtdata.decontam.dates import UNUSED, bounds, compare, effective, iso
from vtdata.decontam.releases import released
from vtdata.errors import ConfigError


@pytest.mark.parametrize(
    ("item", "row", "order"),
    [
        ("2025-02-06", "2025-02-05", "predates"),
        ("2025-02-06", "2025-02-06", "postdates"),  # the row may have been written that evening
        ("2025-02-06", "2025-02-07", "postdates"),
        ("2025-02", "2025-01-31", "predates"),
        ("2025-02", "2025-02-28", "postdates"),
        ("2025-02", "2025-02-27", "undated"),  # the item may be of the 28th, or of the 1st
        ("2025-02-06", "2025-02", "undated"),
        ("2025-02-06", "2024", "predates"),
        ("2025", "2025", "undated"),
        (None, "2025", "undated"),
        ("2025", None, "undated"),
    ],
)
def test_order(item: str | None, row: str | None, order: str) -> None:
    assert compare(item, row) == order


days = st.dates(date(2015, 1, 1), date(2030, 12, 31))
partial = st.sampled_from([4, 7, 10])


@given(days, days, partial, partial)
def test_what_a_partial_date_says_is_never_false(
    item: date, row: date, item_chars: int, row_chars: int
) -> None:
    exact = "predates" if row < item else "postdates"
    said = compare(item.isoformat()[:item_chars], row.isoformat()[:row_chars])
    assert said in (exact, "undated")
    assert said == exact or min(item_chars, row_chars) < 10


@given(days, partial)
def test_a_date_lies_within_its_bounds(day: date, chars: int) -> None:
    first, last = bounds(day.isoformat()[:chars])
    assert first <= day <= last
    spans = {4: timedelta(days=366), 7: timedelta(days=31), 10: timedelta(days=1)}
    assert last - first < spans[chars]


@pytest.mark.parametrize(
    ("parts", "day"),
    [
        (("2019-05-01", UNUSED, UNUSED, UNUSED), "2019-05-01"),
        (("2019", "2024-09-19", "2025-01-20", UNUSED), "2025-01-20"),
        (("2025", UNUSED, "2025-01-20", UNUSED), "2025"),  # the source may be of December
        (("2019", UNUSED, "2025-01-20", "2025-08-05"), "2025-08-05"),
        (("2019", UNUSED, "2025-01-20", None), None),  # a judge nobody knows may be the latest
        ((None, UNUSED, "2025-01-20", UNUSED), None),
        ((UNUSED, UNUSED, "2025-01-20", UNUSED), "2025-01-20"),
    ],
)
def test_effective_is_the_latest(parts: tuple[str | None, ...], day: str | None) -> None:
    assert effective(*parts) == day


def test_effective_needs_something() -> None:
    with pytest.raises(ConfigError, match="a row has a source at least"):
        effective(UNUSED)


@pytest.mark.parametrize("text", ["2025-13", "2025-02-30", "25", "2025-2", "soon", ""])
def test_no_date(text: str) -> None:
    with pytest.raises(ConfigError, match="write YYYY, YYYY-MM or YYYY-MM-DD"):
        bounds(text)
    assert iso(text) is None


def test_dates_of_cells() -> None:
    assert iso(datetime(2025, 1, 4, 10, 30)) == "2025-01-04"
    assert iso(date(2025, 1, 4)) == "2025-01-04"
    assert iso("2025-01-04 10:30:00") == "2025-01-04"
    assert iso(20250104) is None


@pytest.mark.parametrize(
    ("model", "day"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", "2024-09-19"),
        ("Qwen/Qwen2.5-Math-1.5B", "2024-09-19"),
        ("Qwen/Qwen2.5-VL-7B-Instruct", None),
        ("Qwen/Qwen3-8B", "2025-04-29"),
        ("Qwen/Qwen3-30B-A3B-Thinking-2507", "2025-07"),
        ("Qwen/Qwen3-8B-AWQ", "2025-04-29"),
        ("deepseek-ai/DeepSeek-R1", "2025-01-20"),
        ("deepseek-ai/DeepSeek-R1-0528", "2025-05-28"),
        ("openai/gpt-oss-120b", "2025-08-05"),
        ("WeiboAI/VibeThinker-1.5B", "2025-11"),
        ("HuggingFaceTB/SmolLM2-135M-Instruct", "2024-11"),
        ("someone/Qwen3-8B-finetuned", None),
        ("qwen3", None),
    ],
)
def test_releases(model: str, day: str | None) -> None:
    assert released(model) == day
