"""Shares of runs as text with their 95 % interval.

Source:
    Wilson, J. Am. Stat. Assoc. 22 (1927), 209.
"""

from __future__ import annotations

import math

Z = 1.96  # of a 95 % interval


def share(n_hits: int, n: int) -> str:
    """'3/10 (11–60 %)'."""
    if n == 0:
        return "0/0"
    middle = n_hits / n + Z * Z / (2 * n)
    half = math.sqrt(n_hits * (n - n_hits) / n + Z * Z / 4) * Z / n
    low, high = ((middle + sign * half) / (1 + Z * Z / n) for sign in (-1, 1))
    return f"{n_hits}/{n} ({100 * max(0.0, low):.0f}–{100 * min(1.0, high):.0f} %)"
