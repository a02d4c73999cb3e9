"""``kw.accelerate``: kernels for the modules of a model where they pay in the model.

The model is profiled. Equal modules are one task. The task with the most time above the roofline is
searched first, and what is inside it only if it brings nothing. A kernel stays if the model's
outputs are still right and the whole model is faster with it than without, by an interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from kernelwright import api
from kernelwright.archive import ranking
from kernelwright.core.device import Device
from kernelwright.core.errors import KernelwrightError, TaskError
from kernelwright.core.evaluation import Ratio
from kernelwright.core.settings import Settings, load_settings
from kernelwright.core.standing import Standing
from kernelwright.core.task import Task
from kernelwright.loaders import load
from kernelwright.models import forms
from kernelwright.models.clock import speedup
from kernelwright.models.gate import Deviation, Gate, why_unsteady
from kernelwright.models.given import Given
from kernelwright.models.profile import Group, example_of, profile
from kernelwright.models.swap import Swapped, missing, put_in, take_out
from kernelwright.models.whole import WholeModel
from kernelwright.runtime.build import build
from kernelwright.runtime.calls import ByPosition, Uncallable
from kernelwright.runtime.dispatch import Key, forms_of, modes_of
from kernelwright.search.result import OnProgress, Progress, Result, write_source
from kernelwright.workers.workers import Workers

LEAST_WORTH = 0.02
"""Groups where the best possible kernel would save a smaller share of the model's time are left
alone."""
LEAST_ALONE = 0.4
"""Right kernels that are slower than this beside the library's best setting of their module are not
tried in the model. A call of a module alone counts its time on the host, of which a CUDA graph of
the model has none."""
MIN_SEARCH_S = 8.0
"""The least time of one search; the budget is spent on as many groups as that allows."""
BESIDE_S = 20.0
"""Seconds that a search takes besides its budget: to open the judge, for the last verdicts, and to
weigh the kernel in the model. After the first search none is begun with less time left."""
MOST_SHARE = 0.6
"""The largest part of what is left of the budget that one search takes."""
CLOCK_SHARE, MIN_CLOCK_S = 0.03, 3.0
"""The time of one comparison of the whole model, as a share of the budget, and at least."""
UNDECIDED = "the times of the whole model vary too much to tell; end what else runs here"
BEATEN_BY_NONE = (nn.Linear, nn.Embedding, nn.modules.conv._ConvNd)
"""Alone they are one product of the library's, which rules do not beat; they count in others."""


@dataclass(frozen=True)
class Step:
    """What became of one group of modules."""

    group: Group
    outcome: str
    """'kept', 'dropped' (it does not pay in the model, or the outputs are off), 'no win',
    'failed', 'skipped'."""
    why: str = ""
    result: Result | None = None
    brought: Ratio | None = None
    """The model's time without the kernels over its time with them, both with those kept before."""
    deviation: Deviation | None = None


