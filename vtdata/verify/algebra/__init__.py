"""Mathematical expressions: read, put into a canonical form, evaluated at points; no I/O.

Everything here is bounded: an expression that is too large is not read, never waited for.
"""
