"""What of a module is captured: all of it, or the children that can be, around graph breaks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from kernelwright.compiler.candidate.interface import (
    face_of,
    reference_text,
    result_imports,
    signature_of,
    with_parts,
)
from kernelwright.compiler.candidate.module import Face
from kernelwright.compiler.candidate.splice import Spliced, splice
from kernelwright.compiler.capture.capture import (
    NO_NAMES,
    CannotCapture,
    Captured,
    capture,
    is_same_in_both_modes,
)
from kernelwright.compiler.capture.free import Freed, freed
from kernelwright.compiler.capture.reads import may_be_read
from kernelwright.core.task import Task
from kernelwright.loaders.reference import CHECK_SEED, Reference, open_reference

Arguments = tuple[tuple[Any, ...], Mapping[str, Any]]
"""A call's arguments, by position and by name."""


@dataclass(frozen=True)
class Part:
    """A module whose forward becomes new: the task's own (path '') or one inside it."""

    path: str
    captured: Captured
    face: Face
    arguments: tuple[str, ...]
    """The names of the tensor inputs in the forward."""
    signature: str
    """The parameters of the forward."""
    freed: Iterator[Freed] = field(default_factory=lambda: iter(()))
    """The module captured with other leading sizes, the most free sizes first."""


def open_parts(
    task: Task, module: nn.Module, reference: Reference, device_kind: str
) -> tuple[Spliced, list[Part]]:
    """The reference's text, and its parts: one part where the whole module can be captured.

    ``module`` is one that ``reference`` has built.

    Raises:
        CannotCapture: neither the module nor any module in it can be.
    """
    try:
        inputs = reference.blank_inputs()
        captured = capture(module, inputs)
    except CannotCapture as whole:
        inputs = reference.inputs(CHECK_SEED)
        for_values = _captured_for_values(module, inputs)
        if for_values is None:
            try:
                return _children(task, module, inputs, device_kind)
            except CannotCapture as error:
                raise CannotCapture(f"{whole}; {error}") from error
        captured = for_values
    text = reference_text(task, module, captured, reference.init_inputs(CHECK_SEED))
    around = _Around(text, home_of(module), device_kind)
    return text, [around.part(task.name, "", module, (tuple(inputs), {}), captured)]


def _captured_for_values(module: nn.Module, inputs: list[Any]) -> Captured | None:
    """The graph for the integers that the forward reads on the host; None if it reads none."""
    if not any(map(may_be_read, tree_leaves(inputs))):
        return None
    try:
        return capture(module, inputs, reads=True)
    except CannotCapture:
        return None


@dataclass(frozen=True)
class _Around:
    """The facts that all parts of one file have in common."""

    text: Spliced
    home: str
    """The name of the file that the whole module's class is from."""
    device_kind: str

    def part(
        self, title: str, path: str, module: nn.Module, call: Arguments, captured: Captured
    ) -> Part:
        """One part: ``module``, of which ``call`` was captured.

        Raises:
            CannotCapture: text cannot say how forward is called, or what it returns.
        """
        text = replace(self.text, signature=signature_of(module)) if path else self.text
        face, arguments = face_of(title, module, captured, text, self.device_kind)
        inputs, named = call
        counts = mode_counts(module, inputs, captured, named)
        face = with_parts(face, module, text, self.home, mode=counts)
        rebuilt = text.bases == "Part"
        imports = result_imports(captured.outputs, self.home, rebuilt=rebuilt)
        face = replace(face, imports=imports)
        is_fixed = path or captured.read
        others = iter(()) if is_fixed else freed(module, inputs, captured)
        return Part(path, captured, face, arguments, text.signature, others)


def computes_the_same_in_both_modes(task: Task) -> bool:
    """Whether a task's module is captured as the same graph in training and in evaluation.

    Raises:
        TaskError: the task does not run.
    """
    reference = open_reference(task)
    module = reference.build(CHECK_SEED)
    try:
        inputs = reference.blank_inputs()
        return is_same_in_both_modes(module, inputs, capture(module, inputs))
    except CannotCapture:
        return False


def _children(
    task: Task, module: nn.Module, inputs: list[Any], device_kind: str
) -> tuple[Spliced, list[Part]]:
    try:
        text = splice(task.source, task.entry, task.entry, renames=False)
    except LookupError as error:
        raise CannotCapture(f"no class {error} at the top level") from error
    if text.needs_payload:
        raise CannotCapture("no source to keep around the parts that can be captured")
    around = _Around(text, home_of(module), device_kind)
    parts = list(_capturable(module, _calls(module, inputs), around))
    if not parts:
        raise CannotCapture("no part of the module can be captured")
    return text, parts


def home_of(module: nn.Module) -> str:
    """The name of the file that the module's class is from."""
    return type(module).__module__


def mode_counts(
    module: nn.Module,
    inputs: Sequence[Any],
    captured: Captured,
    named: Mapping[str, Any] = NO_NAMES,
) -> bool:
    """Whether kernels for training are no kernels for evaluation."""
    return not is_same_in_both_modes(module, inputs, captured, named)


def _calls(module: nn.Module, inputs: list[Any]) -> dict[str, Arguments]:
    """The arguments with which each module inside was called first."""
    calls: dict[str, Arguments] = {}

    def remember(path: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        calls.setdefault(path, (arguments, named))

    with contextlib.ExitStack() as hooks, torch.no_grad():
        for path, child in module.named_modules():
            if path:
                handle = child.register_forward_pre_hook(
                    lambda _, arguments, named, path=path: remember(path, arguments, named),
                    with_kwargs=True,
                )
                hooks.callback(handle.remove)
        module(*inputs)
    return calls


def _capturable(
    module: nn.Module, calls: dict[str, Arguments], around: _Around, prefix: str = ""
) -> Iterator[Part]:
    """The outermost modules inside that can be captured."""
    for name, child in module.named_children():
        path = f"{prefix}{name}"
        if path in calls and any(isinstance(a, torch.Tensor) for a in tree_leaves(calls[path])):
            try:
                captured = capture(child, *calls[path])
                yield around.part(path, path, child, calls[path], captured)
                continue
            except CannotCapture:
                pass
        yield from _capturable(child, calls, around, f"{path}.")
