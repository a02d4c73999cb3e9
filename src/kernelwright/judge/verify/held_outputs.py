"""Outputs that a caller still holds: they belong to it, and must stay as they were given."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from kernelwright.core.outcome import ReasonCode, Warned
from kernelwright.judge.compare.measures import differ
from kernelwright.judge.profile import Results
from kernelwright.judge.refusal import Refused
from kernelwright.judge.sandbox.calls import Call
from kernelwright.judge.sandbox.outputs import Claim, overlap, refuse_lent, refuse_overlapping
from kernelwright.judge.sandbox.runner import Runner


class HeldOutputs:
    """The outputs of a child that its caller holds, by name."""

    def __init__(self, results: Results, runner: Runner) -> None:
        self._results, self._runner = results, runner
        self._held: dict[str, tuple[list[Claim], list[torch.Tensor]]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._held

    def take(self, names: Iterable[str], call: Call) -> None:
        """Hold a call's outputs under these names, unless all lie in its arguments' memory."""
        if call.outputs is not None and not all(self._results.returned):
            self._held |= dict.fromkeys(names, (call.claims, call.outputs))

    def refuse_shared(self, claims: list[Claim]) -> list[Warned]:
        """See that no two results that the caller has share memory: writing to one would change the
        other. Returns warnings.

        Raises:
            Refused: two outputs share memory, or one shares it with what is held.
        """
        warnings = refuse_overlapping(claims, self._runner.like, set(self._results.overlapping))
        for others, _ in self._held.values():
            if overlap(claims, others, self._runner.like, but_for=self._results.lent):
                raise Refused(
                    ReasonCode.OUTPUT_REUSED,
                    "an output lies in the memory of another call's, which the caller still holds",
                )
        return warnings

    def check(self, name: str, *last: list[Claim]) -> None:
        """Let go of what is held under a name, if anything, after seeing that no later call changed
        it, and that it shares no memory with the caller's other outputs, ``last`` ones included.

        Raises:
            Refused: it changed, or shares memory.
        """
        if name not in self._held:
            return
        claims, before = self._held.pop(name)
        now = self._runner.outputs_held(claims, name)
        if self._runner.is_read:
            held = [others for others, _ in self._held.values()]
            refuse_lent(self._runner.child.pid, [claims, *last, *held], self._runner.like)
        rows = zip(before, now, self._results.ours, strict=False)
        if any(differ(a, b) for a, b, is_ours in rows if not is_ours):
            raise Refused(
                ReasonCode.OUTPUT_OVERWRITTEN,
                "an output that the caller still held was overwritten by a later call",
            )
