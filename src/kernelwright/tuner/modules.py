"""Candidates as modules in the tuner's process: imported, given the task's weights, and checked."""

from __future__ import annotations

import contextlib
import importlib.util
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from kernelwright.core.trial import TrialOutcome
from kernelwright.judge.compare.float8 import computing_with
from kernelwright.judge.compare.outputs import compare
from kernelwright.judge.compare.pieces import same_bits
from kernelwright.judge.refusal import WrongValues
from kernelwright.judge.sandbox.blank import WORTH_BYTES, made_blank
from kernelwright.judge.sandbox.layout import flat_source
from kernelwright.judge.sandbox.weights import load_weights
from kernelwright.loaders import open_reference
from kernelwright.loaders.plain import flatten
from kernelwright.tuner.question import Question

LAYING_OUT = {
    "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "zeros",
    "zeros_like", "new_zeros", "full", "full_like", "new_full", "ones", "ones_like", "new_ones",
    "fill_", "zero_", "clone", "copy_", "_to_copy", "detach", "lift_fresh", "_unsafe_view",
    "_reshape_alias", "set_",
}  # fmt: skip
"""Operators that make, copy or lay out tensors and compute nothing."""
SMALL_SHARE = 1 / 8
"""Share of the task's largest tensor up to which the library may compute on tensors: sums of what
programs have added up."""


class Unfit(Exception):
    """A candidate is out of the race: how its trial ended, and what was seen."""

    def __init__(self, outcome: TrialOutcome, detail: str) -> None:
        self.outcome = outcome
        super().__init__(detail)


def imported(source: str, name: str, folder: Path) -> dict[str, Any]:
    """Return the names that a candidate's file defines; importing it builds its kernels.

    The file stays in ``folder``, because Triton reads the text of its kernels there.
    """
    path = folder / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)


def reference(question: Question) -> torch.nn.Module:
    """Return the task's own module on the question's device, with its weights; large ones are not
    drawn before."""
    opened, device = open_reference(question.task), torch.device(question.device)

    def make() -> torch.nn.Module:
        return opened.build(question.seed)

    n_bytes = sum(weight.nbytes for weight in question.state.values())
    blank = made_blank(make, question.state, device) if n_bytes >= WORTH_BYTES else None
    module = blank or make()
    module.load_state_dict(question.state, strict=False)
    return module.to(device)


def constructed(kind: Any, question: Question) -> torch.nn.Module:
    """Return a module of the class ``kind``, in the task's mode, that shares the question's
    parameters. Its buffers are its own: a call may write to them, and a CUDA graph of another
    module's would be captured anew.

    It is made without memory if possible, since drawing a large layer's weights takes longer than
    a trial.
    """
    torch.manual_seed(question.seed)
    blank = _made_on_meta(kind, question)
    if blank is not None:
        blank.load_state_dict(question.state, strict=False, assign=True)
        if not any(tensor.is_meta for tensor in _tensors(blank)):
            _own_buffers(blank)
            return blank
    torch.manual_seed(question.seed)
    with torch.device("cpu"):
        module = _made(kind, question).to(question.device)
    load_weights(module, dict(question.state))
    return module


def without_memory(kind: Any, question: Question) -> torch.nn.Module:
    """Return a module of the class ``kind``, in the task's mode, without memory for its weights."""
    return _made_on_meta(kind, question) or _made(kind, question).to("meta")


def _made_on_meta(kind: Any, question: Question) -> torch.nn.Module | None:
    """Return a module whose constructor ran without memory; None if it needs its numbers."""
    with contextlib.suppress(Exception), torch.device("meta"):
        return _made(kind, question)
    return None


def _made(kind: Any, question: Question) -> torch.nn.Module:
    module: torch.nn.Module = kind(*question.initial)
    question.task.set_mode(module)
    return module