@dataclass
class Accelerated:
    """A model with kernels in its modules, and the evidence.

    ``model`` is the object that was given. It has its own type, weights and names of state.
    """

    model: nn.Module
    steps: list[Step] = field(default_factory=list)
    kernels: dict[str, Swapped] = field(default_factory=dict)
    """By the module's path: the kernels' files, by the inputs that they serve."""
    times_ns: dict[str, list[int]] = field(default_factory=dict)
    """The whole model's times in rounds, by the names in ``forms``."""
    failed_forms: dict[str, str] = field(default_factory=dict)
    """Forms that could not be made of this model within the budget, and the reasons."""
    deviation: Deviation | None = None
    interrupted: bool = False

    @property
    def library(self) -> str:
        """The fastest of the library's own forms; empty if nothing was timed."""
        return self._fastest(forms.LIBRARY)

    @property
    def plain(self) -> str:
        """The fastest form without kernels: the library's, or a CUDA graph of compiled code."""
        return self._fastest(forms.WITH_KERNELS)

    @property
    def form(self) -> str:
        """The fastest form that the library does not have: with kernels if some were kept, or a
        CUDA graph of compiled code; empty if there is none."""
        return self._fastest([forms.OWN, *(forms.WITH_KERNELS.values() if self.kernels else ())])

    @property
    def speedup(self) -> Ratio | None:
        """End to end: the fastest library form's time over that of ``form``; None if that is not
        faster."""
        ratio = self.over_library(self.form) if self.form and self.library else None
        return ratio if ratio and ratio.is_win else None

    @property
    def by_kernels(self) -> Ratio | None:
        """The part of ``speedup`` that is the kernels': the time of the fastest form without them
        over that of the fastest with them; None if no kernel was kept."""
        with_kernels = self._fastest(forms.WITH_KERNELS.values()) if self.kernels else ""
        return speedup(self.times_ns, with_kernels, self.plain) if with_kernels else None

    def over_library(self, form: str) -> Ratio:
        """How many times as fast a form is as the fastest one of the library."""
        return speedup(self.times_ns, form, self.library)

    def _fastest(self, names: Iterable[str]) -> str:
        return forms.fastest([name for name in names if name in self.times_ns], self.times_ns)

    def fastest(self, inputs: Any) -> Callable[..., Any]:
        """The model in the fastest form that was measured, for inputs like those given.

        It is the model itself, what torch.compile makes of it, or a CUDA graph of it, whose outputs
        the next call overwrites.
        """
        name = self.form if self.speedup else self.library
        return forms.made(forms.without_kernels(name), Given(self.model, inputs))

    def __repr__(self) -> str:
        n_kept = sum(step.outcome == "kept" for step in self.steps)
        said = f"{self.speedup} × {self.library}" if self.speedup else "the library stays best"
        return f"<Accelerated {type(self.model).__name__}: {said}, {n_kept} kinds of modules>"

    def save(self, folder: Path | str) -> Path:
        """Write the kernels and where they belong; ``load_accelerated`` puts them into a model."""
        from kernelwright.models.saved import save

        return save(self, Path(folder))


def accelerate(
    model: nn.Module,
    inputs: Any,
    *,
    on_progress: OnProgress = lambda progress: None,
    on_step: Callable[[Step], None] = lambda step: None,
    on_miss: str = "warn",
    workers: Workers | None = None,
    **settings: Any,
) -> Accelerated:
    """Make a model faster by kernels for its modules, without gradients, for inputs like these.

    ``inputs`` are the arguments of one forward: a tensor, a list, or a dict by keyword;
    ``settings`` are those of ``optimize``. ``budget_s`` is for all of it: the library's forms are
    compiled and timed first, then modules are searched, and time is kept for the last comparison.
    The budget is exceeded by what had begun, such as one search's last verdicts. ``workers``, such
    as those of a cluster, do the searches; None: this process does. They must be like this machine,
    because the model is profiled and timed in this process. The model is changed in place;
    where nothing pays it is left as it was. Ctrl-C keeps what was found, and the same call resumes
    from the archive.

    Raises:
        TaskError: it is no module, it does not run, its inputs are elsewhere, its weights are no
            plain tensors, or two forwards do not agree.
    """
    given = Given(model, inputs)
    given.require_plain_weights()
    resolved = load_settings(Path.cwd(), **({"device": given.device.type} | settings))
    if Device.parse(resolved.device).torch_kind != given.device.type:
        raise TaskError(
            "the model is on another device than it is to be accelerated for",
            seen=f"{given.device}, and {resolved.device}",
            do=f"move the model and its inputs to {resolved.device}, or name no device",
        )

    n_threads = torch.get_num_threads()

    def search(task: Task, settings: Settings) -> Result:
        try:
            return api.optimize(task, on_progress=on_progress, workers=workers, **asdict(settings))
        finally:  # with another number torch would compile the whole model's forms again
            torch.set_num_threads(n_threads)

    run = Acceleration(given, resolved, search, on_step, on_miss)
    run.on_progress = on_progress
    given.require_repeatable()
    return run.run()


