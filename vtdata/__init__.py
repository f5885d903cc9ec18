"""vtdata: seed questions with a way of checking the answer in, training shards out.

``vtdata.api`` holds every command as a function. Importing this package loads no model library
and starts nothing.
"""

from __future__ import annotations

__version__ = "0.1.0"
