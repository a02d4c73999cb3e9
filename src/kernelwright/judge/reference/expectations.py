"""Works out in float64 what a call should return, and how far from it an answer may lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from kernelwright.core.errors import TaskError
from kernelwright.core.outcome import Warned
from kernelwright.judge.checks import OWN_WEIGHTS, TASK, Draw
from kernelwright.judge.compare.expected import USELESS, Expected, as_own, expect, useful_part
from kernelwright.judge.compare.growth import summation_growth
from kernelwright.judge.compare.measures import all_finite, are_alike, as_real, is_whole, narrowest
from kernelwright.judge.profile import TaskProfile
from kernelwright.judge.reference import fitness, lowered, nudges, widened
from kernelwright.judge.reference.forward import Forward
from kernelwright.judge.reference.kept import Kept, Spent
from kernelwright.judge.reference.setup_store import SetupStore, StoredExpectation
from kernelwright.judge.refusal import FAILURES
from kernelwright.judge.sandbox import layout
from kernelwright.judge.sandbox.layout import leaves, map_tensors


class Expectations:
    """The reference's answers. They are kept for later candidates as far as memory allows."""

    def __init__(
        self,
        forward: Forward,
        profile: TaskProfile,
        arguments_of: Callable[[Draw], list[Any]],
        *,
        first: Draw,
        kept: Kept,
        spent: Spent,
        store: SetupStore,
    ) -> None:
        self._forward, self._profile = forward, profile
        self._arguments_of, self._first = arguments_of, first
        self._kept, self.spent, self._store = kept, spent, store
        self.usual: Expected | None = None
        """The allowances on the task's own inputs, without the numbers."""

    def of(self, draw: Draw, arguments: list[Any]) -> Expected | None:
        """Return what the call should return; None if the reference has no answer on these inputs.

        Raises:
            TaskError: it fails on its own inputs.
        """
        key = ("expected", draw)
        if key in self._kept:
            kept: Expected | None = self._kept[key]
            return kept
        try:
            expected = self._found(draw, arguments)
        except FAILURES as error:
            if draw.check.is_own:
                raise TaskError(
                    f"the reference fails on its own inputs ({draw.name})",
                    seen=f"{type(error).__name__}: {error}"[:300],
                    do="run the task's file by itself and mend it",
                ) from error
            return None
        if draw == self._first and expected is not None:
            outputs = tuple(one.without_numbers() for one in expected.outputs)
            self.usual = replace(expected, outputs=outputs)
        return self.keep(draw, expected)

    def keep(self, draw: Draw, expected: Expected | None) -> Expected | None:
        """Keep ``expected`` in memory if it may be asked for again."""
        if self._comes_again(draw):
            self._kept.offer(("expected", draw), expected)
        return expected

    def moved(
        self, draw: Draw, arguments: list[Any], expected: Expected, times: float
    ) -> tuple[list[torch.Tensor] | None, list[float]]:
        """Return the float64 results when inputs and weights of a draw move by so many ulp, and how
        many times farther each output may be off; see ``nudges.by_rounding``."""
        run = partial(self._forward.in_float64, draw.weights)
        growth_ulp = self._growth_ulp(draw)
        return nudges.by_rounding(run, arguments, expected, growth_ulp, times=times)

    def accepts(self, changed: list[Any], usual: list[Any]) -> bool:
        """Whether the reference gives results of the usual shapes for ``changed`` arguments, finite
        wherever those of ``usual`` arguments are."""
        return accepts(self._forward, self._profile.results.example, changed, usual)

    def _found(self, draw: Draw, arguments: list[Any]) -> Expected | None:
        """Take an expectation from the store, or work it out."""
        forward, may_come_again = self._forward, self._comes_again(draw)
        given = [arguments, list(forward.state(draw.weights).values())]
        if may_come_again and (kept := self._store.read(draw, given, forward.device)) is not None:
            forward.widen_fewer_names(kept.n_namings)
            return kept.expected
        with self.spent() as took:
            expected = self._compute(draw, arguments)
        if may_come_again:
            self._store.keep(draw, given, StoredExpectation(expected, forward.n_namings), took())
        return expected

    def _comes_again(self, draw: Draw) -> bool:
        """Whether a draw may be asked for again: that of a timed call never is."""
        return draw.check is not TASK or draw == self._first

    def _compute(self, draw: Draw, arguments: list[Any]) -> Expected | None:
        check, forward = draw.check, self._forward
        own = self._own(draw, arguments)
        if own is None:
            return None  # before float64, which costs most
        exact, warnings = self._exact(draw, arguments, own)
        exact, noise = fitness.without_noise(own, exact) if check.is_own else (exact, ())
        growth_ulp = self._growth_ulp(draw)
        narrow = narrowest(leaves([arguments, list(forward.state(draw.weights).values())]))
        by_row = not check.tolerance.by_output
        expected = expect(own, exact, growth_ulp, by_row=by_row, narrow=narrow)
        is_useless = not expected.is_useful
        if is_useless and check.is_own and forward.widens_all_names:
            forward.widen_fewer_names(forward.n_namings - 1)
            return self._compute(draw, arguments)
        if is_useless and not (self._profile.precision or check.answer_counts):
            if check.is_own and check is not OWN_WEIGHTS:
                expected = as_own(own, list(map(nudges.widen, own)), growth_ulp)
                warnings = (widened.OTHER_IN_FLOAT64,)
            elif check is OWN_WEIGHTS or not any(one.is_useful for one in expected.outputs):
                return None  # nobody can say what is right
            else:
                expected = useful_part(expected)
        if check.tolerance.choices_are_luck:
            expected = nudges.all_loose(expected)
        if not check.is_own or warnings:  # few values may be exact
            outputs = tuple(replace(one, typical=0.0) for one in expected.outputs)
            expected = replace(expected, outputs=outputs)
        expected = replace(expected, warnings=(*warnings, *noise))
        return self._less_precise(draw, arguments, expected)

    def _own(self, draw: Draw, arguments: list[Any]) -> list[torch.Tensor] | None:
        """The reference's results in its own precision; None where they do not say how right others
        are."""
        check, forward = draw.check, self._forward
        if not self._has_answer(draw, arguments):
            return None
        own = as_real(forward.run(arguments, draw.weights))
        if not check.is_own and not layout.same_shapes(own, as_real(self._profile.results.example)):
            return None  # a length or a scale among the inputs decides the shapes
        if check.tolerance.may_be_random:
            again = as_real(forward.run_unseeded(arguments))
            if not all(map(are_alike, own, again)):
                return None  # a dropout with a probability of zero is one case
        return own

    def _has_answer(self, draw: Draw, arguments: list[Any]) -> bool:
        """Whether the reference's results under a check are finite, and no matter of luck."""
        if draw.check.is_own or draw.check.answer_counts:
            return True
        forward = self._forward
        results = as_real(forward.run_with_hidden(arguments, draw.weights))
        # Large sums round by more than they differ from weights of one: which one leads is luck.
        if draw.check.tolerance.choices_are_luck and all(map(is_whole, results)):
            return False

        def run_usual() -> list[torch.Tensor]:
            return forward.run_with_hidden(self._arguments_of(Draw(TASK, draw.seed)))

        if not is_finite_as_usual(results, run_usual):
            return False
        if not self._profile.inputs.is_symmetric:
            return True
        # A matrix may no longer be definite without the reference noticing.
        return all(self.accepts(x, arguments) for x in nudges.shaken(arguments))

    def _exact(
        self, draw: Draw, arguments: list[Any], own: list[torch.Tensor]
    ) -> tuple[list[torch.Tensor], tuple[Warned, ...]]:
        """Return the results in float64, or the reference's ``own`` if it does not run in float64;
        with warnings."""
        wide = map_tensors(nudges.widen, arguments)
        while (exact := self._forward.in_float64(draw.weights, wide)) is not None:
            if layout.same_shapes(own, exact):
                return exact, ()
            self._forward.widen_fewer_names(self._forward.n_namings - 1)
        return [nudges.widen(t) for t in own], (widened.NO_FLOAT64,)

    def _less_precise(
        self, draw: Draw, arguments: list[Any], expected: Expected
    ) -> Expected | None:
        """Allow the errors that a reduced precision, or the library's TF32, explains; None if that
        is nearly everything.

        Raises:
            TaskError: that is so on the task's own inputs.
        """
        profile, forward = self._profile, self._forward
        if not profile.precision:
            if not profile.may_round_to_tf32:
                return expected
            run = partial(forward.run, arguments, draw.weights)
            return lowered.for_convolutions(expected, run, is_own=draw.check.is_own)
        if profile.precision == "tf32" and not profile.work.flops:
            return expected  # it is about products only
        wider = lowered.for_precision(
            profile.precision,
            expected,
            forward.modules[draw.weights],
            arguments,
            run=forward.run_module,
            in_float64=partial(forward.in_float64, draw.weights),
        )
        is_timed = draw.check is TASK and draw != self._first
        if wider.reference_error <= USELESS or is_timed:
            return wider
        if draw == self._first:
            raise fitness.meaningless(forward.task, wider.reference_error)
        return None

    def _growth_ulp(self, draw: Draw) -> list[float]:
        """Return by how many ulp each output's sums may be off under a check."""
        work = self._profile.work
        return [
            summation_growth(
                n, equal_terms=draw.check.tolerance.equal_terms, has_products=work.flops > 0
            )
            for n in (draw.shapes.terms if draw.shapes else work.terms)
        ]


def accepts(
    forward: Forward, example: list[torch.Tensor], changed: list[Any], usual: list[Any]
) -> bool:
    """Whether the reference gives results like the ``example`` for ``changed`` arguments, finite
    wherever those of ``usual`` arguments are."""
    try:
        results = as_real(forward.run_with_hidden(changed))
        is_alike = layout.same_shapes(results, as_real(example))
        return is_alike and is_finite_as_usual(results, lambda: forward.run_with_hidden(usual))
    except FAILURES:
        return False


def is_finite_as_usual(
    results: list[torch.Tensor], run_usual: Callable[[], list[torch.Tensor]]
) -> bool:
    """Whether results are finite, except where the usual ones are not either, as behind masks. A
    NaN that integers hide is one more result, see ``compare.hidden``."""
    if all_finite(results):
        return True
    others = as_real(run_usual())
    pairs = zip(results, others, strict=False)
    is_usual = (torch.equal(one.isfinite(), usual.isfinite()) for one, usual in pairs)
    return len(results) == len(others) and all(is_usual)
