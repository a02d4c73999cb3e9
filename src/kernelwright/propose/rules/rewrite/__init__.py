"""Algebraic rewriting of captured graphs: rules are rows of a table, the engine reads them."""

from kernelwright.propose.rules.rewrite.engine import rewrite
from kernelwright.propose.rules.rewrite.table import LAYOUTS, RULES, Rule

__all__ = ["LAYOUTS", "RULES", "Rule", "rewrite"]
