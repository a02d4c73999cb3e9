"""Runs the reference: in its own precision or in float64, with one of its sets of weights.

It runs in the judge's process. No candidate shares memory with it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from kernelwright.core.outcome import Warned, WarningCode
from kernelwright.core.task import FULL_PRECISION, Task
from kernelwright.judge.compare.hidden import with_hidden
from kernelwright.judge.compare.measures import as_real
from kernelwright.judge.perturb.weight_sets import USUAL
from kernelwright.judge.reference import nudges, widened
from kernelwright.judge.reference.asserting import HostFirst
from kernelwright.judge.reference.lowered import without_tf32
from kernelwright.judge.reference.narrow_products import NarrowProducts
from kernelwright.judge.reference.observed import Observed, observe
from kernelwright.judge.reference.products import quick_convolutions
from kernelwright.judge.refusal import memory_apart
from kernelwright.judge.sandbox import layout
from kernelwright.judge.sandbox.entries import Path, fresh_containers, with_entries
from kernelwright.judge.sandbox.layout import leaves, map_tensors
from kernelwright.loaders import open_reference
from kernelwright.loaders.copies import copied
from kernelwright.loaders.plain import flatten, nesting, require_dense_weights, weights_of
from kernelwright.loaders.reference import MISFIT, task_code
from kernelwright.loaders.thread_state import SeededWhileItDraws

Watch = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Convention:
    """The reference's treatment of its arguments and weights; cautious until that is known."""

    is_known: bool = False
    entries: tuple[Path, ...] = ()
    """The places in lists among its arguments into which it puts results."""
    changed: tuple[bool, ...] = ()
    """By tensor of the arguments, whether it writes to it."""
    returned: tuple[bool, ...] = ()
    """By output, whether it lies in an argument's memory."""
    writes_weights: bool = False
    asks_for_specials: bool = False

    @property
    def writes_arguments(self) -> bool:
        return not self.is_known or any(self.changed)


