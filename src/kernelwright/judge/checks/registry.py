"""The registry: all checks, in the order in which a candidate meets them."""

from __future__ import annotations

from kernelwright.judge.checks.check import Check
from kernelwright.judge.checks.integers import INTEGERS, NUMBERS
from kernelwright.judge.checks.specials import SPECIALS
from kernelwright.judge.checks.values import STRUCTURE, VALUES
from kernelwright.judge.checks.weights import OTHER_SHAPES, OWN_WEIGHTS, TASK, WEIGHTS

FAMILIES: dict[str, tuple[Check, ...]] = {
    "Own inputs": (OWN_WEIGHTS, TASK, OTHER_SHAPES),
    "Other weights": WEIGHTS,
    "Other integers": INTEGERS,
    "Structure among floating-point inputs": STRUCTURE,
    "Other Python numbers": (NUMBERS,),
    "Other floating-point inputs": VALUES,
    "Ends of the range": SPECIALS,
}
REGISTRY = tuple(check for family in FAMILIES.values() for check in family)
CHECKS = {check.id: check for check in REGISTRY}
AFTER_OWN = tuple(check for check in REGISTRY if check not in FAMILIES["Own inputs"])
"""The checks that come after the task's own inputs and shapes."""
PLAIN = frozenset({TASK, *VALUES})
"""Checks on whose inputs calls are repeated, to see whether results repeat."""
