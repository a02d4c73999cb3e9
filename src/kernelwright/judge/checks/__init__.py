"""The checks: each perturbs inputs or weights and compares the results with float64."""

from __future__ import annotations

from kernelwright.judge.checks.check import Check, Draw, Tolerance, WarnOnly, derive_seed
from kernelwright.judge.checks.registry import CHECKS, OTHER_SHAPES, OWN_WEIGHTS, REGISTRY, TASK

__all__ = [
    "CHECKS",
    "OTHER_SHAPES",
    "OWN_WEIGHTS",
    "REGISTRY",
    "TASK",
    "Check",
    "Draw",
    "Tolerance",
    "WarnOnly",
    "derive_seed",
]
