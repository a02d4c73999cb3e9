"""The code around kernels: the tensors that a step allocates, and kernels that steps share."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from kernelwright.compiler.codegen.anonymous import anonymous
from kernelwright.compiler.codegen.base import Derived
from kernelwright.compiler.codegen.gpu.names import function_name
from kernelwright.compiler.codegen.gpu.stages import Stages
from kernelwright.compiler.ir.ir import (
    Attention,
    Call,
    Contraction,
    Kernel,
    Program,
    Recurrence,
    Tensor,
    contiguous,
)
from kernelwright.compiler.ir.prepared import overwritten
from kernelwright.compiler.ir.sizes import NAMES, NotFree

Own = Kernel | Contraction | Recurrence | Attention


@dataclass(frozen=True)
class Launched:
    """A kernel's text, and the statements that launch it."""

    text: str
    launch: str
    derived: tuple[Derived, ...] = ()
    """Tensors that must be computed before the launch."""
    others: tuple[str, ...] = ()
    """Functions in the text besides the one with the step's name; their names begin with it."""


@dataclass
class Parts:
    """An emitter's output for a whole program."""

    texts: list[str] = field(default_factory=list)
    """Texts of the kernels, each once."""
    names: list[str] = field(default_factory=list)
    """Names of the kernels' functions."""
    launches: dict[str, str] = field(default_factory=dict)
    """Step name → statements that allocate its outputs and run it."""
    derived: list[Derived] = field(default_factory=list)
    """Tensors that must be computed before the launches, each once."""

    def share(self, launched: Launched, step: str, changing: set[str]) -> str:
        """Return the launch and record the tensors it needs; a tensor that another step also needs
        is computed once."""
        launch = launched.launch
        for new in launched.derived:
            at = self._same(new) if new.source not in changing else None
            if at is None:
                self.derived.append(replace(new, steps=(step,)))
                continue
            known = self.derived[at]
            self.derived[at] = replace(known, steps=tuple(dict.fromkeys((*known.steps, step))))
            launch = _renamed(launch, new, known)
        return launch

    def _same(self, new: Derived) -> int | None:
        for at, known in enumerate(self.derived):
            is_like = known.source == new.source and len(known.tensors) == len(new.tensors)
            if is_like and known.text == _renamed(new.text, new, known):
                return at
        return None


def _renamed(text: str, old: Derived, new: Derived) -> str:
    """Return ``text`` with the names of the tensors of ``new`` in place of those of ``old``."""
    for one, other in zip(old.tensors, new.tensors, strict=True):
        text = re.sub(rf"\b{re.escape(one.name)}\b", other.name, text)
    return text


def assemble(
    program: Program,
    stages_of: Callable[[Own], Stages],
    emit: Callable[[Own, Own], Launched],
) -> Parts:
    """Emit every own step as kernels and launches.

    ``emit(piece, step)`` emits one of the kernels in ``stages_of(step)``. Steps with the same
    computation on different tensors (the layers of a network) share one kernel, which is compiled
    once.
    """
    parts = Parts()
    existing, changing = _made_before(program), overwritten(program)
    known: dict[Launched, str] = {}
    for step in program.own():
        stages = stages_of(step)
        new = [t for t in step.writes if t.name not in existing[step.name]]
        device_of = step.reads[0].name if step.reads else program.inputs[0].name
        lines = [allocation(t, device_of) for t in (*new, *stages.workspace)]
        for piece in stages.steps:
            launched, own = emit(piece, step), function_name(piece)
            kind = emit(anonymous(piece, piece.name.replace(step.name, "step", 1)), step)
            if kind not in known:
                known[kind] = own
                parts.texts.append(launched.text)
                parts.names += [own, *launched.others]
            launch = parts.share(launched, step.name, changing)
            lines.extend(launch.replace(own, known[kind]).split("\n"))
        parts.launches[step.name] = "\n".join(lines)
    for part in parts.derived:
        if any(name in part.text for name in NAMES):
            raise NotFree(f"{part.name} is made anew for every size")
    return parts


def _made_before(program: Program) -> dict[str, set[str]]:
    """Return, by own step, the names of the tensors that exist before it runs."""
    known = {t.name for t in program.inputs} | {t.name for t, _ in program.attributes}
    before: dict[str, set[str]] = {}
    for step in program.steps:
        if isinstance(step, Call):
            known |= {t.name for t in step.outputs}
        else:
            before[step.name] = set(known)
            known |= {t.name for t in step.writes}
    return before


def allocation(tensor: Tensor, device_of: str) -> str:
    """Return the statement that allocates ``tensor``, uninitialised."""
    options = f"dtype=torch.{tensor.dtype}, device={device_of}.device"
    if tensor.strides == contiguous("", tensor.shape, tensor.dtype).strides:
        return f"{tensor.name} = torch.empty({tensor.shape}, {options})"
    return f"{tensor.name} = torch.empty_strided({tensor.shape}, {tensor.strides}, {options})"
