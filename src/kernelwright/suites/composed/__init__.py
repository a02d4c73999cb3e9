"""Randomly composed tasks, written the way people write them."""

from kernelwright.suites.composed.draws import FAMILIES, Composed, compose

__all__ = ["FAMILIES", "Composed", "compose"]
