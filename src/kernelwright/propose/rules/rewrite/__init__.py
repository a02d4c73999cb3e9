"""Algebraic rewriting of captured graphs: rules are rows of a table, the engine reads them."""

from kernelwright.propose.rules.rewrite.engine import rewrite
from kernelwright.propose.rules.rewrite.table import (
    BIASES,
    IMAGES_TOO,
    LAYOUTS,
    ORDINARY,
    RULES,
    STEPS,
    Rule,
)

__all__ = ["BIASES", "IMAGES_TOO", "LAYOUTS", "ORDINARY", "RULES", "STEPS", "Rule", "rewrite"]
