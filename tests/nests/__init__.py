"""Programs of the loop language that every emitter must get right, small and odd-sized.

An emitter's test runs each of them under its schedules and compares with ``interpret``.
"""

from tests.nests import pointwise, rows  # they register their programs
from tests.nests.notation import CASES
from tests.nests.products import plain_product, product

__all__ = ["CASES", "plain_product", "pointwise", "product", "rows"]
