"""One call of the reference, watched: its arithmetic, its sums, and what it asks about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from kernelwright.judge.compare.growth import Adding
from kernelwright.judge.compare.specials import Asking
from kernelwright.judge.compare.zeros import AskingForZeros
from kernelwright.judge.reference.constraining import Constraining, constrainable
from kernelwright.judge.sandbox.flop_count import counting_flops
from kernelwright.judge.sandbox.overlaps import extent_of, overlapping
from kernelwright.loaders.plain import flatten, nesting


@dataclass(frozen=True)
class Observed:
    """What a call gave, and what was seen of it."""

    outputs: list[torch.Tensor]
    nesting: str
    flops: int
    n_added: list[float]
    """By output, the longest reduction that it depends on; 0 where operators only moved numbers."""
    most_added: float
    """The longest reduction of all: arguments that were written to may be the result."""
    is_known: bool
    """Whether the length of every operator's reductions is known."""
    factorises: bool
    convolves: bool
    writes_weights: bool
    asks_for_specials: bool
    asks_for_zeros: bool
    overlapping: frozenset[tuple[int, int]]
    """Pairs of outputs that share memory, by their numbers."""


def observe(
    call: Callable[[], Any],
    inputs: Sequence[Any] = (),
    module: torch.nn.Module | None = None,
) -> Observed:
    """Make the call, without gradients.

    ``inputs`` are its arguments and weights, the latter as held by a ``module`` that may write to
    them.
    """
    tensors = [t for t in tree_leaves(inputs) if isinstance(t, torch.Tensor)]
    adding, specials, zeros = Adding(tensors), Asking(tensors), AskingForZeros()
    writing = Constraining(constrainable(module) if module else ())
    with counting_flops() as counter, torch.no_grad(), adding, writing, specials, zeros:
        result = call()
    outputs = flatten(result)
    return Observed(
        outputs,
        nesting(result),
        counter.get_total_flops(),
        list(map(adding.of, outputs)),
        most_added=adding.most,
        is_known=adding.is_known,
        factorises=adding.factorises,
        convolves=torch.ops.aten.convolution in counter.flop_counts["Global"],
        writes_weights=writing.is_seen,
        asks_for_specials=specials.is_heard,
        asks_for_zeros=zeros.is_heard,
        overlapping=frozenset(overlapping([extent_of(t) for t in outputs])),
    )
