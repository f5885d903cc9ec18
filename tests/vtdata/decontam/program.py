"""The command with the small engine, for tests that need a process: ``python -m`` this."""

from __future__ import annotations

import os

import vtdata.decontam.engine
import vtdata.decontam.inputs.jsonl
import vtdata.decontam.inputs.parquet
from tests.vtdata.decontam import double

UNIT = "VTDATA_TEST_UNIT_BYTES"

if __name__ == "__main__":
    from vtdata.cli import main

    vtdata.decontam.engine.default_engine = double.engine
    if os.environ.get(UNIT):
        size = int(os.environ[UNIT])
        vtdata.decontam.inputs.parquet.UNIT_BYTES = size
        vtdata.decontam.inputs.jsonl.UNIT_BYTES = size
    main()
