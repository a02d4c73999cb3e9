"""Builds modules that run a result's kernels in the user's own process."""
