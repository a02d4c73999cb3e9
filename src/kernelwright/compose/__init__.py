"""Tasks composed at random, as people would write them."""

from kernelwright.compose.draws import FAMILIES, Composed, compose

__all__ = ["FAMILIES", "Composed", "compose"]
