"""The arguments of every draw: the task's own, perturbed as the draw's check says."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

from kernelwright.core.outcome import Warned
from kernelwright.judge.checks import TASK, Draw, derive_seed
from kernelwright.judge.compare.measures import differ
from kernelwright.judge.perturb.fixed import Fixed, find_fixed, renew
from kernelwright.judge.perturb.variation import Variation
from kernelwright.judge.reference.forward import Forward
from kernelwright.judge.reference.kept import Kept
from kernelwright.judge.sandbox.layout import leaves


class TaskInputs:
    """Draws arguments; those of draws that come again are kept as far as memory allows."""

    def __init__(self, forward: Forward, variation: Variation, kept: Kept, secret: int) -> None:
        self._forward, self._variation, self._kept = forward, variation, kept
        self._drawing = threading.Lock()  # seeds and standard output belong to the whole process
        self.fixed, self.warnings = Fixed([]), list[Warned]()
        self.fixed_integers: Sequence[bool] = ()
        """By tensor, whether it holds integers that are the same in every draw; once known."""
        self.fixed, self.warnings = find_fixed(self._unvaried, forward.run_unseeded)
        self.first = Draw(TASK, derive_seed(secret, TASK.id, 0))
        self._first_arguments = self.of(self.first)

    @property
    def first_arguments(self) -> list[Any]:
        """The arguments of the task's first draw; not to be written to."""
        return self._first_arguments or self.of(self.first)

    def forget_first(self) -> None:
        """Draw them anew from now on, because memory is scarce, where a draw repeats."""
        if not any(map(differ, leaves(self.of(self.first)), leaves(self._first_arguments))):
            self._first_arguments = []

    def kept(self, draw: Draw) -> list[Any]:
        """The arguments of a draw that comes again; not to be written to."""
        if draw == self.first:
            return self.first_arguments
        key = ("arguments", draw)
        if key in self._kept:
            kept: list[Any] = self._kept[key]
            return kept
        found = self.of(draw)
        if draw.check is not TASK:
            self._kept.offer(key, found)
        return found

    def of(self, draw: Draw) -> list[Any]:
        """The arguments of a draw."""
        if draw.shapes is not None:
            others = self._forward.reference.other_inputs(draw.seed, self._forward.device)
            return others[draw.shapes.number]
        return self._variation.perturbed(
            draw.check.perturb,
            self._own(draw.seed),
            draw.seed,
            fixed_integers=self.fixed_integers,
            again=partial(self._own, draw.seed + 1),
        )

    def _own(self, seed: int) -> list[Any]:
        """The arguments as the task draws them, those that never change varied."""
        with self._drawing:
            return renew(self._unvaried(seed), self.fixed, seed)

    def _unvaried(self, seed: int) -> list[Any]:
        return self._forward.reference.inputs(seed, self._forward.device)
