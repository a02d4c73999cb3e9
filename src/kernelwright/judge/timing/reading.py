"""How fast the inputs can be read at all: who is faster did not look at what the result depends on.

The timed inputs are fresh, so whoever is right must have read every number that can change the
result. Which can is seen from the reference's derivatives in float64; where there are none, as for
integers or a maximum's losers, nothing is held against anybody.
"""

from __future__ import annotations

import time
from typing import Any

import torch

from kernelwright.core.outcome import ReasonCode
from kernelwright.judge.checks import TASK, Draw, derive_seed
from kernelwright.judge.machine import layout
from kernelwright.judge.machine.layout import bytes_of, map_tensors
from kernelwright.judge.machine.place import Place
from kernelwright.judge.machine.roofline import MARGIN, surely_ns
from kernelwright.judge.perturb.weight_sets import USUAL
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.refusal import Refused
from kernelwright.loaders.copies import copied
from kernelwright.loaders.made_in import made_in
from kernelwright.loaders.plain import flatten

N_READS = 10
SPAN = {"cpu": 0.25, "cuda": 4.0}
"""Of the last-level cache, that is read to see how fast it goes. On a GPU starting a kernel takes
as long as reading a quarter of the cache."""
NOTHING = 1e-9
"""Of the result's scale: what an input changes less, in float64, is the rounding of a nought."""


class Reading:
    """The time that reading one task's inputs takes at least; measured when it is asked for.

    Not covered:
        Weights: they stay the same, and may be kept in other forms. Parts of the inputs that are
        the same in two draws, such as masks: they may be known beforehand.
    """

    def __init__(self, oracle: Oracle, place: Place) -> None:
        self._oracle, self._place = oracle, place
        self._bytes_per_s: float | None = None
        self._least_bytes: int | None = None

    def refuse_impossible(self, timed_ns: float, *, library_ns: float, overhead_ns: float) -> None:
        """Refuse a time in which the inputs cannot have been read.

        ``library_ns``: what the strongest library setting takes to read them.

        Raises:
            Refused: it is one.
        """
        if self._bytes_per_s is None:
            self._bytes_per_s = peak_bytes_per_s(self._place)
        whole = bytes_of(_numbers(self._oracle.first_arguments))
        if timed_ns >= self._read_ns(whole):
            return  # and nothing needs to be derived
        if self._least_bytes is None:
            self._least_bytes = least_bytes(self._oracle)
        least_ns = surely_ns(self._read_ns(self._least_bytes), library_ns)
        if timed_ns < least_ns and least_ns > overhead_ns:
            raise Refused(
                ReasonCode.TOO_FAST_TO_READ,
                f"impossible: {timed_ns / 1e3:.1f} µs for inputs that take {least_ns / 1e3:.1f} µs "
                "to read at this device's highest rate",
            )

    def _read_ns(self, n_bytes: int) -> float:
        return n_bytes / self._bytes_per_s * 1e9


def peak_bytes_per_s(place: Place) -> float:
    """An upper bound on how many bytes a second can be read; infinite where memory is short."""
    n_bytes = int(place.last_level_cache_bytes() * SPAN[place.kind])
    try:
        buffer = torch.ones(n_bytes // 4, device=place.name)
    except torch.OutOfMemoryError:
        return float("inf")
    best_s = float("inf")
    for _ in range(N_READS):
        place.settle()
        start_s = time.perf_counter()
        buffer.sum()
        place.settle()
        best_s = min(best_s, time.perf_counter() - start_s)
    return MARGIN * n_bytes / best_s


def least_bytes(oracle: Oracle) -> int:
    """How much of the inputs is there in new numbers that change the result; 0 if nobody knows."""
    arguments = oracle.first_arguments
    other = oracle.arguments(Draw(TASK, derive_seed(oracle.secret, "reading")))
    try:
        with made_in(torch.float64):
            slopes = _slopes(oracle, arguments)
    except (RuntimeError, TypeError, NotImplementedError):  # no derivative, or no memory for it
        return 0
    n_bytes = 0
    for one, two, slope in zip(_numbers(arguments), _numbers(other), slopes, strict=True):
        if slope is not None and one.shape == two.shape and _is_dense(one):
            matters = (slope * one.double().std()).abs() > NOTHING
            n_bytes += int((matters & (one != two)).sum()) * one.element_size()
    return n_bytes


def _slopes(oracle: Oracle, arguments: list[Any]) -> tuple[torch.Tensor | None, ...]:
    """How fast the result, in units of its own scale, changes with each number of the inputs."""
    module = copied(oracle.forward.modules[USUAL]).double()
    leaves: list[torch.Tensor] = []

    def leaf(t: torch.Tensor) -> torch.Tensor:
        if not t.is_floating_point():
            return t.clone()
        leaves.append(t.detach().double().requires_grad_())
        return leaves[-1].clone()  # which may be written to

    with torch.enable_grad():
        given = map_tensors(leaf, arguments)
        held = layout.leaves(given)
        results = [*flatten(module(*given)), *layout.those(held, oracle.profile.results.changed)]
        outputs = [t for t in results if t.requires_grad]
    draw = torch.Generator().manual_seed(1)
    weights = [
        # Any weights do: a number that matters has no slope for hardly any of them.
        torch.randn(t.shape, generator=draw).to(t) / t.detach().abs().max()
        for t in outputs
    ]
    return torch.autograd.grad(outputs, leaves, weights, allow_unused=True)


def _numbers(arguments: list[Any]) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    map_tensors(found.append, arguments)
    return [t for t in found if t.is_floating_point()]


def _is_dense(t: torch.Tensor) -> bool:
    """Whether every element has memory of its own."""
    return t.numel() * t.element_size() <= t.untyped_storage().nbytes()
