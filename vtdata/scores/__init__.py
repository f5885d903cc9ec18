"""Scores: a verdict per rollout, answer classes, the vote, the pass rate."""
