"""Profile: how the time of a model's forward is spread over groups of equal modules."""

from __future__ import annotations

import contextlib
import re
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from kernelwright.compiler.candidate.unchanged import HOOKS, description_of
from kernelwright.models.given import Given
from kernelwright.models.roofline import least_s
from kernelwright.runtime.calls import PLAIN, Call, Uncallable, call_of
from kernelwright.runtime.dispatch import forms_of

N_PROFILED = 5
"""Forwards of which the median is taken, after one that warms up."""
CONTAINER_SHARE = 0.5
"""A module is a container if equal modules inside it have more than this share of its time, or of
its least time, which is the same in every run."""
_NUMBER = re.compile(r"(^|_)(idx|index|id|number)$")
"""Names of attributes in which a module keeps its own number in a list of equal ones."""


@dataclass
class Group:
    """Modules that are equal in all but their weights' values, and are called with equal shapes.

    One kernel serves all of them: 32 equal layers are one task.
    """

    kind: str
    """The name of their class."""
    paths: list[str]
    """Where they are in the model, in the order of their calls; the model itself is at ''."""
    share: float
    """The share of the forward's time that is spent in all of them."""
    n_calls: int
    """Calls of all of them in one forward."""
    why_not: str = ""
    """Why no kernel can be searched for it; empty where one can."""
    call: Call = PLAIN
    """How they are called."""
    room: float = 1.0
    """The share of their time above what memory traffic and arithmetic take at the least."""

    @property
    def worth(self) -> float:
        """The share of the model's time that the best possible kernel would save."""
        return self.share * self.room

    def holds(self, other: Group) -> float:
        """The share of the other group's modules that are inside modules of this one."""
        return sum(any(_is_inside(p, own) for own in self.paths) for p in other.paths) / len(
            other.paths
        )

    def beside(self, kept: Group) -> Group:
        """The group without modules that are inside those of another one, or around them."""
        paths = [
            path
            for path in self.paths
            if not any(_is_inside(path, own) or _is_inside(own, path) for own in kept.paths)
        ]
        left = len(paths) / len(self.paths)
        n_calls = round(self.n_calls * left)
        return replace(self, paths=paths, share=self.share * left, n_calls=n_calls)


def _is_inside(path: str, other: str) -> bool:
    return path.startswith(f"{other}.") or not other


@dataclass
class _Seen:
    """The calls of one module in a forward."""

    form: str
    """The forms of its inputs at its first call."""
    call: Call
    why_not: str
    spans: list[list[Any]] = field(default_factory=list)
    """For each forward, what a clock gave at the begin and the end of each call."""


@dataclass(frozen=True)
class _Time:
    """One module's part of the forward's time, as shares."""

    share: float
    least: float
    """The share that it would have at the rates of memory and arithmetic."""


def profile(given: Given) -> list[Group]:
    """The groups of a model's modules, the one where most can be won first."""
    clock = _Clock(given.device)
    seen: dict[str, _Seen] = {}
    given.run(given.model)
    whole = []
    for number in range(N_PROFILED):
        given.restore()
        with _observed(given.model, seen, clock, number):
            start = clock.now()
            given.call(given.model)
            whole.append((start, clock.now()))
    clock.settle()
    whole_s = statistics.median(clock.seconds(*span) for span in whole)

    def share(calls: _Seen) -> float:
        each = [sum(clock.seconds(*span) for span in spans) for spans in calls.spans]
        return min(1.0, statistics.median(each) / whole_s)

    least = least_s(given)
    times = {
        path: _Time(share(calls), least.get(path, 0.0) / whole_s) for path, calls in seen.items()
    }
    return _groups(given.model, seen, times)


