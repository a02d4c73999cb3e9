"""Algebraic rewriting of captured graphs: rules are rows of a table, the engine reads them."""

from kernelwright.compiler.rewrite.engine import rewrite
from kernelwright.compiler.rewrite.table import (
    BIASES,
    CAPPED,
    IMAGES_TOO,
    LAYOUTS,
    ONE_TAP,
    ORDINARY,
    RELUS,
    ROUNDED,
    RULES,
    STEPS,
    Rule,
)

__all__ = [
    "BIASES",
    "CAPPED",
    "IMAGES_TOO",
    "LAYOUTS",
    "ONE_TAP",
    "ORDINARY",
    "RELUS",
    "ROUNDED",
    "RULES",
    "STEPS",
    "Rule",
    "rewrite",
]
