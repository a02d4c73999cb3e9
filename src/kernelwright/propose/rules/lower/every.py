"""The whole table: importing this module fills it."""

from kernelwright.propose.rules.lower import (
    attention,
    einsums,
    gathers,
    pointwise,
    reductions,
    views,
    windows,
)
from kernelwright.propose.rules.lower.table import HANDLERS

__all__ = [
    "HANDLERS",
    "attention",
    "einsums",
    "gathers",
    "pointwise",
    "reductions",
    "views",
    "windows",
]