def _own_buffers(module: torch.nn.Module) -> None:
    """Replace all buffers by copies; those that are one tensor stay one."""
    copies: dict[int, torch.Tensor] = {}
    for part in module.modules():
        for name, buffer in part._buffers.items():
            if buffer is not None:
                part._buffers[name] = copies.setdefault(id(buffer), buffer.clone())


def _tensors(module: torch.nn.Module) -> Iterator[torch.Tensor]:
    for part in module.modules():
        held = (*vars(part).values(), *part._parameters.values(), *part._buffers.values())
        yield from (value for value in held if isinstance(value, torch.Tensor))


def require_own_kernels(module: torch.nn.Module, arguments: list[Any]) -> None:
    """Check that the module serves a call with its kernels.

    Raises:
        Unfit: the reference's own forward would serve it.
    """
    why_not = getattr(module, "why_not", None)
    reason = why_not(*arguments) if why_not else ""
    if reason:
        raise Unfit(TrialOutcome.FAILED, f"it does not use its kernels: {reason}")


@contextlib.contextmanager
def nothing_left_over() -> Iterator[None]:
    """Context in which new tensors hold NaN, or the largest integer, until they are written: torch
    fills them where algorithms must be deterministic.

    Without it a kernel that writes a part of its result may find the rest in the memory that a
    right one's result had.
    """
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


@contextlib.contextmanager
def nothing_overwritten(question: Question) -> Iterator[None]:
    """Context for calls of a candidate, which may write to neither arguments nor weights: all
    candidates share them, so the others would be wrong. At its end they are as before.

    Raises:
        Unfit: the candidate has written to them.
    """
    tensors = tree_leaves((question.arguments, dict(question.state)))
    places = [flat_source(t.detach()) for t in tensors if isinstance(t, torch.Tensor) and t.numel()]
    copies = [place.clone() for place in places]
    is_changed = False
    try:
        yield
    finally:
        for place, copy in zip(places, copies, strict=True):
            if not same_bits(place, copy):
                place.copy_(copy)
                is_changed = True
    if is_changed:
        raise Unfit(TrialOutcome.WRONG, "it writes to its arguments or weights")


def require_own_work(module: torch.nn.Module, question: Question) -> None:
    """Check in one call that the library computes nothing large for the module: tensors may be
    made, copied and laid out anew, and what is small beside the task's largest tensor added up.

    Raises:
        Unfit: the library does some of the work.
    """
    tensors = tree_leaves((question.arguments, dict(question.state)))
    sizes = [t.numel() for t in tensors if isinstance(t, torch.Tensor)]
    sizes += [math.prod(shape) for shape, _ in question.form]
    with _LibraryWork(max(sizes, default=0) * SMALL_SHARE) as work:
        module(*question.arguments)
    if work.operators:
        names = ", ".join(dict.fromkeys(work.operators))
        raise Unfit(TrialOutcome.FAILED, f"the library does its work: {names}")


class _LibraryWork(TorchDispatchMode):
    """Notes the operators that compute on more than ``most`` numbers."""

    def __init__(self, most: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._most = most
        self.operators: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if not func.is_view and name not in LAYING_OUT:
            touched = tree_leaves((args, kwargs, result))
            n = max((t.numel() for t in touched if isinstance(t, torch.Tensor)), default=0)
            if n > self._most:
                self.operators.append(name)
        return result


def require_right(result: Any, question: Question) -> None:
    """Check a result against the reference's, with the tolerance that the judge begins with: the
    allowances that it makes for ill-conditioned tasks cost runs of the reference.

    Raises:
        Unfit: it is another one.
    """
    outputs = [tensor.detach() for tensor in flatten(result)]
    if tuple((tensor.shape, tensor.dtype) for tensor in outputs) != question.form:
        raise Unfit(TrialOutcome.WRONG, "its outputs have other shapes or dtypes")
    try:
        with computing_with(outputs):
            compare(outputs, question.expected)
    except WrongValues as error:
        raise Unfit(TrialOutcome.WRONG, str(error)) from None
