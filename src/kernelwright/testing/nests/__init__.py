"""Programs of the loop language that every emitter must get right, small and odd-sized.

An emitter's test runs each of them under its schedules and compares with ``interpret``.
"""

from kernelwright.testing.nests import pointwise, rows  # they register their programs
from kernelwright.testing.nests.notation import CASES
from kernelwright.testing.nests.products import plain_product, product

__all__ = ["CASES", "plain_product", "pointwise", "product", "rows"]
