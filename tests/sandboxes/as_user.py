"""Run the contract's programs in the local sandbox as the user who runs this, without pytest.

    python -m tests.sandboxes.as_user LEVEL

For a test that is root and wants to know how a normal user fares: it needs an interpreter that such
a user can read, which rarely has pytest. Prints a line per program that did not end as it should,
and last how many did.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.sandboxes.hostile import REACHING
from tests.sandboxes.lasting import LASTING
from tests.sandboxes.programs import HONEST, check
from vtdata import sandbox


async def main(level: str) -> None:
    backend = type(sandbox.load("local", Path(__file__).parent))
    lacks = {"disk"} if level == "landlock" else set()
    programs = [p for p in (*HONEST, *LASTING, *REACHING) if p.stops not in lacks]
    async with backend(levels=[level], python=sys.executable, parallel=4) as box:
        runs = [box.run(p.source, [p.stdin], p.limits) for p in programs]
        outcomes = [outcome for (outcome,) in await asyncio.gather(*runs)]
    good = 0
    for program, outcome in zip(programs, outcomes, strict=True):
        try:
            assert outcome.isolation == level
            check(program, outcome)
            good += 1
        except AssertionError as error:
            print(error)
    print(f"{good} good")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
