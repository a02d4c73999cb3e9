"""``kw.accelerate``: kernels for the modules of a model where they pay in the model.

The model is profiled. Equal modules are one task. The task with the largest share of the time is
searched first, and what is inside it only if it brings nothing. A kernel stays if the model's
outputs are still right and the whole model is faster with it than without, by an interval.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from kernelwright import api
from kernelwright.core.errors import KernelwrightError, TaskError
from kernelwright.core.evaluation import Ratio
from kernelwright.core.settings import Settings, load_settings
from kernelwright.loaders import load
from kernelwright.models.clock import interleaved_ns, speedup
from kernelwright.models.gate import Deviation, Gate, tensors_of
from kernelwright.models.profile import Group, example_of, profile
from kernelwright.models.swap import put_in, take_out, twin_of
from kernelwright.runtime.build import build
from kernelwright.runtime.dispatch import Key, forms_of, modes_of
from kernelwright.search.result import OnProgress, Result

MIN_SHARE = 0.02
"""Groups with a smaller share of the model's time are left alone: all of it would bring 2 %."""
MIN_SEARCH_S = 8.0
"""The least time of one search; the budget is spent on as many groups as that allows."""
MOST_SHARE = 0.4
"""The largest part of what is left of the budget that one search takes."""
CLOCK_SHARE, MIN_CLOCK_S = 0.03, 3.0
"""The time of one comparison of the whole model, as a share of the budget, and at least."""
BEATEN_BY_NONE = (nn.Linear, nn.Embedding, nn.modules.conv._ConvNd)
"""Alone they are one product of the library's, which rules do not beat; they count in others."""
KERNELS, WITHOUT = "kernels", "without"
LIBRARY_FORMS: Mapping[str, dict[str, Any] | None] = {
    "eager": None,
    "compile": {},
    "compile_graph": {"mode": "reduce-overhead"},
}
"""The library's own forms of a model: arguments of torch.compile; the last one on GPUs only."""


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
    kernels: dict[str, dict[Key, Path]] = field(default_factory=dict)
    """By the module's path: the kernels' files, by the inputs that they serve."""
    times_ns: dict[str, list[int]] = field(default_factory=dict)
    """The whole model's times in rounds: the library's forms, 'kernels' and 'kernels, compile'."""
    failed_forms: dict[str, str] = field(default_factory=dict)
    """Forms that torch.compile could not make of this model, and the reasons."""
    deviation: Deviation | None = None
    interrupted: bool = False

    @property
    def library(self) -> str:
        """The fastest of the library's own forms; empty if nothing was timed."""
        return _fastest([name for name in self.times_ns if name in LIBRARY_FORMS], self.times_ns)

    @property
    def form(self) -> str:
        """The fastest form with kernels; empty if no kernel was kept."""
        return _fastest([n for n in self.times_ns if n not in LIBRARY_FORMS], self.times_ns)

    @property
    def speedup(self) -> Ratio | None:
        """End to end: the fastest library form's time over the fastest form's with kernels; None
        if no kernel was kept."""
        return self.over_library(self.form) if self.kernels and self.times_ns else None

    def over_library(self, form: str) -> Ratio:
        """How many times as fast a form is as the fastest one of the library."""
        return speedup(self.times_ns, form, self.library)

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
    **settings: Any,
) -> Accelerated:
    """Make a model faster by kernels for its modules, without gradients, for inputs like these.

    ``inputs`` are the arguments of one forward: a tensor, a list, or a dict by keyword;
    ``settings`` are those of ``optimize``, and ``budget_s`` is for all searches together. The model
    is changed in place; where nothing pays it is left as it was. Ctrl-C keeps what was found, and
    the same call resumes from the archive.

    Raises:
        TaskError: it is no module, its inputs are elsewhere, its weights are no plain tensors, or
            two forwards do not agree.
    """
    given = _Given(model, inputs)
    kind = given.device.type
    resolved = load_settings(Path.cwd(), **({"device": kind} | settings))
    given.require_usable()
    search = _Acceleration(given, resolved, on_progress, on_step, on_miss)
    try:
        return search.run()
    except BaseException:
        take_out(model, search.found.kernels)
        raise


