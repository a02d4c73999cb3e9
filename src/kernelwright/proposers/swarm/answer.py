"""Reads a model's answer, which has three parts: performance analysis, algorithm design and code.

Source:
    CUDA-L1, arXiv 2507.14111: the prompt of its contrastive training has these three parts.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from kernelwright.core import plugins
from kernelwright.core.syntax import UNREADABLE, parse
from kernelwright.dialects.base import Dialect
from kernelwright.dialects.triton import launches

ENTRY = "ModelNew"
_THOUGHTS = re.compile(r"^.*</think>", re.S)
_BLOCK = re.compile(r"^[ \t]*```[ \t]*(\w*)[^\n]*\n(.*?)^[ \t]*```[ \t]*$", re.S | re.M)


@dataclass(frozen=True)
class Read:
    """The code of an answer, or what is wrong with the answer's form."""

    code: str = ""
    fault: str = ""
    """Empty if there is code. The prose before the code is ignored."""


def read(answer: str, dialect: str) -> Read:
    """Extract the last complete block of Python code from ``answer``.

    The code must define ``ModelNew`` and, unless ``dialect`` is 'torch', contain a kernel in the
    dialect. A Triton kernel must also be launched, since small models copy one from their prompt
    and then call the library.
    """
    said = _THOUGHTS.sub("", answer)
    blocks = [text for language, text in _BLOCK.findall(said) if language in ("python", "py", "")]
    blocks = [text for text in blocks if text.strip()]
    if not blocks:
        opened = "```" in said
        return Read(fault="its block of code is never closed" if opened else "it has no code")
    wanted = [text for text in blocks if f"class {ENTRY}" in text]
    if not wanted:
        return Read(fault=f"its code defines no class {ENTRY}")
    code = wanted[-1].strip("\n") + "\n"
    try:
        tree = parse(code)
    except UNREADABLE as error:
        return Read(fault=f"its code is not Python: {error}")
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    if ENTRY not in classes:
        return Read(fault=f"its code defines no class {ENTRY} at the top level")
    if dialect != "torch" and not _recognises(dialect, tree):
        return Read(fault=f"its code has no kernel in {dialect}")
    if dialect == "triton" and not launches(tree):
        return Read(fault="its code launches no kernel of its own")
    return Read(code)


def _recognises(dialect: str, tree: ast.Module) -> bool:
    found: Dialect = plugins.find("kernelwright.dialects", dialect)
    return found.recognises(tree)
