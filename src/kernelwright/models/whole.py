"""The whole model in the library's forms and in those with kernels, made and timed within a time.

The library's forms are made before anything is searched. The time that each of them takes to make
is what the same form with kernels is expected to take, so that a search can leave room for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.core.evaluation import Ratio
from kernelwright.models import forms
from kernelwright.models.clock import interleaved_ns, speedup
from kernelwright.models.given import Given
from kernelwright.models.swap import noted_misses, take_out, twin_of

COMPILE_SHARE = 0.5
"""The largest part of the budget that is spent on compiling the library's forms."""
COMPILE_S_PER_OPERATOR = 0.03
"""Seconds that torch.compile takes for one operator of an eager forward: 14 s for the 500 of
BERT-base, beside an H200. A recurrence that is written as a loop has thousands of them."""


class WholeModel:
    """The forms of one model, those of the library and those with kernels.

    ``budget_s`` is the time from now that all of it may take, with everything that happens between
    ``make_library`` and ``time_all``.
    """

    def __init__(
        self,
        given: Given,
        *,
        budget_s: float,
        clock_s: float,
        tell: Callable[[str], None] = lambda doing: None,
    ) -> None:
        self.given, self.clock_s, self.tell = given, clock_s, tell
        self.budget_s, self.deadline = budget_s, time.monotonic() + budget_s
        self.library: dict[str, forms.Form] = {}
        self.making_s: dict[str, float] = {}
        """Seconds that each form took to make."""
        self.failed: dict[str, str] = {}
        """Forms that could not be made, or were not for lack of time, and the reasons."""
        self.times_ns: dict[str, list[int]] = {}

    @property
    def left_s(self) -> float:
        """Seconds to the end of the budget."""
        return self.deadline - time.monotonic()

    @property
    def rest_s(self) -> float:
        """Seconds that ``time_all`` needs at the end, for one form with kernels."""
        return self.making_s.get(self.ranked[0], 0.0) + self.clock_s if self.library else 0.0

    @property
    def ranked(self) -> list[str]:
        """The library's forms that there are, the fastest first."""
        return sorted(self.library, key=lambda name: min(self.times_ns.get(name, [0])))

    def make_library(self) -> None:
        """Make the library's forms, those that are most often the fastest first, and time them for
        a moment. A form is left out if compiling it would take too much of the budget."""
        plain, spent_s = twin_of(self.given.model), 0.0
        n_operators = operators_in(self.given)
        for form in forms.usable(self.given):
            compiles = form in forms.COMPILED
            needs_s = (
                max(self.making_s.values()) if spent_s else n_operators * COMPILE_S_PER_OPERATOR
            )
            if compiles and spent_s + needs_s > COMPILE_SHARE * self.budget_s:
                self.failed[form] = (
                    f"compiling {n_operators} operators may take {needs_s:.0f} s, more than the "
                    "budget allows"
                )
                continue
            self.library |= self.made(form, {form: plain})
            if compiles:
                spent_s += self.making_s[form]
        self.times_ns = self.timed(self.library, min(1.0, self.clock_s))

    def time_all(self, kernels: Mapping[str, Any]) -> dict[str, list[int]]:
        """Return the times of all forms in the same rounds, by their names.

        ``kernels`` are the paths of the modules with kernels. Their forms are made in the order in
        which the library's are fast: the first in any case, the others while there is time.
        """
        made = dict(self.library)
        for form in self.ranked if kernels else ():
            has_one = len(made) > len(self.library)
            name = forms.WITH_KERNELS[form]
            if has_one and self.making_s[form] + self.clock_s > self.left_s:
                self.failed[name] = "the budget was spent"
            else:
                made |= self.with_kernels(form, kernels)
        self.tell(f"timing {len(made)} forms of the whole model")
        self.times_ns = self.timed(made, self.clock_s)
        return self.times_ns

    def with_kernels(self, form: str, paths: Mapping[str, Any]) -> dict[str, forms.Form]:
        """The model with kernels in one of the library's forms, by its name; nothing where no
        kernel serves there, as where torch.compile gives a layer other inputs."""
        name = forms.WITH_KERNELS[form]
        with noted_misses(self.given.model, paths) as reasons:
            made = self.made(form, {name: self.given.model})
        if made and len(reasons) >= len(paths):
            self.failed[name] = f"no kernel serves there: {reasons[0]}"
            return {}
        return made

    def brought(self, kernels: Mapping[str, Any]) -> Ratio:
        """How many times as fast the model is with these kernels as without, in CUDA graphs if
        there can be any: without them a GPU waits for the calls, whatever the kernels take."""
        without = twin_of(self.given.model)
        take_out(without, kernels)
        for form in (forms.GRAPH, forms.EAGER):
            if form in self.library:
                pair = {forms.KERNELS: self.given.model, form: without}
                with_and_without = self.made(form, pair)
                if len(with_and_without) == 2:
                    break
        samples = self.timed(with_and_without, self.clock_s)
        return speedup(samples, forms.KERNELS, form)

    def made(self, form: str, models: Mapping[str, nn.Module]) -> dict[str, forms.Form]:
        """Models in one of the library's forms, by name; without those that cannot be made."""
        found: dict[str, forms.Form] = {}
        for name, model in models.items():
            self.tell(f"making {name} of the whole model")
            began_s = time.monotonic()
            try:
                found[name] = forms.made(form, self.given.with_model(model))
            except Exception as error:  # the library's compiler may raise anything for a model
                said = " ".join(f"{type(error).__name__}: {error}".split())
                self.failed[name] = said[:200]
            self.making_s[name] = time.monotonic() - began_s
        return found

    def timed(self, made: Mapping[str, forms.Form], limit_s: float) -> dict[str, list[int]]:
        return interleaved_ns(
            {name: partial(self.given.call, form) for name, form in made.items()},
            device=self.given.device,
            limit_s=limit_s,
            prepare=self.given.restore,
        )


class _Counting(TorchDispatchMode):
    """Counts the operators that are called."""

    n = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.n += 1
        return func(*args, **(kwargs or {}))


def operators_in(given: Given) -> int:
    """The number of operators that one eager forward calls, views included."""
    given.restore()
    with _Counting() as counting:
        given.call(given.model)
    given.restore()
    return counting.n
