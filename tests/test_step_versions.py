"""A step that could give other rows must have another version."""

from __future__ import annotations

import json

import pytest

from tests.step_versions import TABLE, entry, targets

KNOWN = json.loads(TABLE.read_text())


@pytest.mark.parametrize("target", targets())
def test_a_changed_step_was_looked_at(target: str) -> None:
    assert KNOWN.get(target) == entry(target), (
        f"{target} has changed: if the same settings could now give other rows, raise its "
        "'version'; then renew the table with: python -m tests.step_versions"
    )


def test_the_table_has_no_step_that_is_gone() -> None:
    assert sorted(KNOWN) == targets()
