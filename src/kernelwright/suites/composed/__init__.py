"""Tasks composed at random, as people would write them."""

from kernelwright.suites.composed.draws import FAMILIES, Composed, compose

__all__ = ["FAMILIES", "Composed", "compose"]
