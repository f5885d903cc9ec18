"""The items of a benchmark out of its rows, and everything that is wrong with them said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from vtdata.decontam.benchmark import Item
from vtdata.decontam.benchmarks import cells
from vtdata.decontam.benchmarks.registry import Entry
from vtdata.decontam.dates import iso
from vtdata.errors import ConfigError
from vtdata.text import nearest

Say = Callable[[str], None]

_SHOWN_ROWS = 10


@dataclass(frozen=True, slots=True)
class Plan:
    """Which columns to read, and what to make of them."""

    where: str
    entry: Entry
    columns: list[str]
    fields: tuple[str, ...]
    key: str | None

    @property
    def top_level(self) -> list[str]:
        """The columns that a reader has to read."""
        entry = self.entry
        names = [*self.fields, *(entry.rows or {}), self.key or "", entry.date_field or ""]
        tops = [n if n in self.columns else n.partition(".")[0] for n in names if n]
        return list(dict.fromkeys(tops))


def plan_of(entry: Entry, columns: list[str], where: str, say: Say, *, key_may_lack: bool) -> Plan:
    """Decide which column holds the question, and which the row's name.

    Args:
        entry: what the registry says; without fields they are guessed from the columns' names.
        columns: those there are.
        where: the benchmark and its file, for messages.
        say: hears what was guessed.
        key_may_lack: whether rows without the names that the entry promises will do: in copies,
            and in what ships, where not everything could be verified.

    Raises:
        ConfigError: it can't be told which column holds the question.
    """
    key = entry.key or cells.key_field(columns)
    fields = entry.fields
    if not fields:
        fields = (cells.question_field(columns, where),)
        others = ", ".join(column for column in columns if column != fields[0]) or "none"
        named = f", names from '{key}'" if key else ""
        say(f"{where}: text is taken from '{fields[0]}'{named}; other columns: {others}")
    if key_may_lack and key and key.partition(".")[0] not in {*columns, key.partition(".")[2]}:
        say(f"{where} has no '{key}', so its items have no names but their numbers")
        key = None
    return Plan(where, entry, columns, tuple(fields), key)


@dataclass(slots=True)
class _Seen:
    rows: int = 0
    chosen: int = 0
    there: set[str] = field(default_factory=set)
    empty: dict[str, list[int]] = field(default_factory=dict)
    no_date: int = 0


def items_of(rows: Iterator[dict[str, Any]], plan: Plan, say: Say) -> list[Item]:
    """Return the items of all rows that count, a row's fields one after the other.

    Rows without text are left out, counted and named. Equal items stay.

    Raises:
        ConfigError: no rows, no such column, no text at all in one, or no text in a cell's kind.
    """
    entry, seen, items = plan.entry, _Seen(), list[Item]()
    for at, row in enumerate(rows):
        seen.rows += 1
        if not cells.wanted(row, entry.rows, f"{plan.where}: row {at}"):
            continue
        seen.chosen += 1
        key = _cell(row, plan.key, seen)
        date = iso(_cell(row, entry.date_field, seen))
        seen.no_date += entry.date_field is not None and date is None
        for name in plan.fields:
            text = cells.text_of(_cell(row, name, seen), f"{plan.where}: '{name}' of row {at}")
            if not text.strip():
                seen.empty.setdefault(name, []).append(at)
                continue
            own = None if key is None else str(key)
            items.append(Item(at, text, name, own, date or entry.published))
    _check(plan, seen, items)
    _tell(plan, seen, len(items), say)
    return items


def _cell(row: dict[str, Any], name: str | None, seen: _Seen) -> Any:
    if name is None:
        return None
    try:
        value = cells.pick(row, name)
    except KeyError:
        return None
    seen.there.add(name)
    return value


def _check(plan: Plan, seen: _Seen, items: list[Item]) -> None:
    entry, there = plan.entry, ", ".join(plan.columns)
    if not seen.rows:
        raise ConfigError(f"{plan.where} has no rows; a benchmark has at least one")
    if not seen.chosen:
        raise ConfigError(f"{plan.where}: none of its {seen.rows} rows is among rows={entry.rows}")
    for name in (*plan.fields, plan.key, entry.date_field):
        if name and name not in seen.there:
            hint = nearest(name, plan.columns)
            raise ConfigError(f"{plan.where} has no '{name}';{hint} its columns are {there}")
    with_text = {item.field for item in items}
    for name in plan.fields:
        if name not in with_text:
            raise ConfigError(
                f"{plan.where}: '{name}' has no text in any of {seen.chosen} rows; its columns are "
                f"{there}"
            )


def _tell(plan: Plan, seen: _Seen, num_items: int, say: Say) -> None:
    for name, rows in seen.empty.items():
        shown = ", ".join(str(row) for row in rows[:_SHOWN_ROWS])
        more = f" and {len(rows) - _SHOWN_ROWS} more" if len(rows) > _SHOWN_ROWS else ""
        say(f"{plan.where}: no text in '{name}' of {len(rows)} rows: {shown}{more}; left out")
    if seen.no_date:
        say(f"{plan.where}: {seen.no_date} rows have no date in '{plan.entry.date_field}'")
    expected = plan.entry.num_items
    if expected is not None and num_items != expected:
        say(f"{plan.where} has {num_items} items where {expected} are known: another version?")
