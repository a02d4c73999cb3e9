"""The whole model in its forms without and with kernels, made and timed within a time.

Those without are made before anything is searched. The time that each of them takes to make is what
the same form with kernels is expected to take, so that a search can leave room for it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.core.device import Device
from kernelwright.core.errors import TaskError
from kernelwright.core.evaluation import Ratio
from kernelwright.core.standing import Standing
from kernelwright.judge.devices.backend import backend_of
from kernelwright.judge.scheduling.device_lock import DeviceLock
from kernelwright.models import forms
from kernelwright.models.clock import interleaved_ns, speedup
from kernelwright.models.given import Given
from kernelwright.models.swap import noted_misses, twin_of

COMPILE_SHARE = 0.5
"""The largest part of the budget that is spent on compiling the library's forms."""
COMPILE_S_PER_OPERATOR = 0.03
"""Seconds that torch.compile takes for one operator: 14 s for the 500 of BERT-base, beside an H200.
A recurrence that is written as a loop has thousands of them in an eager forward."""
TRACE_SHARE, TRACE_S_PER_OPERATOR = 0.4, 1.5e-3
"""The largest part of the budget that is spent on counting the operators that torch.compile would
see, which may be fewer: transformers' Mamba has a scan for it in place of the loop."""
BEFORE, WITH = "before", "with"
LONGER = 2.0
"""Number of times as long for which an undecided comparison goes on."""


