"""Pointwise steps: operators of the table, learned vectors, further arguments, residuals."""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.suites.composed.operators import ACTIVATIONS, OPERATORS, Operator
from kernelwright.suites.composed.task_builder import TaskBuilder

MODULE_SHARE = 0.35  # share of the activations that are submodules, as in networks
MAX_FLAT = 2
"""Largest number of bounded functions in a chain: nested ones soon hide their argument."""


def chain(builder: TaskBuilder, n: int, *, learned: bool = True, others: int = 1) -> None:
    """Append ``n`` pointwise steps to x; at most ``others`` of them use a further argument."""
    last, n_flat, n_others = "", 0, 0
    for _ in range(n):
        kind = builder.draw.random()
        if kind < 0.16 and learned:
            _learned(builder)
        elif kind < 0.28 and n_others < others and _is_written(builder):
            _other(builder)
            n_others += 1
        else:
            operator = pick(builder, OPERATORS, without=last, flat=n_flat < MAX_FLAT)
            apply(builder, operator)
            last, n_flat = operator.word, n_flat + operator.flat
            continue
        last = ""


def activation(builder: TaskBuilder) -> None:
    """Append one of the functions that stand between layers."""
    apply(builder, pick(builder, ACTIVATIONS))


def pick(
    builder: TaskBuilder, table: Sequence[Operator], *, without: str = "", flat: bool = True
) -> Operator:
    """Draw an operator that changes x."""
    fits = [
        operator
        for operator in table
        if operator.word != without
        and not (operator.signed and builder.is_positive)
        and (flat or not operator.flat)
    ]
    return builder.draw.choice(fits)


def apply(builder: TaskBuilder, operator: Operator) -> tuple[str, str]:
    """Append the operator in one of its spellings; return the numbers that it has there."""
    draw = builder.draw
    a, b = draw.choice(operator.numbers)
    if operator.module and draw.random() < MODULE_SHARE:
        called = builder.module("act", operator.module.format(a=a, b=b))
        expression = f"{called}(x)"
    else:
        expression = draw.choice(operator.forms).format(x="x", a=a, b=b)
    stays = operator.word in ("scaling", "division", "added number") and builder.is_positive
    builder.step(expression, operator.word, positive=operator.positive or stays)
    return a, b


def _learned(builder: TaskBuilder) -> None:
    """Append a learned vector along the features of x: added, subtracted or multiplied."""
    kind = builder.draw.choice(("bias", "scale", "shift"))
    if kind == "bias":
        builder.step(f"x + {builder.vector('bias')}", "bias")
    elif kind == "scale":
        how = builder.draw.choice(("torch.randn({shape})", "torch.rand({shape}) + 0.5"))
        builder.step(f"x * {builder.vector('scale', how)}", "learned scale")
    else:
        builder.step(f"x - {builder.vector('shift')}", "learned shift")


_OTHERS = (
    ("x + {y}", "sum with an argument"),
    ("x * {y}", "product with an argument"),
    ("x - {y}", "difference from an argument"),
    ("torch.maximum(x, {y})", "maximum with an argument"),
    ("torch.minimum(x, {y})", "minimum with an argument"),
    ("x * torch.sigmoid({y})", "gate"),
    ("F.silu({y}) * x", "swish gate"),
    ("torch.lerp(x, {y}, 0.3)", "mixture with an argument"),
    ("torch.where({y} > 0, x, 0.1 * x)", "choice by an argument"),
)


def _other(builder: TaskBuilder) -> None:
    """Append an operator with a further argument of the shape of x."""
    expression, word = builder.draw.choice(_OTHERS)
    builder.step(expression.format(y=builder.input("y", builder.shape)), word)


def _is_written(builder: TaskBuilder) -> bool:
    """Return whether every axis of x has a name, so that a tensor of its shape can be drawn."""
    return all(axis.text for axis in builder.shape)
