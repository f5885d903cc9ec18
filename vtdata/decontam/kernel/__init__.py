"""The scan: n-grams and short items of benchmarks, found in columns of text."""

from vtdata.decontam.kernel.grams import COMPILE_FROM_BYTES, MAX_SHORT, Grams, choose, prepare
from vtdata.decontam.kernel.hits import Hits, Shorts

__all__ = ["COMPILE_FROM_BYTES", "MAX_SHORT", "Grams", "Hits", "Shorts", "choose", "prepare"]
