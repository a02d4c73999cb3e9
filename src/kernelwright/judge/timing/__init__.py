"""Rounds of timed calls, and what they gave."""
