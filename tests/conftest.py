"""What all tests share."""

from __future__ import annotations

from hypothesis import settings

# Hypothesis limits each example to 200 ms of wall-clock time, which a loaded machine exceeds.
settings.register_profile("vtdata", deadline=None)
settings.load_profile("vtdata")
