"""Recognising steps that need the same text: they differ in names only, and share a function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kernelwright.propose.rules.ir import (
    Compute,
    Contraction,
    Kernel,
    Load,
    Op,
    Reduce,
    Scan,
    Store,
    Tensor,
)


def anonymous(step: Kernel | Contraction) -> Kernel | Contraction:
    """``step`` with tensors and values numbered in order of appearance, and no origin."""
    tensors = {
        tensor: replace(tensor, name=f"t{i}")
        for i, tensor in enumerate(dict.fromkeys((*step.reads, *step.writes)))
    }
    names: dict[str, str] = {"acc": "acc"} if isinstance(step, Contraction) else {}
    body = tuple(_anonymous(op, tensors, names) for op in step.body)
    if isinstance(step, Kernel):
        return replace(step, name="", body=body, origin=())
    a, b = (replace(load, name="", tensor=tensors[load.tensor]) for load in (step.a, step.b))
    return replace(step, name="", a=a, b=b, body=body, origin=())


def _anonymous(op: Op, tensors: Mapping[Tensor, Tensor], names: dict[str, str]) -> Op:
    if isinstance(op, Store):
        return replace(op, tensor=tensors[op.tensor], value=names[op.value])
    name = names[op.name] = f"v{len(names)}"
    match op:
        case Load():
            gather = tuple((names[value], stride) for value, stride in op.gather)
            return replace(op, name=name, tensor=tensors[op.tensor], gather=gather)
        case Compute():
            return replace(op, name=name, args=tuple(names[arg] for arg in op.args))
        case Reduce() | Scan():
            return replace(op, name=name, arg=names[op.arg])
    return replace(op, name=name)
