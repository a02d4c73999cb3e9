"""The whole table of handlers: importing this module fills it."""

from kernelwright.compiler.lower import (
    attention,
    einsums,
    gathers,
    pointwise,
    reductions,
    top,
    views,
    windows,
)
from kernelwright.compiler.lower.table import HANDLERS

__all__ = [
    "HANDLERS",
    "attention",
    "einsums",
    "gathers",
    "pointwise",
    "reductions",
    "top",
    "views",
    "windows",
]
