"""Timed calls: when they are made, how many, and what else the machine did meanwhile."""
