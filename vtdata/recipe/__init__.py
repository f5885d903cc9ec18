"""Recipes: what a corpus is, top to bottom on one page."""
