"""What a scan found, for people and for tools: evidence, page, summary, audit card.

Evidence is a table (``vtdata.decontam.candidate.EVIDENCE``), one row for each text and item that
match. Everything else here is made from it.
"""

from __future__ import annotations

from vtdata.decontam.report.card import HashedFile, card, write_card
from vtdata.decontam.report.check import Finding, verify_card
from vtdata.decontam.report.evidence import GramsOf, evidence, merge
from vtdata.decontam.report.markdown import card_markdown
from vtdata.decontam.report.page import write_html
from vtdata.decontam.report.power import Counted, Power
from vtdata.decontam.report.refuse import refuse_text, without_text
from vtdata.decontam.report.terminal import summary
from vtdata.decontam.report.write import json_lines, write_json, write_parquet

__all__ = [
    "Counted",
    "Finding",
    "GramsOf",
    "HashedFile",
    "Power",
    "card",
    "card_markdown",
    "evidence",
    "json_lines",
    "merge",
    "refuse_text",
    "summary",
    "verify_card",
    "without_text",
    "write_card",
    "write_html",
    "write_json",
    "write_parquet",
]
