"""The oracle: what the reference returns, in float64 and in its own precision.

It runs in the judge's process. No candidate shares memory with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from kernelwright.core.errors import TaskError
from kernelwright.core.task import Task, Workload
from kernelwright.judge.compare.allowances import lie_on_borders, useful_part
from kernelwright.judge.compare.growth import Terms, count_terms, growths
from kernelwright.judge.compare.hidden import with_hidden
from kernelwright.judge.compare.measures import are_alike, as_real, differ, is_whole, narrowest
from kernelwright.judge.compare.outputs import LOOSE_SHARE, USELESS, Expected, expect
from kernelwright.judge.machine import layout
from kernelwright.judge.machine.entries import Path, anew, new_entries, with_entries
from kernelwright.judge.machine.layout import leaves, map_tensors
from kernelwright.judge.machine.overlaps import extent_of, overlapping
from kernelwright.judge.perturb.distributions import (
    CONSTANT,
    EQUAL_TERMS,
    FAR_FROM_ZERO,
    LARGE,
    MATCHED,
    NUMBERS,
    SPECIAL,
    UNEVEN,
    finite_as_usual,
    is_telling,
)
from kernelwright.judge.perturb.draws import OWN_WEIGHTS, TASK, TOUCHED, Draw, Other, derive_seed
from kernelwright.judge.perturb.fixed import find_fixed, renew, same_integers
from kernelwright.judge.perturb.index_collisions import n_collisions
from kernelwright.judge.perturb.large_weights import sets_of_weights
from kernelwright.judge.perturb.others import OTHERS_MISFIT, find_others
from kernelwright.judge.perturb.patterns import is_mask, is_symmetric
from kernelwright.judge.perturb.varied import Variation
from kernelwright.judge.reference import fitness, nudges, widened
from kernelwright.judge.reference.asserting import HostFirst
from kernelwright.judge.reference.convolutions import as_rounded, may_be_rounded
from kernelwright.judge.reference.kept import Kept
from kernelwright.judge.reference.observed import Observed, observe
from kernelwright.judge.reference.products import quick_convolutions
from kernelwright.judge.reference.reduced import widened_for
from kernelwright.judge.reference.spent import Spent
from kernelwright.judge.refusal import FAILURES, memory_apart
from kernelwright.loaders import open_reference
from kernelwright.loaders.copies import copied
from kernelwright.loaders.plain import flatten, require_dense_weights, weights_of
from kernelwright.loaders.reference import MISFIT, task_code
from kernelwright.loaders.seeding import seed_torch

Seat = Callable[[], AbstractContextManager[Any]]


class Oracle:
    """The reference of one task, with the results that were asked for before.

    ``seat`` is taken while the device is used; weights are drawn before, which may take seconds.

    Raises:
        TaskError: the reference does not run or is not deterministic.
    """

    def __init__(self, task: Task, device: str, secret: int, seat: Seat = nullcontext) -> None:
        self.task = task
        self.device = device
        self.secret = secret
        self.reference = open_reference(task)
        self._drawing = threading.Lock()  # seeds and standard output are the whole process's
        self.weight_seed = derive_seed(secret, "weights")
        self.initial = self.reference.init_inputs(self.weight_seed)
        module = layout.written_out(self.reference.build(self.weight_seed))
        require_dense_weights(module)
        with seat():
            self._look(module.to(device))

    def _look(self, module: torch.nn.Module) -> None:
        """Run the reference, and note what all verdicts need."""
        self.modules = {TASK: module}
        self.spent, self._namings = Spent(), [*widened.NAMINGS]  # on expected results
        self._kept = Kept(self.device)
        self._variation = Variation(self.spent()(self._takes), self.spent()(self._told))
        self.convolves = self.has_variance = self.factorises = self.constrains = False
        self.asked = self.refusals = frozenset[str]()  # the latter it raises itself
        self.mutates_arguments = True  # until more is known
        self.changed: list[bool] = []  # arguments that it writes to: results like others
        self.entries: tuple[Path, ...] = ()  # where it puts results into lists that it is given
        self.fixed_integers: list[bool] = []
        self.overlapping: set[tuple[int, int]] = set()  # outputs in one memory, by their numbers
        self._guard = HostFirst(self.device)
        draw = partial(self.reference.inputs, device=self.device)
        self.fixed, self.warnings = find_fixed(draw, self._forward_unseeded)
        self.others: dict[str, Other] = {}
        self.constrains = self._study()
        if self.constrains:  # its weights are no longer what they were
            module = layout.written_out(self.reference.build(self.weight_seed)).to(self.device)
        again = partial(self.reference.build, derive_seed(self.secret, "again"))
        seed = derive_seed(self.secret, "other weights")
        own = self.first_arguments
        runs = [partial(self._forward, arguments=one) for one in (own, nudges.moved_once(own))]
        self.modules = sets_of_weights(module, again, seed, runs, self._kept.has_room)
        self.has_weights = self.modules[TASK] is not module
        seed = derive_seed(self.secret, "others")
        given = self.reference.other_inputs(seed, self.device)
        self.others = find_others(given, self._look_at, seed)
        self.precision = self.task.precision
        if self.precision:
            fitness.require_float32(self.task, leaves([own, self.state(TASK), self.example]))
            self.expected(self.first, own)

    def state(self, weights: str) -> dict[str, torch.Tensor]:
        """The tensors of one set of weights, by name."""
        return {name: t.detach() for name, t in weights_of(self.modules[weights]).items()}

    @property
    def first_arguments(self) -> list[Any]:
        """``arguments`` of the task's first draw; not to be written to."""
        return self._first_arguments or self.arguments(self.first)

    def forget_first(self) -> None:
        """Draw them anew from now on, because memory is scarce, where a draw repeats."""
        if not any(map(differ, leaves(self.arguments(self.first)), leaves(self._first_arguments))):
            self._first_arguments = []

    def kept_arguments(self, draw: Draw) -> list[Any]:
        """``arguments`` of a draw that comes again; not to be written to."""
        if draw == self.first:
            return self.first_arguments
        key = ("arguments", draw)
        return self._kept[key] if key in self._kept else self.keep(key, self.arguments(draw))

    def arguments(self, draw: Draw) -> list[Any]:
        """The forward's arguments."""
        if draw.distribution in self.others:
            number = self.others[draw.distribution].number
            return self.reference.other_inputs(draw.seed, self.device)[number]
        own, again = (partial(self._drawn, seed) for seed in (draw.seed, draw.seed + 1))
        return self._variation.varied(own(), draw, self.fixed_integers, again)

    def _drawn(self, seed: int) -> list[Any]:
        """The arguments as the task draws them, those that never change varied."""
        with self._drawing:
            return renew(self.reference.inputs(seed, self.device), self.fixed, seed)

    def workload(self) -> Workload:
        """The task with the shapes that are judged."""
        return Workload(self.task.digest, tuple(map(layout.shape_of, self.arguments(self.first))))

    def expected(self, draw: Draw, arguments: list[Any]) -> Expected | None:
        """What the call should return; None where the reference itself fails on these inputs."""
        key = ("expected", draw)
        if key in self._kept:
            return self._kept[key]
        try:
            with self.spent():
                expected = self._compute(draw, arguments)
        except FAILURES as error:
            if self.is_own(draw):
                raise TaskError(
                    f"the reference fails on its own inputs ({draw.distribution})",
                    seen=f"{type(error).__name__}: {error}"[:300],
                    do="run the task's file by itself and mend it",
                ) from error
            self.refusals |= fitness.own_refusal(error)
            return None
        if draw == self.first:
            self.usual = replace(expected, exact=[], own=[], scales=[], finite=[])
        return self.keep(key, expected)

    def moved(
        self, draw: Draw, arguments: list[Any], expected: Expected, times: float
    ) -> tuple[list[torch.Tensor] | None, list[float]]:
        """``nudges.by_rounding`` of a draw."""
        run, growths = partial(self.in_float64, draw.weights), self.growth_ulp(draw, is_floor=False)
        return nudges.by_rounding(run, arguments, expected, growths, times=times)

    def _takes(self, changed: list[Any], usual: list[Any]) -> bool:
        """Whether the reference gives as many numbers as always, finite where those of ``usual``
        arguments are."""
        try:
            results = as_real(self._told(changed))
            is_alike = layout.same_shapes(results, as_real(self.example))
            return is_alike and finite_as_usual(results, lambda: self._told(usual))
        except FAILURES:
            return False

    def is_own(self, draw: Draw) -> bool:
        """Whether the inputs are the task's as it draws them."""
        return draw.distribution in (TASK, OWN_WEIGHTS, TOUCHED, *self.others)

    def run(self, arguments: list[Any], weights: str = TASK) -> list[torch.Tensor]:
        """The reference's outputs in its own precision; ``arguments`` stay as they are."""
        return self._forward(self.modules[weights], arguments)

    def _told(self, arguments: list[Any], weights: str = TASK) -> list[torch.Tensor]:
        """``run`` and the NaN that whole numbers hid, unless the reference asks for such itself."""
        run = partial(self.run, weights=weights)
        return run(arguments) if SPECIAL in self.asked else with_hidden(run, arguments)

    def _forward(self, module: torch.nn.Module, arguments: list[Any]) -> list[torch.Tensor]:
        given = anew(arguments)
        if self.mutates_arguments or any(self.returned):
            given = map_tensors(torch.clone, arguments)
        held = leaves(given)
        device = torch.device(self.device)
        own = [] if device.type == "cpu" else [device]  # else it starts every GPU of the machine
        apart = torch.random.fork_rng(own, device_type=device.type)
        with memory_apart(), self._guard(), torch.no_grad(), apart:
            seed_torch(self.weight_seed)
            results = [t.detach() for t in flatten(self._call(module, given))]
            return [*results, *layout.those(held, self.changed)]

    def _call(self, module: torch.nn.Module, given: list[Any]) -> Any:
        """What a module returns, and what it puts into lists among its arguments."""
        module = copied(module) if self.constrains else module
        with self.reference.in_its_type():
            return with_entries(module(*given), given, self.entries)

    def _compute(self, draw: Draw, arguments: list[Any]) -> Expected | None:
        run = partial(self.run, arguments, draw.weights)
        is_own = self.is_own(draw)
        is_given = is_own or draw.distribution == SPECIAL
        if not is_given and not is_telling(
            draw.distribution,
            lambda: self._told(arguments, draw.weights),
            lambda: self._told(self.arguments(Draw(TASK, draw.seed))),
        ):
            return None  # before float64, which costs most
        is_shaken = self.is_symmetric and not is_given
        if is_shaken and not all(self._takes(x, arguments) for x in nudges.shaken(arguments)):
            return None  # no longer definite, and the reference did not notice
        own = as_real(run())
        if not is_own and not layout.same_shapes(own, as_real(self.example)):
            return None  # a length or a scale among the inputs decides them
        if draw.distribution == NUMBERS:
            again = as_real(self._forward_unseeded(arguments))
            if not all(map(are_alike, own, again)):
                return None  # a chance that was zero no longer is, as dropout's
        wide = map_tensors(nudges.widen, arguments)
        while (exact := self.in_float64(draw.weights, wide)) is not None:
            if layout.same_shapes(own, exact):
                break
            del self._namings[0]  # it reads the bits of its numbers
        warnings = widened.NO_FLOAT64 if exact is None else ()
        exact = [nudges.widen(t) for t in own] if exact is None else exact
        exact, noise = fitness.without_noise(own, exact) if is_own else (exact, ())
        growths = self.growth_ulp(draw, is_floor=True)
        narrow = narrowest(leaves([arguments, list(self.state(draw.weights).values())]))
        by_row = draw.distribution not in UNEVEN
        expected = expect(own, exact, growths, by_row=by_row, narrow=narrow)
        names_all = len(self._namings) == len(widened.NAMINGS)
        if is_own and expected.reference_error > USELESS and names_all:
            del self._namings[0]  # it rounds to narrow types for the rounding's sake
            return self._compute(draw, arguments)
        if not (warnings or self.precision):
            is_useless = expected.reference_error > USELESS
            expected = useful_part(expected) if is_useless and not is_given else expected
            if expected is None or (is_useless and draw.distribution == OWN_WEIGHTS):
                return None  # nobody can say what is right
            moved = partial(self.moved, draw, arguments, expected)
            if is_own and (is_useless or lie_on_borders(moved, expected, narrow)):
                told = {"is_conditioned": True, "is_explained": True, "loose_share": LOOSE_SHARE}
                expected = replace(expect(own, [nudges.widen(t) for t in own], growths), **told)
                warnings = widened.OTHER_IN_FLOAT64
        loose = nudges.all_loose(own) if draw.distribution == LARGE else expected.loose
        typical = expected.typical if is_own and not warnings else []  # few values may be exact
        expected = replace(expected, warnings=(*warnings, *noise), loose=loose, typical=typical)
        if self.precision:
            return self._lowered(draw, arguments, expected)
        if self.convolves and may_be_rounded(self.device):
            return as_rounded(expected, run, is_own=is_own)
        return expected

    def _lowered(self, draw: Draw, arguments: list[Any], expected: Expected) -> Expected | None:
        """``expected`` with what the precision asked for explains; None where that is nearly all.

        Raises:
            TaskError: it is so on the task's own inputs.
        """
        if self.precision == "tf32" and not self.flops:
            return expected  # it is about products only
        given = self.precision, expected, self.modules[draw.weights], arguments
        in_float64 = partial(self.in_float64, draw.weights)
        wider = widened_for(*given, run=self._forward, in_float64=in_float64)
        if wider.reference_error <= USELESS or (draw.distribution == TASK and draw != self.first):
            return wider
        if draw == self.first:
            raise fitness.meaningless(self.task, wider.reference_error)
        return None

    def growth_ulp(self, draw: Draw, *, is_floor: bool) -> list[float]:
        """By how many ulp each output's sums may be off under a distribution; beside what moves
        with the inputs, what operators add up counts only ``is_floor``, or far from zero."""
        terms = self.others.get(draw.distribution, self).terms
        counts = terms.added if is_floor or draw.distribution == CONSTANT else terms.usual
        how = {"equal_terms": draw.distribution in EQUAL_TERMS, "has_products": self.flops > 0}
        loops = terms.added if not is_floor and draw.distribution in FAR_FROM_ZERO else counts
        return growths(counts, loops, **how, cancels=is_floor and draw.distribution == MATCHED)

    def in_float64(
        self,
        weights: str,
        arguments: list[Any],
        change: nudges.Change | None = None,
        watch: Seat = nullcontext,
    ) -> list[torch.Tensor] | None:
        """The outputs in float64, with a ``change`` of weights so changed, made while ``watch`` is
        entered; None if it fails."""

        def run(module: torch.nn.Module) -> Any:
            with watch():
                return self._forward(module, arguments)

        with quick_convolutions(self.device):
            found = widened.run_in_float64(self.modules[weights], run, self._namings, change)
        return found and [nudges.widen(t) for t in as_real(found)]

    def keep(self, key: tuple[str, Draw], value: Any) -> Any:
        """``value``, kept where it may come again: a timed call's inputs never do."""
        if key[1].distribution != TASK or key[1] == self.first:
            self._kept.offer(key, value)
        return value

    def _study(self) -> bool:
        """Look at the reference once; whether it writes to its weights, which are then copied."""
        self.first = Draw(TASK, derive_seed(self.secret, TASK, 0))
        arguments = self._first_arguments = self.arguments(self.first)
        given = map_tensors(torch.clone, arguments)
        held, seen = leaves(given), self._observed(given)
        self.entries = new_entries(given, held)
        if self.entries:  # once more, with those among the results
            given = map_tensors(torch.clone, arguments)
            held, seen = leaves(given), self._observed(given)
        results, self.nesting = [t.detach() for t in seen.outputs], seen.nesting
        self.flops, constrains = seen.flops, seen.constrains
        self._guard.settle()
        self.changed = fitness.written(held, arguments)
        self.mutates_arguments = any(self.changed)
        self.returned = layout.lie_in(results, held)
        ours = [*held, *weights_of(self.modules[TASK]).values()]  # overwritten by the judge itself
        self.ours = layout.lie_in(results, ours)
        run_again = partial(self._forward_unseeded, arguments)
        self.lent = layout.lie_in(results, [*ours, *run_again()])  # the same in every call
        outputs = [t.clone() for t in results] if any(self.returned) else results
        results = [*outputs, *layout.those(held, self.changed)]
        inputs = leaves([arguments, list(self.state(TASK).values())])
        fitness.require_known_types([*inputs, *outputs])
        n_added = [*seen.n_added, *[seen.most_added] * sum(self.changed)]
        self.terms = count_terms(inputs, results, self.flops, n_added, is_known=seen.is_known)
        del given, held, seen
        self.example = layout.without_memory(outputs)
        self.is_symmetric = any(map(is_symmetric, leaves(arguments)))
        self.has_integers = any(is_whole(t) or is_mask(t) for t in leaves(arguments))
        self.n_collisions = n_collisions(arguments, self.run)
        self.moved_bytes = layout.bytes_of([*inputs, *outputs])
        fitness.require_deterministic(outputs, self.modules[TASK], run_again)
        for number in range(1, 9):  # a yes or no is the same every other time
            other = self.arguments(Draw(TASK, derive_seed(self.secret, TASK, number)))
            found = self.run(other)
            if not all(map(torch.equal, results, found)):
                break
        self.fixed_integers = same_integers(arguments, other)
        self.warnings += fitness.degenerate(results, found)
        return constrains and not any(self.ours)

    def _look_at(self, arguments: list[Any]) -> tuple[list[torch.Tensor], Terms]:
        """The shapes of the results, and terms per output."""
        seen = self._observed(map_tensors(torch.clone, arguments), OTHERS_MISFIT)
        inputs = leaves([arguments, list(self.state(TASK).values())])
        results = [*seen.outputs, *layout.those(leaves(arguments), self.changed)]
        n_added = [*seen.n_added, *[seen.most_added] * sum(self.changed)]
        terms = count_terms(inputs, results, seen.flops, n_added, is_known=seen.is_known)
        return layout.without_memory(seen.outputs), terms

    def _observed(self, arguments: list[Any], misfit: tuple[str, str] = MISFIT) -> Observed:
        module, context = self.modules[TASK], f"with {layout.shapes_text(arguments)}"
        with task_code(self.task, *misfit, context=context), self._guard():
            held = [arguments, self.state(TASK)]
            seen = observe(lambda: self._call(module, arguments), held, module)
        self.asked |= seen.asked
        self.convolves |= seen.convolves
        self.overlapping |= overlapping([extent_of(t) for t in seen.outputs])
        self.has_variance |= seen.takes_variance
        self.factorises |= seen.factorises
        return seen

    def _forward_unseeded(self, arguments: list[Any]) -> list[torch.Tensor]:
        given = map_tensors(torch.clone, arguments) if self.mutates_arguments else anew(arguments)
        with memory_apart(), self._guard(), torch.no_grad():
            return [t.detach() for t in flatten(self._call(self.modules[TASK], given))]