class Forward:
    """The reference's modules, one for each set of weights, and how they are called."""

    def __init__(self, task: Task, device: str, weight_seed: int) -> None:
        self.task, self.device, self.weight_seed = task, device, weight_seed
        self.reference = open_reference(task)
        self.initial = self.reference.init_inputs(weight_seed)
        self.modules = {USUAL: self._built()}
        require_dense_weights(self.modules[USUAL])
        self.convention = Convention()
        self.observed: list[Observed] = []
        """All calls that were watched."""
        self.warnings: list[Warned] = []
        """Warnings about differences from what the task's text asks for."""
        self._guard, self._seeded = HostFirst(device), SeededWhileItDraws()
        self._namings = [*widened.NAMINGS]
        self.nesting = ""
        """How the last result was nested, with the numbers among its parts."""

    def in_eval_mode(self) -> Forward | None:
        """The same in eval mode, with a warning; None if it is in that mode, or the task asks for
        one."""
        if self.task.mode or not self.modules[USUAL].training:
            return None
        other = Forward(self.task.in_mode("eval"), self.device, self.weight_seed)
        told = "judged in eval mode: in training mode two runs on the same inputs differ"
        other.warnings.append(Warned(WarningCode.EVAL_MODE, told))
        return other

    def _built(self) -> torch.nn.Module:
        return layout.written_out(self.reference.build(self.weight_seed))

    def to_device(self) -> None:
        self.modules[USUAL].to(self.device)

    def build_again(self) -> None:
        """Make the module fresh_containers, because running it has changed its weights."""
        self.modules[USUAL] = self._built().to(self.device)

    def state(self, weights: str) -> dict[str, torch.Tensor]:
        """The tensors of one set of weights, by name."""
        return {name: t.detach() for name, t in weights_of(self.modules[weights]).items()}

    def run(self, arguments: list[Any], weights: str = USUAL) -> list[torch.Tensor]:
        """The outputs in the reference's own precision; ``arguments`` stay as they are."""
        return self.run_module(self.modules[weights], arguments)

    def run_module(self, module: torch.nn.Module, arguments: list[Any]) -> list[torch.Tensor]:
        """The outputs of a module that is like the reference, with the arguments that it writes
        to."""
        given = fresh_containers(arguments)
        if self.convention.writes_arguments or any(self.convention.returned):
            given = map_tensors(torch.clone, arguments)
        held = leaves(given)
        with (
            memory_apart(),
            self._seeded(self.weight_seed),
            self._guard(),
            torch.no_grad(),
            self._in_precision(),
        ):
            result = self._call(module, given)
            self.nesting = nesting(result)
            results = [t.detach() for t in flatten(result)]
            return [*results, *layout.those(held, list(self.convention.changed))]

    def run_unseeded(self, arguments: list[Any]) -> list[torch.Tensor]:
        """Return the outputs without a fixed seed for random numbers."""
        writes = self.convention.writes_arguments
        given = map_tensors(torch.clone, arguments) if writes else fresh_containers(arguments)
        fresh = self._seeded(secrets.randbits(63))
        with memory_apart(), fresh, self._guard(), torch.no_grad(), self._in_precision():
            return [t.detach() for t in flatten(self._call(self.modules[USUAL], given))]

    def run_with_hidden(self, arguments: list[Any], weights: str = USUAL) -> list[torch.Tensor]:
        """Return the outputs of ``run``, with the NaN that integers hid as one result more, unless
        the reference asks for NaN itself."""
        run = partial(self.run, weights=weights)
        return run(arguments) if self.convention.asks_for_specials else with_hidden(run, arguments)

    def in_float64(
        self,
        weights: str,
        arguments: list[Any],
        change: nudges.Change | None = None,
        watch: Watch = nullcontext,
    ) -> list[torch.Tensor] | None:
        """The outputs in float64; None if that fails.

        ``change`` is made to the weights before; ``watch`` is entered around the call.
        """

        def run(module: torch.nn.Module) -> Any:
            with watch():
                return self.run_module(module, arguments)

        with quick_convolutions(self.device), NarrowProducts():
            found = widened.run_in_float64(self.modules[weights], run, self._namings, change)
        return found and [nudges.widen(t) for t in as_real(found)]

    @property
    def n_namings(self) -> int:
        """The number of ways left in which types that are asked for by name become float64."""
        return len(self._namings)

    @property
    def widens_all_names(self) -> bool:
        """Whether every type that the reference asks for by name is replaced in float64."""
        return self.n_namings == len(widened.NAMINGS)

    def widen_fewer_names(self, n_namings: int) -> None:
        """Leave more types as they are in float64, until ``n_namings`` ways are left: the reference
        narrows for narrowing's sake, or reads the bits of its numbers."""
        del self._namings[: max(0, self.n_namings - n_namings)]

    def observe(self, arguments: list[Any], misfit: tuple[str, str] = MISFIT) -> Observed:
        """Watch one call; it may write to ``arguments``.

        Raises:
            TaskError: it fails; ``misfit`` says what to do.
        """
        module, context = self.modules[USUAL], f"with {layout.shapes_text(arguments)}"
        told = task_code(self.task, *misfit, context=context)
        with told, self._seeded(0), self._guard(), self._in_precision():
            held = [arguments, self.state(USUAL)]
            seen = observe(lambda: self._call(module, arguments), held, module)
        self.observed.append(replace(seen, outputs=[]))  # which may be large
        return seen

    def settle(self) -> None:
        """The whole reference has been seen to run."""
        self._guard.settle()
        self._seeded.settle()

    def _in_precision(self) -> AbstractContextManager[Any]:
        return without_tf32() if self.task.precision == FULL_PRECISION else nullcontext()

    def _call(self, module: torch.nn.Module, given: list[Any]) -> Any:
        """Return a module's results, with those that it puts into lists among its arguments."""
        module = copied(module) if self.convention.writes_weights else module
        with self.reference.in_its_type():
            return with_entries(module(*given), given, self.convention.entries)
