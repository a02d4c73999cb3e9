"""The judge: the trust boundary of the product."""

from __future__ import annotations

import importlib
from typing import Any

JUDGE_VERSION = 42
"""Changes when the same candidate may get another verdict."""
_PUBLIC = {
    "Judge": "judge",
    "SharedForkServer": "sandbox.fork_server",
    "SharedForkServerProcess": "sandbox.fork_server",
}

__all__ = ["JUDGE_VERSION", "Judge", "SharedForkServer", "SharedForkServerProcess"]


def __getattr__(name: str) -> Any:
    # Lazy: the child's modules live in this package and must not load the judge's.
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PUBLIC[name]}"), name)
