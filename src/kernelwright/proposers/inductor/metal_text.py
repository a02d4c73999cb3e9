"""Converts generated MSL into one text that ``torch.mps.compile_shader`` takes, and dispatches."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.proposers.inductor.wanted import GeneratedKernel, Made

_HEADERS = re.compile(r"''', \[([^\]]*)\]\)")
LIBRARY = "LIBRARY"


@dataclass(frozen=True)
class MetalKernel:
    """A kernel of the one library."""

    name: str

    def launched(self, call: ast.Call) -> ast.expr:
        call.func = ast.Attribute(ast.Name(LIBRARY, ast.Load()), self.name, ast.Load())
        return call


def metal_kernels(sources: Mapping[str, str], code: str) -> Made:
    """Return all kernels as one text; ``code`` names the headers of c10 that they need."""
    named = re.findall(r"'(\w+)'", " ".join(_HEADERS.findall(code)))
    head = "".join(f"#include <c10/metal/{name}.h>\n" for name in sorted(set(named)))
    texts = [textwrap.dedent(source).strip() for source in sources.values()]
    whole = "\n\n".join([f"#include <metal_stdlib>\n{head}", *texts])
    text = f'SOURCE = """\n{whole}\n"""\n{LIBRARY} = torch.mps.compile_shader(SOURCE)'
    kernels: dict[str, GeneratedKernel] = {name: MetalKernel(name) for name in sources}
    return Made(kernels, (), text if sources else "")
