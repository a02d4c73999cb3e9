"""The description of a module that a child is asked to build, and how its source is loaded."""

from __future__ import annotations

import importlib.util
import itertools
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.judge.sandbox.entries import Path as EntryPath


@dataclass(frozen=True)
class LibrarySetup:
    """The set-up of the reference under a library setting. It is trusted; no candidate has one."""

    payload: bytes | None = None
    """Data that the task's text refers to as ``PAYLOAD``."""
    folder: str = ""
    """The folder in the scratch that its file is written to, for the judge to remove."""
    import_roots: tuple[str, ...] = ()
    precision: str = ""
    """The reduced precision to run in; empty: its own."""
    is_held: bool = False
    """True if weights are kept in that precision."""
    compile: Mapping[str, Any] | None = None
    """Arguments of ``torch.compile``; None runs it eagerly."""
    compilers: int = 1
    """Kernels that its compiler works on at a time."""
    cuda_graph: bool = False


@dataclass(frozen=True)
class Program:
    """A source, its entry, and how to construct the module."""

    source: str
    entry: str
    initial: bytes
    """The pickled arguments of the constructor."""
    seed: int
    setup: LibrarySetup | None = None
    mode: str = ""
    """'eval' or 'train', as the task asks; empty: the module is left as it is constructed."""
    spare: tuple[str, ...] = ()
    """Weights that the module may do without."""
    may_expand: bool = False
    """True if results may be expanded views, as the reference's own are."""
    entries: tuple[EntryPath, ...] = ()
    """The places among its arguments that it puts results into."""
    is_ours: bool = False
    """True for a candidate that our own code has written, and compiled before."""

    @property
    def may_be_blank(self) -> bool:
        """True if the module may be made without drawing weights: its text is trusted."""
        return self.is_ours or self.setup is not None

    @property
    def fills_fresh_memory(self) -> bool:
        """True if fresh memory holds large numbers until the judge ends that: for candidates."""
        return self.setup is None


def load_source(source: str, setup: LibrarySetup) -> dict[str, Any]:
    """The source as a module of its own, from a file, so that inspect finds its text."""
    folder = setup.folder or tempfile.mkdtemp()
    path = Path(tempfile.gettempdir(), folder, "candidate.py")
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_text(source)
    # The scratch lies where the user's /tmp does, and a folder z3 of a compiler's is no package.
    roots = (*setup.import_roots, *sys.path)
    sys.path[:] = [root for root in roots if root != os.getcwd()]
    # Library settings that share a process have each a module of its own.
    names = (f"candidate{number or ''}" for number in itertools.count())
    name = next(name for name in names if name not in sys.modules)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # it is a Python file
    module = importlib.util.module_from_spec(spec)
    module.__dict__["PAYLOAD"] = setup.payload
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.__dict__
