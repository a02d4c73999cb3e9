"""The Python statements around a launch: the tensors that a step makes."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.propose.rules.ir import Call, Program, Tensor, contiguous


@dataclass(frozen=True)
class Launched:
    """A kernel's text, and the statements that launch it."""

    text: str
    launch: str


def made_before(program: Program) -> dict[str, set[str]]:
    """By own step: the names of the tensors that exist before it runs."""
    known = {t.name for t in program.inputs} | {t.name for t, _ in program.attributes}
    before: dict[str, set[str]] = {}
    for step in program.steps:
        if isinstance(step, Call):
            known |= {t.name for t in step.outputs}
        else:
            before[step.name] = set(known)
            known |= {t.name for t in step.writes}
    return before


def anchor(program: Program) -> str:
    """The name of a tensor whose device the new tensors go to."""
    return next(t.name for t in (*program.inputs, *(t for t, _ in program.attributes)))


def allocation(tensor: Tensor, device_of: str) -> str:
    """The statement that makes ``tensor``, uninitialised."""
    options = f"dtype=torch.{tensor.dtype}, device={device_of}.device"
    if tensor.strides == contiguous("", tensor.shape, tensor.dtype).strides:
        return f"{tensor.name} = torch.empty({tensor.shape}, {options})"
    return f"{tensor.name} = torch.empty_strided({tensor.shape}, {tensor.strides}, {options})"
