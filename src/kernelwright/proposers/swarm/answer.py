"""A model's answer taken apart: performance analysis, algorithm design, code.

Source:
    The three parts: CUDA-L1, arXiv 2507.14111, the prompt of its contrastive training.
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
    """The code of an answer, or what is wrong with its form."""

    code: str = ""
    fault: str = ""
    """Empty where there is code. The prose before the code is not judged: it decides nothing."""


def read(answer: str, dialect: str) -> Read:
    """The last whole block of Python code in ``answer``: it must define ``ModelNew``, and be in
    ``dialect`` unless that is 'torch'. A kernel in Triton must be launched: a small model copies
    one from its prompt, and calls the library."""
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
