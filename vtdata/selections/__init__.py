"""Selections: which queries and which rollouts to learn from, and in which set."""
