"""Steps that are whole operators instead of loop nests, and how tensors are changed in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from kernelwright.propose.rules.ir import Attention, Recurrence, Tensor

Whole = TypeVar("Whole", Recurrence, Attention)


def with_tensors(step: Whole, change: Callable[[Tensor], Tensor], name: str | None = None) -> Whole:
    """``step`` with every tensor changed, and under another name."""
    name = name or step.name
    if isinstance(step, Attention):
        q, k, v, result = map(change, (step.q, step.k, step.v, step.result))
        return replace(step, name=name, q=q, k=k, v=v, result=result)
    return replace(
        step,
        name=name,
        x=change(step.x),
        states=tuple(map(change, step.states)),
        weights=tuple(map(change, step.weights)),
        results=tuple(map(change, step.results)),
    )
