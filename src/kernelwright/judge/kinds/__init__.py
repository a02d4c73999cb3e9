"""Whose code ran during a candidate's calls, seen from outside."""
