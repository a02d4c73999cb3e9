"""The checks: each perturbs inputs or weights and compares the results with float64."""

from __future__ import annotations

from kernelwright.judge.checks.check import Check, Tolerance, WarnOnly
from kernelwright.judge.checks.draws import Draw
from kernelwright.judge.checks.registry import CHECKS, REGISTRY
from kernelwright.judge.checks.weights import OTHER_SHAPES, OWN_WEIGHTS, TASK
from kernelwright.judge.perturb.seeds import derive_seed

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
