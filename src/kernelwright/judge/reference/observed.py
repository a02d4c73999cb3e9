"""One call of the reference, watched: its arithmetic, its sums, and what it asks about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from kernelwright.judge.children.counting import counted
from kernelwright.judge.compare.growth import Adding
from kernelwright.judge.compare.specials import Asking
from kernelwright.judge.compare.zeros import AskingForZeros
from kernelwright.judge.perturb.distributions import EMPTY, SPECIAL
from kernelwright.judge.reference.constraining import Constraining, constrainable
from kernelwright.loaders.plain import flatten, nesting


@dataclass(frozen=True)
class Observed:
    """What a call gave, and what was seen of it."""

    outputs: list[torch.Tensor]
    nesting: str
    flops: int
    n_added: list[float]
    """By output, how many numbers an operator that it comes from added up to one at most; zero
    where all of them only moved numbers of the inputs."""
    most_added: float
    """The most that any did: arguments that were written to may be the result."""
    is_known: bool
    """Whether of every operator it is known how many numbers it adds up."""
    takes_variance: bool
    factorises: bool
    convolves: bool
    constrains: bool
    """Whether it writes to the weights of its module."""
    asked: frozenset[str]
    """The distributions whose numbers it asks for: what it does with those is part of it."""


def observe(
    call: Callable[[], Any],
    inputs: Sequence[Any] = (),
    module: torch.nn.Module | None = None,
) -> Observed:
    """Make the call, without gradients; ``inputs``: its arguments and weights, as they are held,
    the latter by a ``module`` that may write to them."""
    tensors = [t for t in tree_leaves(inputs) if isinstance(t, torch.Tensor)]
    adding, asking = Adding(tensors), {SPECIAL: Asking(tensors), EMPTY: AskingForZeros()}
    constraining = Constraining(constrainable(module) if module else ())
    with (
        counted() as counter,
        torch.no_grad(),
        adding,
        constraining,
        asking[SPECIAL],
        asking[EMPTY],
    ):
        result = call()
    outputs = flatten(result)
    return Observed(
        outputs,
        nesting(result),
        counter.get_total_flops(),
        list(map(adding.of, outputs)),
        most_added=adding.most,
        is_known=adding.is_known,
        takes_variance=adding.takes_variance,
        factorises=adding.factorises,
        convolves=torch.ops.aten.convolution in counter.flop_counts["Global"],
        constrains=constraining.is_seen,
        asked=frozenset(name for name, one in asking.items() if one.is_heard),
    )
