"""The oracle: everything about one task that a verdict needs from its reference."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from kernelwright.core.task import Task, Workload
from kernelwright.judge.checks import Draw, derive_seed
from kernelwright.judge.compare.float8 import Float8Widened, computing_with
from kernelwright.judge.perturb.variation import Variation
from kernelwright.judge.perturb.weight_sets import USUAL, sets_of_weights
from kernelwright.judge.profile import TaskProfile
from kernelwright.judge.reference import fitness, nudges
from kernelwright.judge.reference.expectations import Expectations, accepts
from kernelwright.judge.reference.forward import Forward
from kernelwright.judge.reference.kept import Kept, Spent
from kernelwright.judge.reference.setup_store import SetupStore
from kernelwright.judge.reference.study import shape_draws, study, with_shapes
from kernelwright.judge.reference.task_inputs import TaskInputs
from kernelwright.judge.sandbox import layout
from kernelwright.judge.sandbox.layout import leaves

DeviceUse = Callable[[], AbstractContextManager[Any]]


class Oracle:
    """The reference of one task: its profile, its inputs, and what it should return.

    ``uses_device`` is entered while the device is used; weights are drawn before, which may take
    seconds.

    Raises:
        TaskError: the reference does not run or is not deterministic.
    """

    def __init__(
        self,
        task: Task,
        device: str,
        secret: int,
        uses_device: DeviceUse = nullcontext,
        store: SetupStore | None = None,
    ) -> None:
        """``store``: it keeps what takes long between judges that have the same secret."""
        self.task, self.device, self.secret = task, device, secret
        self._store = store or SetupStore(None)
        self.forward = Forward(task, device, derive_seed(secret, "weights"))
        with uses_device(), Float8Widened():
            self.forward.to_device()
            try:
                self._open()
            except fitness.RandomReferenceError:
                other = self.forward.in_eval_mode()
                if other is None:
                    raise
                self.forward = other
                self.forward.to_device()
                self._open()
            self._tensors = leaves([self.first_arguments, self.state(USUAL), self.example])

    def _open(self) -> None:
        forward, kept, spent = self.forward, Kept(self.device), Spent()

        def is_accepted(changed: list[Any], usual: list[Any]) -> bool:
            return accepts(forward, profile.results.example, changed, usual)

        variation = Variation(spent()(is_accepted), spent()(forward.run_with_hidden))
        self.inputs = TaskInputs(forward, variation, kept, self.secret)
        profile = study(forward, self.inputs, self.secret)
        profile = self._with_weights(profile, kept)
        profile = self.profile = with_shapes(profile, forward, self.secret)
        self.other_draws = shape_draws(profile.shapes, self.secret)
        self.expectations = Expectations(
            forward,
            profile,
            self.inputs.of,
            first=self.first,
            kept=kept,
            spent=spent,
            store=self._store,
        )
        if profile.precision:
            tensors = leaves([self.first_arguments, self.state(USUAL), self.example])
            fitness.require_float32(self.task, tensors)
            self.expectations.of(self.first, self.first_arguments)

    def _with_weights(self, profile: TaskProfile, kept: Kept) -> TaskProfile:
        """Draw the sets of weights."""
        forward, own = self.forward, self.first_arguments
        if profile.work.writes_weights:
            forward.build_again()
        run = partial(forward.run_module, arguments=own)
        runs = (run, partial(forward.run_module, arguments=nudges.moved_once(own)))
        module = forward.modules[USUAL]
        again = partial(forward.reference.build, derive_seed(self.secret, "again"))
        seed = derive_seed(self.secret, "other weights")
        forward.modules = sets_of_weights(module, again, seed, runs, kept.has_room)
        if forward.modules[USUAL] is module:
            return profile
        return replace(profile, weight_sets=frozenset(forward.modules) - {USUAL})

    def computing(self) -> AbstractContextManager[Any]:
        """Context in which the judge computes with the task's tensors, whatever their types."""
        return computing_with(self._tensors)

    @property
    def first(self) -> Draw:
        """The task's first draw."""
        return self.inputs.first

    @property
    def first_arguments(self) -> list[Any]:
        """The arguments of the task's first draw; not to be written to."""
        return self.inputs.first_arguments

    @property
    def example(self) -> list[torch.Tensor]:
        """The outputs' shapes and dtypes, without memory."""
        return self.profile.results.example

    def arguments(self, draw: Draw) -> list[Any]:
        """The arguments of a draw."""
        return self.inputs.of(draw)

    def state(self, weights: str) -> dict[str, torch.Tensor]:
        """The tensors of one set of weights, by name."""
        return self.forward.state(weights)

    def workload(self) -> Workload:
        """The task with the shapes that are judged."""
        return Workload(self.task.digest, tuple(map(layout.shape_of, self.first_arguments)))
