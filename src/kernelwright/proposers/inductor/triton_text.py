"""Converts generated Triton into kernels, helpers and launches without Inductor's runtime."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.core.syntax import parse, parse_expression
from kernelwright.proposers.inductor.wanted import GeneratedKernel, Made, NotStandalone

NUMELS = {"Grid1D": ("x",), "Grid2D": ("x", "y"), "Grid3D": ("x", "y", "z")}
"""Dimensions of a launch, by Inductor's name of the grid."""
IMPORTS = (
    "import triton",
    "import triton.language as tl",
    "from triton.language import math as tl_math",
    "from triton.language.extra import libdevice",
)
HELPERS = "triton_helpers"


@dataclass(frozen=True)
class TritonKernel:
    """A kernel with the block sizes that Inductor chose for it."""

    parameters: tuple[str, ...]
    grid: tuple[str, ...]
    config: Mapping[str, int]

    def launched(self, call: ast.Call) -> ast.expr:
        assert isinstance(call.func, ast.Attribute)  # NAME.run
        given = dict(zip(self.parameters, call.args, strict=False))
        blocks = []
        for letter in self.grid:
            n, block = (
                ast.unparse(given[f"{letter}numel"]),
                self.config.get(f"{letter.upper()}BLOCK", 1),
            )
            blocks.append(f"triton.cdiv({n}, {block})")
        grid = parse_expression(f"({', '.join(blocks)},)")
        keywords = [
            ast.keyword(name, ast.Constant(value))
            for name, value in self.config.items()
            if name in self.parameters or name in ("num_warps", "num_stages")
        ]
        return ast.Call(ast.Subscript(call.func.value, grid), call.args, keywords)


def triton_kernels(sources: Mapping[str, str], configs: Mapping[str, Mapping[str, int]]) -> Made:
    """Return the kernels' text with the functions that they use, and how each is launched.

    Raises:
        NotStandalone: a grid is of an unknown kind, or a kernel was never tuned.
    """
    kernels: dict[str, GeneratedKernel] = {}
    texts: list[str] = []
    for name, source in sources.items():
        grid = re.search(r"'grid_type': '(\w+)'", source)
        if grid is None or grid.group(1) not in NUMELS or name not in configs:
            raise NotStandalone(f"{name}: {grid.group(1) if grid else 'no grid'}")
        function = next(n for n in parse(source).body if isinstance(n, ast.FunctionDef))
        parameters = tuple(each.arg for each in function.args.args)
        kernels[name] = TritonKernel(parameters, NUMELS[grid.group(1)], configs[name])
        function.decorator_list = [parse_expression("triton.jit")]
        texts.append(ast.unparse(function))
    used = _used_functions("\n".join(texts))
    text = "\n\n\n".join([*used, *texts])
    text = re.sub(rf"\b{HELPERS}\.", "", text)
    wanted = [line for line in IMPORTS if f"{line.split()[-1]}." in text]
    return Made(kernels, tuple(wanted), text)


def _used_functions(text: str) -> list[str]:
    """Return Inductor's helper functions that the kernels use, directly or indirectly, by name."""
    from torch._inductor.runtime import triton_helpers

    found: dict[str, str] = {}
    open_names = re.findall(rf"\b{HELPERS}\.(\w+)", text)
    while open_names:
        name = open_names.pop()
        function = getattr(getattr(triton_helpers, name), "fn", None)
        if name in found or function is None:
            continue
        found[name] = re.sub(r"\bmath\.", "tl_math.", inspect.getsource(function)).strip()
        used = {n.id for n in ast.walk(parse(found[name])) if isinstance(n, ast.Name)}
        open_names += [n for n in used if hasattr(getattr(triton_helpers, n, None), "fn")]
    return [found[name] for name in sorted(found)]