class _Given:
    """A model with the inputs of one forward."""

    def __init__(self, model: nn.Module, inputs: Any) -> None:
        if not isinstance(model, nn.Module):
            raise TaskError(
                "there is no model to accelerate",
                seen=type(model).__name__,
                do="give a torch.nn.Module",
            )
        self.model = model
        named = dict(inputs) if isinstance(inputs, Mapping) else {}
        listed = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        self.inputs: tuple[tuple[Any, ...], dict[str, Any]] = (
            () if named else tuple(listed),
            named,
        )
        self.device = next((w.device for w in model.parameters()), torch.device("cpu"))

    def run(self, model: Callable[..., Any]) -> Any:
        args, named = self.inputs
        with torch.no_grad():
            return model(*args, **named)

    def require_usable(self) -> None:
        """Raise a TaskError where no kernel could be put into the model."""
        kinds = {type(weight).__name__ for weight in self.model.parameters()} - {"Parameter"}
        if kinds:
            raise TaskError(
                "the model's weights are no plain tensors, as sharded and quantised ones are not",
                seen=", ".join(sorted(kinds)),
                do="accelerate the model before it is sharded or quantised",
            )
        elsewhere = {t.device for t in tensors_of(self.inputs)} - {self.device}
        if elsewhere:
            raise TaskError(
                "the inputs are on another device than the model",
                seen=f"{', '.join(map(str, elsewhere))}, and {self.device}",
                do=f"move the inputs to {self.device}",
            )
        first, second = (tensors_of(self.run(self.model)) for _ in range(2))
        if not all(
            torch.allclose(a, b, equal_nan=True) for a, b in zip(first, second, strict=True)
        ):
            raise TaskError(
                "the model is not deterministic: two forwards on the same inputs differ",
                seen="training mode" if self.model.training else "evaluation mode",
                do="call model.eval() first" if self.model.training else "fix its random seed",
            )


