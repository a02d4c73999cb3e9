"""Names in emitted CUDA: those of reductions, and those that emitted values cannot have."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from kernelwright.compiler.codegen.gpu.names import Names
from kernelwright.compiler.ir.ops import Nest, with_tensors_named
from kernelwright.compiler.ir.sizes import NAMES

RESERVED = (
    *NAMES,
    "row", "column", "lane", "item", "live", "place", "start", "position", "INF", "NAN", "DEVICE",
    "THREADS", "ROWS", "COLUMNS", "ITEMS", "LANES", "HEIGHT", "POINTS", "threadIdx", "blockIdx",
    "gridDim", "blockDim", "maximum", "minimum", "exp", "log", "float16", "bfloat16", "double",
    "int", "long", "short", "signed", "unsigned", "char", "bool", "const", "auto", "struct", "put",
    "void", "template", "typename", "case", "switch", "do", "default", "new", "delete", "this",
    "union", "volatile", "part", "exchange", "float", "GROUPS", "next", "program",
    "register", "inline", "static", "operator", "y0", "y1", "yn", "j0", "j1",
    "jn", "sum", "pow", "sin", "cos", "tanh", "erf", "floor", "ceil", "round", "trunc", "fmod",
)  # fmt: skip
"""C++ keywords, functions of CUDA's library, and names that the emitted statements use."""

COMBINE = {"sum": "Sum", "prod": "Product", "max": "Maximum", "min": "Minimum", "any": "Any",
           "all": "All", "argmax": "FirstGreatest", "argmin": "FirstLeast"}  # fmt: skip


def spelled(step: Nest, words: Collection[str]) -> Nest:
    """Return ``step`` with other names for the tensors that are called like one of ``words``: a
    module's arguments and attributes may be called anything."""
    tensors = {tensor.name for tensor in (*step.reads, *step.writes)}
    names = Names([*words, *tensors])
    other = {name: names.new(name) for name in sorted(tensors & set(words))}
    if not other:
        return step

    return with_tensors_named(step, lambda t: replace(t, name=other.get(t.name, t.name)))
