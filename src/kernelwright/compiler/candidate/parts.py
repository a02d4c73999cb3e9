"""What of a module is captured: all of it, or the children that can be, around graph breaks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from kernelwright.compiler.candidate.interface import (
    face_of,
    reference_text,
    signature_of,
    with_parts,
)
from kernelwright.compiler.candidate.module import Face
from kernelwright.compiler.candidate.splice import Spliced, splice
from kernelwright.compiler.capture.capture import (
    CannotCapture,
    Captured,
    capture,
    is_same_in_both_modes,
)
from kernelwright.core.task import Task
from kernelwright.loaders.reference import CHECK_SEED, Reference, open_reference

Arguments = tuple[Any, ...]


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
        try:
            return _children(task, module, reference.inputs(CHECK_SEED), device_kind)
        except CannotCapture as error:
            raise CannotCapture(f"{whole}; {error}") from error
    text = reference_text(task, module, captured, reference.init_inputs(CHECK_SEED))
    face, arguments = face_of(task.name, module, captured, text, device_kind)
    counts = _mode_counts(module, inputs, captured)
    face = with_parts(face, module, text, _home(module), mode=counts)
    return text, [Part("", captured, face, arguments, text.signature)]


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
    task: Task, module: nn.Module, inputs: Sequence[Any], device_kind: str
) -> tuple[Spliced, list[Part]]:
    if task.payload is not None:
        raise CannotCapture("no source to keep around the parts that can be captured")
    try:
        text = splice(task.source, task.entry, task.entry, renames=False)
    except LookupError as error:
        raise CannotCapture(f"no class {error} at the top level") from error
    parts: list[Part] = []
    calls = _calls(module, inputs)
    for path, child, captured in _capturable(module, calls):
        shown = Spliced((), "", "", "", signature_of(child))
        face, arguments = face_of(path, child, captured, shown, device_kind)
        counts = _mode_counts(child, calls[path], captured)
        face = with_parts(face, child, shown, _home(module), mode=counts)
        parts.append(Part(path, captured, face, arguments, shown.signature))
    if not parts:
        raise CannotCapture("no part of the module can be captured")
    return text, parts


def _home(module: nn.Module) -> str:
    """The name of the file that the module's class is from."""
    return type(module).__module__


def _mode_counts(module: nn.Module, inputs: Sequence[Any], captured: Captured) -> bool:
    """Whether kernels for training are no kernels for evaluation."""
    return not is_same_in_both_modes(module, inputs, captured)


def _calls(module: nn.Module, inputs: Sequence[Any]) -> dict[str, Arguments]:
    """The arguments with which each module inside was called first, where all are positional."""
    calls: dict[str, Arguments] = {}

    def remember(path: str, arguments: Arguments, named: dict[str, Any]) -> None:
        if path not in calls and not named:
            calls[path] = arguments

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
    module: nn.Module, calls: dict[str, Arguments], prefix: str = ""
) -> Iterator[tuple[str, nn.Module, Captured]]:
    """The outermost modules inside that can be captured."""
    for name, child in module.named_children():
        path = f"{prefix}{name}"
        if path in calls and any(isinstance(a, torch.Tensor) for a in calls[path]):
            try:
                yield path, child, capture(child, calls[path])
                continue
            except CannotCapture:
                pass
        yield from _capturable(child, calls, f"{path}.")
