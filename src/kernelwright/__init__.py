"""Kernelwright: a PyTorch module in, a faster judged kernel out.

import kernelwright as kw

result = kw.optimize(module, inputs=[x])     # or a KernelBench file, or "file.py:Class"
print(result.evaluation.speedup)             # against the strongest library setting
faster = kw.build(result)                    # an nn.Module, ready to call
"""

# ruff: noqa: F401  the imports below are for type checkers; __all__ is computed

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelwright.api import export, judge, judge_by_shape, optimize, repeat
    from kernelwright.archive import Archive
    from kernelwright.archive.receipt import Receipt
    from kernelwright.archive.repetition import Repetition
    from kernelwright.core.candidate import Brief, Candidate, Exemplar, Proposal
    from kernelwright.core.device import Device
    from kernelwright.core.errors import KernelwrightError
    from kernelwright.core.evaluation import Evaluation, Ratio, Timing
    from kernelwright.core.outcome import Status
    from kernelwright.core.settings import Settings
    from kernelwright.core.task import Task, Workload
    from kernelwright.loaders import load
    from kernelwright.models.accelerate import Accelerated, accelerate
    from kernelwright.models.saved import load_accelerated
    from kernelwright.report.page import write as report
    from kernelwright.runtime.build import build, misses
    from kernelwright.runtime.uses import uses
    from kernelwright.search.result import Progress, Result

__version__ = "0.1.0"

_HOMES = {
    "export": "api", "judge": "api", "judge_by_shape": "api", "optimize": "api", "repeat": "api",
    "load": "loaders",
    "build": "runtime.build", "misses": "runtime.build", "uses": "runtime.uses",
    "accelerate": "models.accelerate", "Accelerated": "models.accelerate",
    "load_accelerated": "models.saved",
    "report": "report.page:write", "Archive": "archive",
    "Progress": "search.result", "Result": "search.result",
    "Receipt": "archive.receipt", "Repetition": "archive.repetition",
    "Brief": "core.candidate", "Candidate": "core.candidate", "Exemplar": "core.candidate",
    "Proposal": "core.candidate", "Device": "core.device",
    "KernelwrightError": "core.errors", "Evaluation": "core.evaluation",
    "Ratio": "core.evaluation", "Status": "core.outcome", "Timing": "core.evaluation",
    "Settings": "core.settings", "Task": "core.task", "Workload": "core.task",
}  # fmt: skip

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name where it lives, on first use: importing the package imports no torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'kernelwright' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    value = getattr(importlib.import_module(f"kernelwright.{module}"), attribute or name)
    globals()[name] = value
    return value


class _Package(ModuleType):
    """This package, where ``judge`` and ``report`` are the functions.

    Folders of the same names stand beside them, and importing one would rebind the name on its
    parent package; that binding is refused. ``from kernelwright.judge import Judge`` works as ever.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
