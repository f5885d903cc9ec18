"""Queries worth asking."""
