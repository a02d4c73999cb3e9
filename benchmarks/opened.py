"""A text as a module of its own."""

from __future__ import annotations

import hashlib
import importlib.util
import types
from pathlib import Path


def opened(text: str, folder: Path) -> types.ModuleType:
    """The module, from a file that Triton reads. Its name is its own, or Python would take the last
    one's for it."""
    name = f"text_{hashlib.sha256(text.encode()).hexdigest()}"
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
