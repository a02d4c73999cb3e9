"""Profile: how the time of a model's forward is spread over groups of equal modules."""

from __future__ import annotations

import contextlib
import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from kernelwright.compiler.candidate.unchanged import description_of
from kernelwright.runtime.dispatch import forms_of

Run = Callable[[nn.Module], Any]
"""Runs the model once on the inputs that it is profiled with."""
N_PROFILED = 3
"""Forwards whose times are averaged, after one that warms up."""


@dataclass
class Group:
    """Modules that are equal in all but their weights' values, and are called with equal shapes.

    One kernel serves all of them: 32 equal layers are one task.
    """

    kind: str
    """The name of their class."""
    paths: list[str]
    """Where they are in the model, in the order of their calls."""
    share: float
    """The share of the forward's time that is spent in all of them."""
    n_calls: int
    """Calls of all of them in one forward."""
    why_not: str = ""
    """Why no kernel can be searched for it; empty where one can."""

    def holds(self, other: Group) -> bool:
        """Whether modules of the other group are inside modules of this one."""
        return any(
            path.startswith(f"{own}.") or not own for own in self.paths for path in other.paths
        )


@dataclass
class _Seen:
    """The calls of one module in a forward."""

    form: Any
    """The forms of its inputs at its first call."""
    why_not: str
    n_calls: int = 0
    spans: list[Any] = field(default_factory=list)
    """What a clock gave at the begin and the end of each call."""


def profile(model: nn.Module, run: Run) -> list[Group]:
    """The groups of a model's modules, the one with the largest share of the time first."""
    device = next((weight.device for weight in model.parameters()), torch.device("cpu"))
    clock = _Clock(device)
    seen: dict[str, _Seen] = {}
    with torch.no_grad():
        run(model)
        whole = []
        for _ in range(N_PROFILED):
            with _observed(model, seen, clock):
                start = clock.now()
                run(model)
                whole.append((start, clock.now()))
    clock.settle()
    whole_s = sum(clock.seconds(*span) for span in whole)
    return _groups(model, seen, lambda spans: sum(clock.seconds(*s) for s in spans) / whole_s)


def example_of(model: nn.Module, path: str, run: Run) -> list[Any]:
    """The inputs of the first call of a module, by position."""
    module, found = model.get_submodule(path), list[Any]()

    def remember(_: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        if not found:
            given, _why = by_position(module, args, named)
            found.extend(pytree.tree_map_only(torch.Tensor, torch.clone, given))

    handle = module.register_forward_pre_hook(remember, with_kwargs=True)
    try:
        with torch.no_grad():
            run(model)
    finally:
        handle.remove()
    return found


def by_position(
    module: nn.Module, args: tuple[Any, ...], named: dict[str, Any]
) -> tuple[list[Any], str]:
    """A call's inputs in the order of the forward's parameters, or why they have none."""
    if not named:
        return list(args), ""
    try:
        bound = inspect.signature(module.forward).bind(*args, **named)
    except TypeError as error:
        return [], str(error)
    if bound.kwargs:
        bound.apply_defaults()
    left = {name: value for name, value in bound.kwargs.items() if value not in (None, {}, ())}
    if left:
        return [], f"it is called with the keywords {', '.join(left)}"
    return list(bound.args), ""


class _Clock:
    """Marks on a device's own time line."""

    def __init__(self, device: torch.device) -> None:
        self.is_gpu = device.type == "cuda"

    def now(self) -> Any:
        if not self.is_gpu:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def settle(self) -> None:
        if self.is_gpu:
            torch.cuda.synchronize()

    def seconds(self, start: Any, end: Any) -> float:
        return float(start.elapsed_time(end) / 1e3 if self.is_gpu else end - start)


@contextlib.contextmanager
def _observed(model: nn.Module, seen: dict[str, _Seen], clock: _Clock) -> Iterator[None]:
    """Context in which every call of a module inside the model is noted."""
    with contextlib.ExitStack() as hooks:
        for path, module in model.named_modules():
            if path:
                before, after = _hooks(path, seen, clock)
                hooks.callback(module.register_forward_pre_hook(before, with_kwargs=True).remove)
                hooks.callback(module.register_forward_hook(after).remove)
        yield


def _hooks(path: str, seen: dict[str, _Seen], clock: _Clock) -> tuple[Any, Any]:
    open_calls: list[Any] = []

    def before(module: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        if path not in seen:
            given, why_not = by_position(module, args, named)
            seen[path] = _Seen(repr(forms_of(given)), why_not)
        open_calls.append(clock.now())

    def after(*_: Any) -> None:
        seen[path].n_calls += 1
        seen[path].spans.append((open_calls.pop(), clock.now()))

    return before, after


def _groups(
    model: nn.Module, seen: dict[str, _Seen], share: Callable[[Sequence[Any]], float]
) -> list[Group]:
    groups: dict[str, Group] = {}
    for path, calls in seen.items():
        module = model.get_submodule(path)
        weights = [(tuple(w.shape), str(w.dtype)) for w in module.state_dict().values()]
        key = repr((type(module), description_of(module, "", mode=True), weights, calls.form))
        group = groups.setdefault(key, Group(type(module).__name__, [], 0.0, 0, calls.why_not))
        group.paths.append(path)
        group.share += share(calls.spans)
        group.n_calls += calls.n_calls // N_PROFILED
    return sorted(groups.values(), key=lambda group: -group.share)
