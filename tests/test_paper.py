from __future__ import annotations

from tests.paper_table import BEGIN, END, PAGE, rows, table


def test_the_page_says_what_the_code_does() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page.partition(BEGIN)[2].partition(END)[0].strip() == table(), (
        "PAPER.md differs from the code: renew it with python -m tests.paper_table"
    )


def test_every_default_says_where_it_is_from() -> None:
    assert [setting for setting, _, source in rows() if source == "MISSING"] == []


def test_what_the_reports_pin_is_what_they_say() -> None:
    pinned = {setting: default for setting, default, source in rows() if "p." in source}
    assert pinned["models.NAME.top_p"] == "0.95"
    assert pinned["models.NAME.temperature"] == "1.0"
    assert pinned["rollouts.sample.n"] == "8"
    assert pinned["selections.hard.min_tokens"] == "5000"
    assert pinned["selections.hard.min_error"] == "0.75"
