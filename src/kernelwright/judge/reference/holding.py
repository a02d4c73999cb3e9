"""Outputs that a caller still has: they are his own, and stay as they were given to him."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from kernelwright.core.evaluation import Status
from kernelwright.judge.children.runner import Call, Runner
from kernelwright.judge.compare.measures import differ
from kernelwright.judge.machine.outputs import Claim, overlap, refuse_lent, refuse_overlapping
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.refusal import Refused


class Holding:
    """What a child's caller holds of its outputs, by name."""

    def __init__(self, oracle: Oracle, runner: Runner) -> None:
        self._oracle, self._runner = oracle, runner
        self._held: dict[str, tuple[list[Claim], list[torch.Tensor]]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._held

    def take(self, names: Iterable[str], call: Call) -> None:
        """Hold a call's outputs under these names, unless they are all of its caller's arguments'
        memory."""
        if not all(self._oracle.returned):
            self._held |= dict.fromkeys(names, (call.claims, call.outputs))

    def refuse_shared(self, claims: list[Claim]) -> list[str]:
        """Two results that a caller has are two: who writes to one would change the other. Returns
        warnings.

        Raises:
            Refused: of these two are one, or one is one with what he holds.
        """
        warnings = refuse_overlapping(claims, self._runner.like, self._oracle.overlapping)
        for others, _ in self._held.values():
            if overlap(claims, others, self._runner.like, but_for=self._oracle.lent):
                raise Refused(
                    Status.REJECTED,
                    "an output lies in the memory of another call's, which the caller still holds",
                )
        return warnings

    def check(self, name: str, *last: list[Claim]) -> None:
        """See that what is held under a name, if anything, did not change with later calls, and is
        not one memory with the other outputs that the caller has, ``last`` ones too; let it go.

        Raises:
            Refused: it did, or is.
        """
        if name not in self._held:
            return
        claims, before = self._held.pop(name)
        now = self._runner.outputs_held(claims, name)
        if self._runner.is_read:
            held = [others for others, _ in self._held.values()]
            refuse_lent(self._runner.child.pid, [claims, *last, *held], self._runner.like)
        rows = zip(before, now, self._oracle.ours, strict=False)
        if any(differ(a, b) for a, b, is_ours in rows if not is_ours):
            raise Refused(
                Status.REJECTED,
                "an output that the caller still held was overwritten by a later call",
            )
