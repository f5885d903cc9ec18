"""Every model call of a run: client, generation store, budget.

The names below are loaded when they are first asked for, so that checking a recipe, which needs
``vtdata.llm.model`` alone, loads neither aiohttp nor pyarrow's codecs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vtdata.llm.client import Client
    from vtdata.llm.files import remove_store
    from vtdata.llm.ledger import Budget, Ledger, Spent
    from vtdata.llm.store import Store, open_store

_HOMES = {
    "Client": "client",
    "Budget": "ledger",
    "Ledger": "ledger",
    "Spent": "ledger",
    "Store": "store",
    "open_store": "store",
    "remove_store": "files",
}

__all__ = ["Budget", "Client", "Ledger", "Spent", "Store", "open_store", "remove_store"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'vtdata.llm' has no attribute {name!r}")
    return getattr(import_module(f"vtdata.llm.{_HOMES[name]}"), name)
