"""The whole table: importing this module fills it."""

from kernelwright.propose.rules.lower import einsums, gathers, pointwise, reductions, views, windows
from kernelwright.propose.rules.lower.table import HANDLERS

__all__ = ["HANDLERS", "einsums", "gathers", "pointwise", "reductions", "views", "windows"]
