"""Verification of one candidate: its calls are checked, before timing and during it."""
