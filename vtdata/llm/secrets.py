"""Secrets come from the environment when a call is made, and leave no trace.

What was filled in is remembered, so that any text which is about to be shown, raised or stored can
be washed of it.
"""

from __future__ import annotations

import base64
import os
import re
from urllib.parse import quote, unquote

from vtdata.errors import ConfigError

MASK = "***"
SHORTEST = 4
"""Shorter values are not secrets, and washing them would eat words (ours)."""
SHORTEST_IN_CONTENT = 8
"""Within an answer a value must be this long to be washed: numbers are answers too (ours)."""
_ENV = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")


class Secrets:
    """The values that must never be seen, and how to wash them out."""

    def __init__(self) -> None:
        self._values: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._values)

    def add(self, value: str) -> str:
        """Remember a secret in every form in which a server may send it back; return it."""
        encoded = base64.b64encode(value.encode()).decode()
        forms = {value, quote(value, safe=""), unquote(value), encoded, encoded.rstrip("=")}
        self._values |= {form for form in forms if len(form) >= SHORTEST}
        return value

    def wash(self, text: str, *, shortest: int = SHORTEST) -> str:
        """Return ``text`` with every remembered value masked, the longest first."""
        for value in sorted(self._values, key=len, reverse=True):
            if len(value) >= shortest and value in text:
                text = text.replace(value, MASK)
        return text

    def env(self, name: str, who: str) -> str:
        """The value of an environment variable, remembered.

        Raises:
            ConfigError: it isn't set.
        """
        value = os.environ.get(name)
        if not value:
            raise ConfigError(
                f"{who} needs the environment variable {name}, which is not set: export {name}=..."
            )
        return self.add(value)

    def fill(self, template: str, who: str) -> str:
        """Fill in ``${env:NAME}``."""
        return _ENV.sub(lambda found: self.env(found[1], who), template)


def has_env(template: str) -> bool:
    """Whether a setting takes something from the environment."""
    return _ENV.search(template) is not None
