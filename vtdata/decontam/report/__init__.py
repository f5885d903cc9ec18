"""What a scan found, for people and for tools: evidence, page, summary, audit card.

Evidence is a table (``vtdata.decontam.candidate.EVIDENCE``), one row for each text and item that
match. Everything else here is made from it.
"""

from __future__ import annotations

from vtdata.decontam.report.evidence import GramsOf, evidence, merge
from vtdata.decontam.report.write import json_lines, write_json, write_parquet

__all__ = ["GramsOf", "evidence", "json_lines", "merge", "write_json", "write_parquet"]
