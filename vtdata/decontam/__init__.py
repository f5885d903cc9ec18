"""Decontamination: is a benchmark in this corpus, where, show me."""
