"""The judge: the trust boundary of the product. ``Judge`` is its one public entry."""

from __future__ import annotations

from typing import Any

__all__ = ["Judge", "guarantees"]


def __getattr__(name: str) -> Any:
    # Lazy, because the child's modules live in this package and must not import the parent's.
    if name == "Judge":
        from kernelwright.judge.judge import Judge

        return Judge
    if name == "guarantees":
        from kernelwright.judge.sandbox import guarantees

        return guarantees
    raise AttributeError(name)
