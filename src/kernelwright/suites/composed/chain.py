"""Pointwise steps: operators of the table, learned vectors, further arguments, residuals."""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.suites.composed.draft import Draft
from kernelwright.suites.composed.operators import ACTIVATIONS, OPERATORS, Operator

MODULE_SHARE = 0.35  # of the activations that stand as submodules, as in networks
MAX_FLAT = 2
"""Bounded functions of bounded functions soon show nothing of their argument."""


def chain(draft: Draft, n: int, *, learned: bool = True, others: int = 1) -> None:
    """Let x go through ``n`` pointwise steps; at most ``others`` bring in a further argument."""
    last, n_flat, n_others = "", 0, 0
    for _ in range(n):
        kind = draft.draw.random()
        if kind < 0.16 and learned:
            _learned(draft)
        elif kind < 0.28 and n_others < others and _is_written(draft):
            _other(draft)
            n_others += 1
        else:
            operator = pick(draft, OPERATORS, without=last, flat=n_flat < MAX_FLAT)
            apply(draft, operator)
            last, n_flat = operator.word, n_flat + operator.flat
            continue
        last = ""


def activation(draft: Draft) -> None:
    """One of the functions that stand between layers."""
    apply(draft, pick(draft, ACTIVATIONS))


def pick(
    draft: Draft, table: Sequence[Operator], *, without: str = "", flat: bool = True
) -> Operator:
    """An operator that does something to x."""
    fits = [
        operator
        for operator in table
        if operator.word != without
        and not (operator.signed and draft.is_positive)
        and (flat or not operator.flat)
    ]
    return draft.draw.choice(fits)


def apply(draft: Draft, operator: Operator) -> tuple[str, str]:
    """Let x be the operator of x, in one of the ways to write it; the numbers that it has there."""
    draw = draft.draw
    a, b = draw.choice(operator.numbers)
    if operator.module and draw.random() < MODULE_SHARE:
        called = draft.module("act", operator.module.format(a=a, b=b))
        expression = f"{called}(x)"
    else:
        expression = draw.choice(operator.forms).format(x="x", a=a, b=b)
    stays = operator.word in ("scaling", "division", "added number") and draft.is_positive
    draft.step(expression, operator.word, positive=operator.positive or stays)
    return a, b


def _learned(draft: Draft) -> None:
    """A learned vector along the features of x: added, subtracted or multiplied."""
    kind = draft.draw.choice(("bias", "scale", "shift"))
    if kind == "bias":
        draft.step(f"x + {draft.vector('bias')}", "bias")
    elif kind == "scale":
        how = draft.draw.choice(("torch.randn({shape})", "torch.rand({shape}) + 0.5"))
        draft.step(f"x * {draft.vector('scale', how)}", "learned scale")
    else:
        draft.step(f"x - {draft.vector('shift')}", "learned shift")


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


def _other(draft: Draft) -> None:
    """A further argument of the shape of x."""
    expression, word = draft.draw.choice(_OTHERS)
    draft.step(expression.format(y=draft.input("y", draft.shape)), word)


def _is_written(draft: Draft) -> bool:
    """Whether every axis of x has a name, so that a tensor of its shape can be drawn."""
    return all(axis.text for axis in draft.shape)