class _Acceleration:
    """One run of ``accelerate``."""

    def __init__(
        self, given: _Given, settings: Settings, on_progress: OnProgress,
        on_step: Callable[[Step], None], on_miss: str,
    ) -> None:  # fmt: skip
        self.given, self.settings, self.on_miss = given, settings, on_miss
        self.on_progress, self.on_step = on_progress, on_step
        self.found = Accelerated(given.model)
        self.deadline = time.monotonic() + settings.budget_s
        self.clock_s = max(MIN_CLOCK_S, CLOCK_SHARE * settings.budget_s)

    def run(self) -> Accelerated:
        model, given = self.given.model, self.given
        self.gate = Gate(model, given.inputs, given.run(model))
        waiting = profile(model, given.run)
        while waiting:
            group = waiting.pop(0)
            step = self.tried(group, waiting)
            self.found.steps.append(step)
            self.on_step(step)
            if step.outcome == "kept":  # what is inside it is served with it
                waiting = [other for other in waiting if not group.holds(other)]
            if step.result is not None and step.result.interrupted:
                self.found.interrupted = True
                break
        self.measure()
        return self.found

    def tried(self, group: Group, waiting: Sequence[Group]) -> Step:
        """Search a kernel for a group, and keep it if it pays in the model."""
        left_s = self.deadline - time.monotonic()
        why = group.why_not or self.why_skipped(group, left_s)
        if why:
            return Step(group, "skipped", why)
        share = group.share / (group.share + sum(g.share for g in waiting if not group.holds(g)))
        budget_s = max(MIN_SEARCH_S, left_s * min(share, MOST_SHARE))
        path = group.paths[0]
        example = example_of(self.given.model, path, self.given.run)
        try:
            module = self.given.model.get_submodule(path)
            name = f"{group.kind}-{path.replace('.', '-')}"
            task = load(module, inputs=example, name=name)
            result = api.optimize(
                task,
                on_progress=self.on_progress,
                **asdict(replace(self.settings, budget_s=budget_s)),
            )
        except KernelwrightError as error:
            return Step(group, "failed", error.what)
        if result.best is None or result.source_path is None:
            return Step(group, "no win", _why_no_win(result), result)
        return self.weighed(group, example, result)

    def why_skipped(self, group: Group, left_s: float) -> str:
        if group.share < MIN_SHARE:
            return f"less than {MIN_SHARE:.0%} of the time"
        if isinstance(self.given.model.get_submodule(group.paths[0]), BEATEN_BY_NONE):
            return "one product, which is the library's"
        return "" if left_s > 0 else "the budget is spent"

    def weighed(self, group: Group, example: Sequence[Any], result: Result) -> Step:
        """Put a kernel into all modules of a group; take it out if it does not pay."""
        model, given = self.given.model, self.given
        kernels: dict[str, dict[Key, nn.Module]] = {}
        for path in group.paths:
            kernel = build(result, on_miss=self.on_miss).to(given.device)
            modes = (
                () if getattr(kernel, "any_mode", False) else modes_of(model.get_submodule(path))
            )
            key: Key = (given.device.type, forms_of(example), modes)
            kernels[path] = {key: kernel}
        try:
            put_in(model, kernels, self.on_miss)
            deviation = self.gate.compare(given.run(model))
        except KernelwrightError as error:
            take_out(model, kernels)
            return Step(group, "failed", error.what, result)
        if deviation.why_refused:
            take_out(model, kernels)
            return Step(group, "dropped", deviation.why_refused, result, deviation=deviation)
        brought = self.brought(kernels)
        if not brought.is_win:
            take_out(model, kernels)
            return Step(
                group, "dropped", "the whole model is not faster", result, brought, deviation
            )
        assert result.source_path is not None
        for path, by_key in kernels.items():
            self.found.kernels[path] = dict.fromkeys(by_key, result.source_path)
        self.found.deviation = deviation
        return Step(group, "kept", "", result, brought, deviation)

    def brought(self, kernels: Mapping[str, Mapping[Key, nn.Module]]) -> Ratio:
        """How many times as fast the model is with these kernels as without."""
        model, run = self.given.model, self.given.run
        without = twin_of(model)
        take_out(without, kernels)
        samples = interleaved_ns(
            {KERNELS: lambda: run(model), WITHOUT: lambda: run(without)},
            device=self.given.device,
            limit_s=self.clock_s,
        )
        return speedup(samples, KERNELS, WITHOUT)

    def measure(self) -> None:
        """Time the model with kernels beside all forms of the library; undo it where these win."""
        if not self.found.kernels:
            return
        model, run = self.given.model, self.given.run
        plain = twin_of(model)
        take_out(plain, self.found.kernels)
        forms: dict[str, Callable[[], object]] = {KERNELS: lambda: run(model)}
        on_gpu = self.given.device.type == "cuda"
        for name, arguments in LIBRARY_FORMS.items():
            if name != "compile_graph" or on_gpu:
                forms |= self.running(name, plain, arguments)
        forms |= self.running(f"{KERNELS}, compile", model, {})
        self.found.times_ns = interleaved_ns(
            forms, device=self.given.device, limit_s=2 * self.clock_s
        )
        ratio = self.found.speedup
        if ratio is None or not ratio.is_win:
            take_out(model, self.found.kernels)
            self.found.kernels.clear()
            self.found.steps = [
                replace(step, outcome="dropped", why=f"{self.found.library} is as fast")
                if step.outcome == "kept"
                else step
                for step in self.found.steps
            ]

    def running(
        self, name: str, model: nn.Module, arguments: dict[str, Any] | None
    ) -> dict[str, Callable[[], object]]:
        """A form of the model by its name; none where the library cannot make it."""
        if arguments is None:
            return {name: lambda: self.given.run(model)}
        compiled = torch.compile(model, **arguments)
        try:
            self.given.run(compiled)
        except Exception as error:  # the library's compiler may raise anything for a user's model
            said = " ".join(f"{type(error).__name__}: {error}".split())
            self.found.failed_forms[name] = said[:200]
            return {}
        return {name: lambda: self.given.run(compiled)}


def _why_no_win(result: Result) -> str:
    if result.reasons:
        return "; ".join(result.reasons)
    return result.conclusion.sentence(result.strongest)


def _fastest(names: Sequence[str], times_ns: Mapping[str, Sequence[int]]) -> str:
    """The name with the smallest median; empty if there is none."""
    return min(names, key=lambda name: statistics.median(times_ns[name]), default="")
