"""Gate: whether a model with kernels still computes what the model computes.

Both are compared with the same model in float64, or in float32 where it is of a narrower type and
does not run in float64. The kernels may be off by a few times as much as the library is; for
language models the next token that is chosen must be as likely.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from kernelwright.models.given import Given, tensors_of

TIMES, FLOOR_STEPS = 3.0, 16
"""The largest error that passes: this many times the library's own, or this many rounding steps of
the output's dtype, whichever is more."""
TAIL = "99th percentile of the"
REGRETS = {"largest": 0.20, "mean": 0.06, TAIL: 0.20}
"""Bounds in nat on the argmax regret of logits, unless the library's own is half as large.
Source: the gate of pegainfer's pull request 194, which told right from wrong decoders."""
OTHER_ROW = 0.5
"""A row of an output that rounding changes by more than this share of its largest number, and of
that of most rows, counts as another row: the module has chosen something else, as a router does
between experts. A row that is nearly zero beside others is changed by as much without a choice."""
LEAST_CLASSES = 1000
"""An output with at least so many numbers in its last dimension, and float, counts as logits."""


@dataclass(frozen=True)
class Deviation:
    """How far outputs are from the exact ones."""

    kernels: float
    """The largest error of any output with the kernels, as a share of its largest number."""
    library: float
    """The same of the library's own outputs."""
    allowed: float
    regret: float | None = None
    """The largest argmax regret of logits, in nat; None where no output is logits."""
    why_refused: str = ""
    is_exact: bool = True
    """Whether the exact outputs are those in a wider type. Otherwise the model does not run in one,
    and the library's own outputs stand for them."""


class Gate:
    """The exact outputs of a model, and those of the library."""

    def __init__(self, given: Given) -> None:
        self.library = [t.clone() for t in tensors_of(given.run(given.model))]
        self.exact, self.is_exact = _exact(given, self.library), True
        if self.exact is None:  # it runs in no wider type: the library is its own measure
            self.exact, self.is_exact = [t.double() for t in self.library], False

    def compare(self, outputs: Any) -> Deviation:
        """How far these outputs are off, and why that is too far."""
        found = tensors_of(outputs)
        assert self.exact is not None
        if list(map(_form, found)) != list(map(_form, self.library)):
            why = "the outputs have other shapes or types"
            return Deviation(0.0, 0.0, 0.0, why_refused=why, is_exact=self.is_exact)
        kernels = library = allowed = 0.0
        regret, why = None, ""
        for mine, theirs, exact in zip(found, self.library, self.exact, strict=True):
            if not mine.is_floating_point():
                if not torch.equal(mine, theirs):
                    why = why or "whole numbers among the outputs differ"
                continue
            off, own = _error(mine, exact), _error(theirs, exact)
            limit = max(TIMES * own, FLOOR_STEPS * torch.finfo(mine.dtype).eps)
            kernels, library, allowed = max(kernels, off), max(library, own), max(allowed, limit)
            if not math.isfinite(own):
                why = why or (
                    "the library's own outputs are not finite where the exact ones are, so nothing "
                    "says which others are right"
                )
            elif not off <= limit:
                why = why or (
                    f"an output is off by {off:.2g} of its largest number, the library's by "
                    f"{own:.2g}"
                )
            if exact.dim() and exact.shape[-1] >= LEAST_CLASSES:
                regrets, noise = _regrets(mine, exact), _regrets(theirs, exact)
                regret = max(regret or 0.0, regrets.max().item())
                why = why or _regret_refused(regrets, noise)
        return Deviation(kernels, library, allowed, regret, why, self.is_exact)


def why_unsteady(given: Given) -> str:
    """Why no kernel of a module can be told right from wrong; empty where one can.

    ``given`` is the module with its inputs. What it chooses hangs on rounding if in a wider type it
    chooses otherwise for some rows, as the router of a mixture of experts does.
    """
    outputs = [t.clone() for t in tensors_of(given.run(given.model))]
    for mine, exact in zip(outputs, _exact(given, outputs) or [], strict=False):
        if not mine.dim() or not mine.numel():
            continue
        off, largest = (mine.double() - exact).abs().amax(-1), exact.abs().amax(-1)
        allowed = OTHER_ROW * torch.maximum(largest, largest.nanmedian())
        n_others = int((off > (allowed if mine.is_floating_point() else 0.0)).sum())
        if n_others:
            return (
                f"rounding makes {n_others} of {off.numel()} rows of its output others; its parts "
                "are searched"
            )
    return ""


def _exact(given: Given, outputs: Sequence[torch.Tensor]) -> list[torch.Tensor] | None:
    """The outputs of the model in float64, or where it does not run so and is of a narrower type,
    in float32; None where it runs in neither."""
    narrow = all(t.element_size() < 4 for t in outputs if t.is_floating_point())
    for dtype in (torch.float64, torch.float32) if narrow else (torch.float64,):
        try:
            return [tensor.double() for tensor in tensors_of(given.in_dtype(dtype))]
        except Exception:  # the user's forward raises what it likes
            continue
    return None


def _form(tensor: torch.Tensor) -> tuple[torch.Size, torch.dtype]:
    return tensor.shape, tensor.dtype


def _error(values: torch.Tensor, exact: torch.Tensor) -> float:
    """The largest error as a share of the largest number; infinite where either is not finite."""
    if not values.numel():
        return 0.0
    off = (values.double() - exact).abs()
    same = torch.isfinite(exact) == torch.isfinite(values.double())
    if not bool(same.all()):
        return float("inf")
    largest = exact.abs().nan_to_num(0.0, 0.0, 0.0).max().item() or 1.0
    return float(off.nan_to_num(0.0, 0.0, 0.0).max().item() / largest)


def _regrets(logits: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """By how many nat the exact logit of the choice lies below the best one, for every row."""
    choice = logits.argmax(-1, keepdim=True)
    return exact.amax(-1) - exact.gather(-1, choice).squeeze(-1)


def _regret_refused(regrets: torch.Tensor, noise: torch.Tensor) -> str:
    for name, bound in REGRETS.items():
        found, usual = _summaries(regrets)[name], _summaries(noise)[name]
        if found > max(bound, 2 * usual):
            return f"the {name} argmax regret of the logits is {found:.3g} nat"
    return ""


def _summaries(regrets: torch.Tensor) -> dict[str, float]:
    some = regrets.flatten()[: 1 << 20]  # quantile takes no more
    tail = torch.quantile(some, 0.99).item()
    return {"largest": regrets.max().item(), "mean": regrets.mean().item(), TAIL: tail}
