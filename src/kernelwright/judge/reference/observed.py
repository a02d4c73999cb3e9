"""One call of the reference, watched: its arithmetic, its sums, and what it asks about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from kernelwright.judge.children.counting import counted
from kernelwright.judge.numerics.growth import Adding
from kernelwright.judge.numerics.specials import Asking
from kernelwright.load.plain import flatten


@dataclass(frozen=True)
class Observed:
    """What a call gave, and what was seen of it."""

    outputs: list[torch.Tensor]
    flops: int
    n_added: list[float]
    """By output, how many numbers an operator that it comes from added up to one at most."""
    most_added: float
    """The most that any did: arguments that were written to may be the result."""
    takes_variance: bool
    factorises: bool
    convolves: bool
    asks_for_specials: bool


def observe(call: Callable[[], Any]) -> Observed:
    """Make the call, without gradients."""
    with counted() as counter, torch.no_grad(), Adding() as adding, Asking() as asking:
        outputs = flatten(call())
    return Observed(
        outputs,
        counter.get_total_flops(),
        list(map(adding.of, outputs)),
        most_added=adding.most,
        takes_variance=adding.takes_variance,
        factorises=adding.factorises,
        convolves=torch.ops.aten.convolution in counter.flop_counts["Global"],
        asks_for_specials=asking.is_heard,
    )