class WholeModel:
    """The forms of one model, without and with kernels.

    ``budget_s`` is the time from now that all of it may take, with everything that happens between
    ``make_plain`` and ``time_all``.
    """

    def __init__(
        self,
        given: Given,
        *,
        budget_s: float,
        clock_s: float,
        tell: Callable[[str], None] = lambda doing: None,
    ) -> None:
        self.why_wrong: Callable[[Any], str] = lambda outputs: ""
        """Why outputs are not the model's; empty where they are. The library's are not asked for.
        """
        self.given, self.clock_s, self.tell = given, clock_s, tell
        self.budget_s, self.deadline = budget_s, time.monotonic() + budget_s
        self.without: dict[str, forms.Form] = {}
        """The forms without kernels."""
        self.making_s: dict[str, float] = {}
        """Seconds that each form took to make."""
        self.failed: dict[str, str] = {}
        """Forms that could not be made, or were not for lack of time, and the reasons."""
        self.times_ns: dict[str, list[int]] = {}
        self.plain = twin_of(given.model)
        """The model without kernels."""
        backend = backend_of(Device.parse(str(given.device)))
        self.device_lock = DeviceLock(backend.unit, backend.is_idle, backend.works_for)
        """Held while forms are timed: nobody else on this host measures meanwhile."""
        self.served: dict[str, forms.Form] = {}
        """The form that was made with the kernels that have been kept so far, by its name."""

    @property
    def left_s(self) -> float:
        """Seconds to the end of the budget."""
        return self.deadline - time.monotonic()

    @property
    def rest_s(self) -> float:
        """Seconds that ``time_all`` needs at the end: for the form with kernels that is made first,
        and for the library's own graphs."""
        if not self.without:
            return 0.0
        of_library_s = self.making_s[forms.OWN] if forms.OWN in self.without else 0.0
        first = forms.GRAPH if forms.GRAPH in self.without else self.ranked[0]
        return self.clock_s + of_library_s + (0.0 if self.served else self.making_s[first])

    @property
    def ranked(self) -> list[str]:
        """The forms without kernels that there are, the fastest first."""
        return sorted(self.without, key=lambda name: min(self.times_ns.get(name, [0])))

    def make_plain(self) -> None:
        """Make the forms without kernels, those that are most often the fastest first, and time
        them for a moment.

        Of the compiled forms only the first that can be made is made now, and the others at the
        end: they run the same code with more to do at every call. There is none if compiling
        would take too much of the budget.
        """
        n_eager = n_traced = operators_in(self.given)
        most = COMPILE_SHARE * self.budget_s / COMPILE_S_PER_OPERATOR
        if most < n_eager < TRACE_SHARE * self.budget_s / TRACE_S_PER_OPERATOR:
            n_traced = operators_traced(self.given)
        for form in forms.usable(self.given):
            compiles = form in forms.COMPILED
            n_operators = n_eager if form == forms.OWN else n_traced  # which is as eager runs it
            if compiles and n_operators > most:
                self.failed[form] = (
                    f"compiling {n_operators} operators may take "
                    f"{n_operators * COMPILE_S_PER_OPERATOR:.0f} s, more than the budget allows"
                )
            elif not compiles or self.without.keys().isdisjoint(forms.COMPILED):
                self.without |= self.made(form, {form: self.plain})
        self.times_ns = self.timed(self.without, min(1.0, self.clock_s))

    def time_all(self, kernels: Collection[str]) -> dict[str, list[int]]:
        """Return the times of all forms in the same rounds, by their names.

        ``kernels`` are the paths of the modules with kernels. The form in which they were kept is
        among them in any case, and so are the library's own graphs. While there is time the others
        with kernels are made, the one first that is the fastest without, and then the library's.
        """
        with_kernels: dict[str, forms.Form] = dict(self.served)
        with contextlib.suppress(KeyboardInterrupt):  # what is made by then is timed
            self.make_rest(kernels, with_kernels)
        made = self.without | with_kernels
        if made:  # none if it was interrupted before the first
            self.tell(f"timing {len(made)} forms of the whole model")
            self.times_ns = self.timed(made, self.clock_s)
        return self.times_ns

    def make_rest(self, kernels: Collection[str], with_kernels: dict[str, forms.Form]) -> None:
        """Make the forms that are missing before the last comparison, as ``time_all`` says; those
        with kernels are added to ``with_kernels``."""
        missing = [form for form in forms.usable(self.given) if form not in self.failed]
        if forms.REDUCE_OVERHEAD in missing:
            self.without |= self.made(forms.REDUCE_OVERHEAD, {forms.REDUCE_OVERHEAD: self.plain})
        for form in self.ranked if kernels else []:
            name = forms.WITH_KERNELS[form]
            is_wanted = name not in with_kernels
            if is_wanted and (not with_kernels or self.has_time_for(form, name)):
                with_kernels |= self.with_kernels(form, kernels)
        for form in missing:
            if form not in self.without | self.failed and self.has_time_for(form, form):
                self.without |= self.made(form, {form: self.plain})

    def has_time_for(self, form: str, name: str) -> bool:
        """Whether there is time to make a form of those without kernels, or the same with them,
        before the last comparison. If not, it is noted as the failure of that name."""
        made_s = [self.making_s[each] for each in self.without if each in forms.COMPILED]
        needs_s = self.making_s.get(form, max(made_s, default=0.0))
        if needs_s + self.clock_s <= self.left_s:
            return True
        self.failed[name] = "the budget was spent"
        return False

    def brought(self, kernels: Collection[str], before: Collection[str] = ()) -> Ratio:
        """How many times as fast the model is with these kernels as without, both in their fastest
        form.

        ``before`` are the paths of the modules whose kernels were kept before. A CUDA graph of the
        model with kernels takes a second to make: if it is not faster, the kernels are tried in the
        form that is the fastest without. So a kernel that does no more than what torch.compile does
        brings nothing.

        Raises:
            TaskError: no form can be made with the kernels.
        """
        ratio: Ratio | None = None
        for form in self.worth_trying:
            made = self.with_kernels(form, [*before, *kernels])
            if not made:
                continue
            (best,) = self.served.values() or (self.without[self.ranked[0]],)
            found = self.compared({BEFORE: best, WITH: next(iter(made.values()))})
            ratio = found if ratio is None or found.median > ratio.median else ratio
            if found.is_win:
                self.served = made
            if found.is_win or form != forms.GRAPH:
                break
        if ratio is None:
            raise TaskError(
                "the whole model runs with these kernels in no form",
                seen="; ".join(self.failed.values())[:300],
                do="report it: kernels should run wherever the modules do",
            )
        return ratio

    def compared(self, pair: Mapping[str, forms.Form]) -> Ratio:
        """How many times as fast ``WITH`` is as ``BEFORE``; what is undecided is timed for longer
        once."""
        samples = self.timed(pair, self.clock_s)
        if speedup(samples, WITH, BEFORE).standing is Standing.UNDECIDED:
            more = self.timed(pair, LONGER * self.clock_s)
            samples = {name: samples[name] + more[name] for name in pair}
        return speedup(samples, WITH, BEFORE)

    @property
    def worth_trying(self) -> list[str]:
        """The forms without kernels in the order in which kernels are tried in them: a CUDA graph,
        for which there is always time, and what is faster than that, as far as there is time."""
        in_time = [f for f in self.ranked if self.making_s[f] + self.clock_s < self.left_s]
        if forms.GRAPH not in self.without:
            return in_time or [forms.EAGER]
        faster = self.ranked[: self.ranked.index(forms.GRAPH)]
        return [forms.GRAPH, *(form for form in faster if form in in_time)]

    def with_kernels(self, form: str, paths: Collection[str]) -> dict[str, forms.Form]:
        """A twin of the model in a form of those without kernels, by the form's name with them.

        It has the kernels that the model has now. There is none if it cannot be made, or if no
        kernel serves there, as where torch.compile gives a layer other inputs.
        """
        name, twin = forms.WITH_KERNELS[form], twin_of(self.given.model)
        with noted_misses(twin, paths) as reasons:
            made = self.made(form, {name: twin})
        if made and len(reasons) >= len(paths):
            self.failed[name] = f"no kernel serves there: {reasons[0]}"
            return {}
        return made

    def made(self, form: str, models: Mapping[str, nn.Module]) -> dict[str, forms.Form]:
        """Models in a form of those without kernels, by name; but those that cannot be made."""
        found: dict[str, forms.Form] = {}
        for name, model in models.items():
            self.tell(f"making {name} of the whole model")
            began_s = time.monotonic()
            try:
                made = forms.made(form, self.given.with_model(model))
                if name not in forms.LIBRARY and (why := self.why_wrong(self.given.run(made))):
                    self.failed[name] = why
                else:
                    found[name] = made
                    self.failed.pop(name, None)  # with other kernels it could not be made
            except KeyboardInterrupt:
                self.failed[name] = "it was interrupted"
                raise
            except Exception as error:  # the library's compiler may raise anything for a model
                said = " ".join(f"{type(error).__name__}: {error}".split())
                self.failed[name] = said[:200]
            self.making_s[name] = time.monotonic() - began_s
        return found

    def timed(self, made: Mapping[str, forms.Form], limit_s: float) -> dict[str, list[int]]:
        with self.device_lock.exclusive():
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


def operators_traced(given: Given) -> int:
    """The number of operators in the graph that torch.compile makes of a forward, the first one if
    it makes several."""
    n_nodes = 0

    def count(graph: torch.fx.GraphModule, _: Any) -> Callable[..., Any]:
        nonlocal n_nodes
        n_nodes = len(graph.graph.nodes)
        raise _Counted

    with contextlib.suppress(Exception):  # which comes wrapped
        given.run(torch.compile(given.model, backend=count))
    given.restore()
    return n_nodes


class _Counted(Exception):
    """Ends a compilation when the graph is there."""
