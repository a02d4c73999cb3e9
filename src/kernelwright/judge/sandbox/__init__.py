"""Isolated processes: how they are made, confined, talked to, stopped and read."""
