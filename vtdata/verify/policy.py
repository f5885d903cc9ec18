"""Conventions about answers, as settings."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from vtdata.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Policy:
    """What mathematics does not decide; every default is ours."""

    percent: Literal["either", "hundredth", "unit"] = "either"
    """``28%`` is 0.28 (hundredth), 28 (unit), or both are accepted (either)."""
    units: Literal["lenient", "strict"] = "lenient"
    """Whether a unit may be missing on one side."""
    names: Literal["lenient", "strict"] = "lenient"
    """Whether ``x=3`` is 3; two different names are never the same."""
    order: Literal["ignored", "kept"] = "ignored"
    """Whether the order of a bare list ``1, 2`` means nothing; that of a tuple always does."""
    bases: Literal["lenient", "strict"] = "lenient"
    """Whether the subscript of ``2516_8`` may be missing on one side."""

    @classmethod
    def of(cls, settings: Any) -> Policy:
        """Read a policy from a verifier's spec.

        Raises:
            ConfigError: a setting or a value that there is not.
        """
        if not isinstance(settings, dict):
            raise ConfigError(f"a math policy is a mapping, got {settings!r}")
        known = {one.name: one.type for one in fields(cls)}
        for name, value in settings.items():
            if name not in known or f"'{value}'" not in str(known[name]).replace('"', "'"):
                raise ConfigError(
                    f"math policy {name}={value!r}: there are "
                    + "; ".join(f"{key} {str(kind)[7:]}" for key, kind in known.items())
                )
        return cls(**settings)


DEFAULT = Policy()
