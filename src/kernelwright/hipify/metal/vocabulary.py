"""The words that CUDA's device code and MSL have for the same things."""

from __future__ import annotations

import tomllib
from functools import cache
from typing import Any

from kernelwright.hipify.table import TABLES

BUILTINS = {
    "threadIdx": "thread_position_in_threadgroup",
    "blockIdx": "threadgroup_position_in_grid",
    "blockDim": "threads_per_threadgroup",
    "gridDim": "threadgroups_per_grid",
}
"""CUDA's variables, and the attributes of parameters that give the same in MSL."""
DYNAMIC = "DYNAMIC_BYTES"
"""The macro that gives the bytes of ``extern __shared__`` memory; the host defines it."""


@cache
def tables() -> dict[str, Any]:
    """Return the tables of metal.toml."""
    return tomllib.loads((TABLES / "metal.toml").read_text())
