"""Times in which a candidate cannot have read its inputs or written its outputs are refused.

The timed inputs are fresh, so a right candidate must have read every number that can change the
result. The reference's derivatives in float64 show which numbers can. Where it has no derivatives,
as for integers or for numbers that lose a maximum, nothing is held against a candidate.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from kernelwright.core.evaluation import CANDIDATE, Timing
from kernelwright.core.outcome import ReasonCode
from kernelwright.judge.checks import TASK, Draw, derive_seed
from kernelwright.judge.devices.backend import DeviceBackend
from kernelwright.judge.devices.roofline import read_bytes_per_s, surely_ns, written_bytes_per_s
from kernelwright.judge.perturb.weight_sets import USUAL
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.refusal import Refused
from kernelwright.judge.sandbox import layout
from kernelwright.judge.sandbox.layout import bytes_of, map_tensors
from kernelwright.judge.sandbox.outputs import Claim
from kernelwright.loaders.copies import copied
from kernelwright.loaders.plain import flatten
from kernelwright.loaders.thread_state import made_in_float64

NOTHING = 1e-9
"""A share of the result's scale. An input that changes the result by less, in float64, changes only
the rounding of a zero."""


class SpeedLimits:
    """The least times for one task on one device; measured when they are first needed.

    Not covered:
        Weights: they stay the same, and may be kept in other forms. Parts of the inputs that are
        the same in two draws, such as masks: they may be known beforehand.
    """

    def __init__(self, oracle: Oracle, backend: DeviceBackend) -> None:
        self._oracle, self._backend = oracle, backend

    @functools.cached_property
    def _written_per_s(self) -> float:
        return written_bytes_per_s(self._backend)

    @functools.cached_property
    def _read_per_s(self) -> float:
        return read_bytes_per_s(self._backend)

    @functools.cached_property
    def _least_bytes(self) -> int:
        return least_bytes(self._oracle)

    def refuse_unwritten(self, claims: list[Claim], timing: Timing) -> None:
        """Refuse times in which the outputs cannot have been written.

        Raises:
            Refused: they are too short.
        """
        least_ns = written_bytes(claims, self._oracle.example) / self._written_per_s * 1e9
        library_ns = timing.median_ns(timing.strongest)
        self._refuse(
            timing.median_ns(CANDIDATE), surely_ns(least_ns, library_ns), timing.floor_ns, "outputs"
        )

    def refuse_unread(self, timed_ns: float, *, library_ns: float, floor_ns: float) -> None:
        """Refuse a time in which the inputs cannot have been read.

        ``library_ns``: the strongest library setting's time.

        Raises:
            Refused: it is too short.
        """
        whole = bytes_of(_numbers(self._oracle.first_arguments))
        if timed_ns >= self._read_ns(whole):
            return  # and no derivatives are needed
        least_ns = surely_ns(self._read_ns(self._least_bytes), library_ns)
        self._refuse(timed_ns, least_ns, floor_ns, "inputs")

    def _read_ns(self, n_bytes: int) -> float:
        return n_bytes / self._read_per_s * 1e9

    def _refuse(self, timed_ns: float, least_ns: float, floor_ns: float, which: str) -> None:
        if timed_ns >= least_ns or least_ns <= floor_ns:
            return
        is_read = which == "inputs"
        code = ReasonCode.TOO_FAST_TO_READ if is_read else ReasonCode.TOO_FAST_TO_WRITE
        raise Refused(
            code,
            f"impossible: {timed_ns / 1e3:.1f} µs for {which} that take {least_ns / 1e3:.1f} µs to "
            f"{'read' if is_read else 'write'} at this device's highest rate",
        )


def written_bytes(claims: list[Claim], like: list[torch.Tensor]) -> int:
    """The least memory that these outputs take; the gaps in a view do not count."""
    return sum(
        min(claim.span, one.numel()) * one.element_size()
        for claim, one in zip(claims, like, strict=True)
    )


def least_bytes(oracle: Oracle) -> int:
    """The size of the new numbers in the inputs that change the result; 0 if that is unknown."""
    arguments = oracle.first_arguments
    other = oracle.arguments(Draw(TASK, derive_seed(oracle.secret, "reading")))
    try:
        with made_in_float64():
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
    """The derivative of the result, in units of its own scale, by each number of the inputs."""
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
    """True if every element has memory of its own."""
    return t.numel() * t.element_size() <= t.untyped_storage().nbytes()
