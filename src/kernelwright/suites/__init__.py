"""Suites of tasks: the built-in one, readers of public ones, and randomly composed tasks."""