def example_of(given: Given, path: str) -> list[Any]:
    """The inputs of the first call of a module, in the order of ``Group.call``."""
    found: list[Any] = []

    def remember(module: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        if not found:
            _, inputs = call_of(module, args, named)
            found.extend(pytree.tree_map_only(torch.Tensor, _copied, inputs))

    module = given.model.get_submodule(path)
    handle = module.register_forward_pre_hook(remember, with_kwargs=True)
    try:
        given.run(given.model)
    finally:
        handle.remove()
    return found


def _copied(tensor: torch.Tensor) -> torch.Tensor:
    """A copy with the same strides, on which kernels count; an expanded one is expanded again."""
    own = tensor
    for axis, (size, step) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
        if size > 1 and step == 0:
            own = own.narrow(axis, 0, 1)
    form = own.shape, own.stride()
    copy = torch.empty_strided(*form, dtype=own.dtype, device=own.device).copy_(own)
    return copy.expand(tensor.shape)


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
def _observed(
    model: nn.Module, seen: dict[str, _Seen], clock: _Clock, number: int
) -> Iterator[None]:
    """Context in which every call of the model and of a module inside it is noted."""
    with contextlib.ExitStack() as hooks:
        for path, module in model.named_modules():
            before, after = _hooks(path, seen, clock, number)
            hooks.callback(module.register_forward_pre_hook(before, with_kwargs=True).remove)
            hooks.callback(module.register_forward_hook(after).remove)
        yield


def _hooks(path: str, seen: dict[str, _Seen], clock: _Clock, number: int) -> tuple[Any, Any]:
    open_calls: list[Any] = []

    def before(module: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        if path not in seen:
            try:
                call, inputs = call_of(module, args, named)
                seen[path] = _Seen(repr((call, forms_of(inputs))), call, "")
            except Uncallable as error:
                seen[path] = _Seen(str(error), PLAIN, str(error))
        open_calls.append(clock.now())

    def after(*_: Any) -> None:
        spans = seen[path].spans
        spans += [[] for _ in range(number + 1 - len(spans))]
        spans[number].append((open_calls.pop(), clock.now()))

    return before, after


def _groups(model: nn.Module, seen: Mapping[str, _Seen], times: Mapping[str, _Time]) -> list[Group]:
    groups: dict[str, Group] = {}
    for path, calls in seen.items():
        module = model.get_submodule(path)
        weights = [(tuple(w.shape), str(w.dtype)) for w in module.state_dict().values()]
        key = repr((type(module), _description(model, path), weights, calls.form))
        why_not = calls.why_not or _why_hooked(module)
        group = groups.setdefault(
            key, Group(type(module).__name__, [], 0.0, 0, why_not, calls.call)
        )
        group.paths.append(path)
        group.share += times[path].share
        group.n_calls += len(calls.spans[-1])
    found = list(groups.values())
    for group in found:
        least = sum(times[path].least for path in group.paths)
        group.room = max(0.0, 1.0 - least / group.share) if group.share else 0.0
        group.why_not = group.why_not or _why_container(group, found, times)
    return sorted(found, key=lambda group: (-_worth_whole(group, found), group.paths[0].count(".")))


def _worth_whole(group: Group, groups: Sequence[Group]) -> float:
    """A group's worth, which is not less than that of others inside it: clocks are noisy."""
    return max(other.worth * (1.0 if other is group else group.holds(other)) for other in groups)


def _description(model: nn.Module, path: str) -> Any:
    """Parts and constants of a module; the number that it has in a list of modules is left out."""
    numbers = {int(step) for step in path.split(".") if step.isdigit()}

    def without_number(own: Any) -> Any:
        if not isinstance(own, dict):
            return own
        return {
            name: "its number" if _NUMBER.search(name) and value in numbers else value
            for name, value in own.items()
        }

    described = description_of(model.get_submodule(path), "", mode=True)
    return {part: (kind, without_number(own)) for part, (kind, own) in described.items()}


def _why_hooked(module: nn.Module) -> str:
    """Why a kernel cannot stand for a module whose parts have hooks, which it would not call."""
    hooked = (path for path, part in module.named_modules() if path and _has_hooks(part))
    path = next(hooked, None)
    return "" if path is None else f"its part {path} has hooks, which a kernel would not call"


def _has_hooks(part: nn.Module) -> bool:
    return any(getattr(part, name) for name in HOOKS)


def _why_container(group: Group, groups: Sequence[Group], times: Mapping[str, _Time]) -> str:
    """Why a group's modules are not searched whole: equal ones inside them are, once for all."""
    path = group.paths[0]
    inside: dict[int, list[str]] = defaultdict(list)
    for number, other in enumerate(groups):
        inside[number] += [p for p in other.paths if p != path and _is_inside(p, path)]
    for number, paths in inside.items():
        least, share = (sum(times[p].least for p in paths), sum(times[p].share for p in paths))
        is_most = least > CONTAINER_SHARE * times[path].least
        is_most = is_most or share > CONTAINER_SHARE * times[path].share
        has_parts = any(_is_inside(p, own) for own in paths[:1] for p in times)
        if len(paths) > 1 and has_parts and is_most:
            return f"it holds {len(paths)} equal modules {groups[number].kind}, searched as one"
    return ""
