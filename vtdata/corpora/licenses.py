"""Which of two licenses is the stricter.

The rule: public domain, then licenses that ask for attribution, then share-alike and weak
copyleft, then strong copyleft, then noncommercial, then no derivatives; whatever is not in the
table is strictest, since nobody can say what it allows. Within a rank the table's order decides.
Two unknown ones are joined: both bind.
"""

from __future__ import annotations

from collections.abc import Iterable

BY_STRICTNESS = (
    # public domain
    "CC0-1.0", "PDDL-1.0", "Unlicense", "0BSD",
    # attribution
    "MIT", "MIT-0", "ISC", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0",
    "CDLA-Permissive-1.0", "CDLA-Permissive-2.0", "ODC-By-1.0",
    "CC-BY-2.0", "CC-BY-2.5", "CC-BY-3.0", "CC-BY-4.0",
    # share-alike and weak copyleft
    "MPL-2.0", "LGPL-2.1-only", "LGPL-2.1-or-later", "LGPL-3.0-only", "LGPL-3.0-or-later",
    "CDLA-Sharing-1.0", "ODbL-1.0",
    "CC-BY-SA-2.0", "CC-BY-SA-2.5", "CC-BY-SA-3.0", "CC-BY-SA-4.0",
    # strong copyleft
    "GPL-2.0-only", "GPL-2.0-or-later", "GPL-3.0-only", "GPL-3.0-or-later",
    "AGPL-3.0-only", "AGPL-3.0-or-later",
    # noncommercial
    "CC-BY-NC-3.0", "CC-BY-NC-4.0", "CC-BY-NC-SA-3.0", "CC-BY-NC-SA-4.0",
    # no derivatives
    "CC-BY-ND-4.0", "CC-BY-NC-ND-3.0", "CC-BY-NC-ND-4.0",
)  # fmt: skip
"""SPDX ids, the freest first (ours)."""

_RANK = {name.casefold(): rank for rank, name in enumerate(BY_STRICTNESS)}


def strictest(licenses: Iterable[str]) -> str:
    """Return the strictest of some licenses, in whatever order they come.

    >>> strictest(["CC-BY-NC-4.0", "mit", "CC-BY-SA-4.0"])
    'CC-BY-NC-4.0'
    >>> strictest(["MIT", "Their Terms"])
    'Their Terms'
    """
    distinct = sorted({name.strip() for name in licenses})
    unknown = [name for name in distinct if name.casefold() not in _RANK]
    if unknown:
        return " AND ".join(unknown)
    return max(distinct, key=lambda name: (_RANK[name.casefold()], name))
