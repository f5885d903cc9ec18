"""Rollouts: sampled responses."""