class Acceleration:
    """One run of ``accelerate``; ``search`` finds the kernel of one task."""

    def __init__(
        self,
        given: Given,
        settings: Settings,
        search: Callable[[Task, Settings], Result],
        on_step: Callable[[Step], None] = lambda step: None,
        on_miss: str = "warn",
    ) -> None:
        self.given, self.settings = given, settings
        self.search, self.on_step, self.on_miss = search, on_step, on_miss
        self.found = Accelerated(given.model)
        self.put_in: set[str] = set()
        """Paths of the modules that have kernels now."""
        self.on_progress: OnProgress = lambda progress: None
        self.whole = WholeModel(
            given,
            budget_s=settings.budget_s,
            clock_s=max(MIN_CLOCK_S, CLOCK_SHARE * settings.budget_s),
            tell=self.tell,
        )
        self.found.failed_forms = self.whole.failed

    def run(self) -> Accelerated:
        """Try the groups one after the other, and measure what came of it.

        An exception leaves the model as it was.
        """
        try:
            return self.searched()
        except BaseException:
            take_out(self.given.model, self.put_in)
            raise

    def searched(self) -> Accelerated:
        """The same; an exception leaves kernels in the model. Ctrl-C ends the searches, and what
        was found is measured."""
        try:
            self.search_groups()
        except KeyboardInterrupt:
            self.found.interrupted = True
            half_done = self.put_in - self.found.kernels.keys()
            take_out(self.given.model, half_done)
            self.put_in -= half_done
        self.measure()
        return self.found

    def search_groups(self) -> None:
        """Search the groups one after the other, until the budget or the groups are spent."""
        self.tell("computing the exact outputs")
        self.gate = Gate(self.given)
        self.whole.why_wrong = lambda outputs: self.gate.compare(outputs).why_refused
        self.tell("profiling")
        with self.whole.device_lock.exclusive():
            waiting = profile(self.given)
        self.whole.make_plain()
        while waiting:
            group = waiting.pop(0)
            step = self.tried(group, waiting)
            self.found.steps.append(step)
            self.on_step(step)
            if step.outcome == "kept":  # what is inside it is served with it
                waiting = [left for other in waiting if (left := other.beside(group)).paths]
            if step.result is not None and step.result.interrupted:
                self.found.interrupted = True
                return

    def tried(self, group: Group, waiting: Sequence[Group]) -> Step:
        """Search a kernel for a group, and keep it if it pays in the model."""
        left_s = self.whole.left_s - self.whole.rest_s
        why = group.why_not or self.why_skipped(group, left_s)
        if why:
            return Step(group, "skipped", why)
        others = sum(other.worth * (1.0 - group.holds(other)) for other in waiting)
        share = group.worth / (group.worth + others)
        budget_s = max(MIN_SEARCH_S, (left_s - BESIDE_S) * min(share, MOST_SHARE))
        path = group.paths[0]
        try:
            example = example_of(self.given, path)
            module = self.given.model.get_submodule(path)
            target = module if group.call.is_plain else ByPosition(module, group.call)
            if why := why_unsteady(Given(target, example)):
                return Step(group, "skipped", why)
            name = f"{group.kind}-{path.replace('.', '-')}".rstrip("-")
            task = load(target, inputs=example, name=name)
            in_turn = replace(self.settings, budget_s=budget_s, tries_uses=False, compiled=False)
            result = self.search(task, in_turn)
            found = self.most_promising(result)
        except Exception as error:  # a fault of one search costs its group, not the run
            return Step(group, "failed", _words(error))
        if found.best is None or found.source_path is None:
            return Step(group, "no win", _why_no_win(result), result)
        return self.weighed(group, example, found)

    def most_promising(self, result: Result) -> Result:
        """A result with a right candidate that is not much slower than the library's best setting,
        where none is faster: the model may have no such setting for this module.

        torch.compile of a layer alone gets the inputs of an eager call; in a whole model of
        transformers it gets masks besides.
        """
        right = ranking.ranked(result.evaluated)
        if result.best is not None or not right:
            return result
        proposal, verdict = right[0]
        if verdict.speedup is None or verdict.speedup.median < LEAST_ALONE:
            return result
        source = write_source(proposal.candidate, Path(self.settings.out), result.task.name)
        return replace(result, best=proposal, evaluation=verdict, source_path=source)

    def why_skipped(self, group: Group, left_s: float) -> str:
        if group.worth < LEAST_WORTH:
            return f"less than {LEAST_WORTH:.0%} of the time can be won"
        if isinstance(self.given.model.get_submodule(group.paths[0]), BEATEN_BY_NONE):
            return "one product, which is the library's"
        has_searched = any(step.result for step in self.found.steps)
        return "" if left_s > (BESIDE_S if has_searched else 0.0) else "the budget is spent"

    def weighed(self, group: Group, example: Sequence[Any], result: Result) -> Step:
        """Put a kernel into all modules of a group; take it out if it does not pay."""
        model = self.given.model
        try:
            kernels = self.built(group, example, result)
        except Exception as error:  # a kernel's file may raise anything
            return Step(group, "failed", _words(error), result)
        self.put_in |= kernels.keys()
        step = self.measured(group, result, kernels)
        if step.outcome != "kept":
            take_out(model, kernels)
            self.put_in -= kernels.keys()
            return step
        assert result.source_path is not None
        for path, swapped in kernels.items():
            files = dict.fromkeys(swapped.kernels, result.source_path)
            self.found.kernels[path] = Swapped(group.call, files)
        self.found.deviation = step.deviation
        return step

    def built(self, group: Group, example: Sequence[Any], result: Result) -> dict[str, Swapped]:
        """Build the kernel of a result for each module of a group, by the module's path."""
        model, device = self.given.model, self.given.device
        kernels: dict[str, Swapped] = {}
        for path in group.paths:
            kernel = build(result, on_miss=self.on_miss).to(device)
            modes = (
                () if getattr(kernel, "any_mode", False) else modes_of(model.get_submodule(path))
            )
            key: Key = (device.type, forms_of(example), modes)
            kernels[path] = Swapped(group.call, {key: kernel})
        return kernels

    def measured(self, group: Group, result: Result, kernels: Mapping[str, Swapped]) -> Step:
        """Put kernels in, and say whether the outputs are right and the model is faster."""
        model, given = self.given.model, self.given
        try:
            put_in(model, kernels, self.on_miss)
            with missing(model, kernels, "raise"):
                deviation = self.gate.compare(given.run(model))
            if deviation.why_refused:
                return Step(group, "dropped", deviation.why_refused, result, deviation=deviation)
            brought = self.brought(kernels)
        except Exception as error:  # a kernel may raise anything
            return Step(group, "failed", _words(error), result)
        if brought.is_win:
            return Step(group, "kept", "", result, brought, deviation)
        why = UNDECIDED if _is_undecided(brought) else "the whole model is not faster"
        return Step(group, "dropped", why, result, brought, deviation)

    def brought(self, kernels: Mapping[str, Swapped]) -> Ratio:
        """How many times as fast the whole model is with these kernels as without."""
        return self.whole.brought(kernels, self.put_in - kernels.keys())

    def measure(self) -> None:
        """Time the model with kernels beside all forms without; undo it where these win."""
        self.found.times_ns = self.whole.time_all(self.found.kernels)
        ratio, plain = self.found.by_kernels, self.found.plain
        if ratio and ratio.is_win and self.found.speedup is None:  # the library's times vary more
            ratio, plain = None, self.found.library
        if self.found.kernels and (ratio is None or not ratio.is_win):
            why = UNDECIDED if ratio and _is_undecided(ratio) else f"{plain} is as fast"
            take_out(self.given.model, self.found.kernels)
            self.put_in.clear()
            self.found.kernels.clear()
            self.found.steps = [
                replace(step, outcome="dropped", why=why) if step.outcome == "kept" else step
                for step in self.found.steps
            ]

    def tell(self, doing: str) -> None:
        name = type(self.given.model).__name__
        self.on_progress(Progress(name, doing, None, 0, self.whole.left_s))


def _is_undecided(ratio: Ratio) -> bool:
    return ratio.standing is Standing.UNDECIDED


def _words(error: Exception) -> str:
    """Return what an exception says, on one line."""
    if isinstance(error, KernelwrightError):
        said = f"{error.what}: {error.seen}" if error.seen else error.what
    else:
        said = str(error) if isinstance(error, Uncallable) else f"{type(error).__name__}: {error}"
    return " ".join(said.split())[:300]


def _why_no_win(result: Result) -> str:
    if result.reasons:
        return "; ".join(result.reasons)
    said = result.conclusion.sentence(result.strongest)
    right = [found.speedup for _, found in ranking.ranked(result.evaluated) if found.speedup]
    if right:
        return f"{said}: the best right kernel is {right[0]} times as fast"
    statuses = Counter(found.status.value for _, found in result.evaluated if not found.passed)
    return f"{said}; {', '.join(f'{n} {status}' for status, n in statuses.items())}".rstrip("; ")
