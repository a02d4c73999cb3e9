"""Comparison of results with float64, and the distances that are allowed."""
