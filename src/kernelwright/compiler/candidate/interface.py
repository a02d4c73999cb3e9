"""The outside of a candidate: constructor, parameters, and when its kernels may be used."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from torch import nn

from kernelwright.compiler.candidate.attributes import (
    REBUILT,
    REFUSED,
    indexed_text,
    path_text,
    state_rows,
)
from kernelwright.compiler.candidate.module import Face
from kernelwright.compiler.candidate.splice import Spliced, splice
from kernelwright.compiler.candidate.unchanged import description_of
from kernelwright.compiler.capture.capture import CannotCapture, Captured
from kernelwright.core.syntax import parse
from kernelwright.core.task import Task
from kernelwright.loaders.synthesis import is_literal


def reference_text(
    task: Task, module: nn.Module, captured: Captured, arguments: Sequence[Any]
) -> Spliced:
    """What the candidate has from the reference: its text, or its state where there is no text.

    ``arguments`` are those that ``module`` was constructed with.

    Raises:
        CannotCapture: there is no text, and forward uses a tensor that the state does not hold.
    """
    try:
        spliced = splice(task.source, task.entry, "ModelNew")
        if "PAYLOAD" not in spliced.definitions + spliced.body:
            return spliced
    except LookupError:
        pass
    return _rebuilt(task, module, captured, arguments)


def _rebuilt(
    task: Task, module: nn.Module, captured: Captured, arguments: Sequence[Any]
) -> Spliced:
    rows = state_rows(module)
    missing = set(captured.attributes.values()) - {row[0] for row in rows}
    if missing:
        raise CannotCapture(f"no source, and not in the state: {', '.join(sorted(missing))}")
    state = "".join(f"    {row!r},\n".replace(f"'{row[2]}'", row[2]) for row in rows)
    signature = signature_of(module)
    body = f'''    """The same parameters and buffers as the module {task.name} that was given."""

{_constructor_head(arguments)}
        super().__init__()
        for path, shape, dtype, is_parameter in STATE:
            _place(self, path, shape, dtype, is_parameter)
        self.train({module.training})

    def _reference_forward(self, *given, **named):
        raise RuntimeError(_refusal(self, given, named))'''
    table = f"STATE = (  # path, shape, dtype, whether it is a parameter\n{state})"
    definitions = "\n\n\n".join([table, REBUILT, REFUSED])
    return Spliced((), definitions, "Part", body, signature)


def _constructor_head(arguments: Sequence[Any]) -> str:
    """The head of a constructor that takes the reference's arguments, and no others: the state
    follows from them. Those that text cannot say are taken unseen."""
    if not arguments:
        return "    def __init__(self):"
    head = "    def __init__(self, *arguments):"
    if not all(map(is_literal, arguments)):
        return head
    return f"""{head}
        made_with = {tuple(arguments)!r}
        if arguments not in ((), made_with):
            raise TypeError(f"the state here is of arguments {{made_with}}, not {{arguments}}")"""


def signature_of(module: nn.Module) -> str:
    """The parameters of forward with their defaults, without what annotates them."""
    parameters = inspect.signature(module.forward).parameters.values()
    bare = inspect.Signature([p.replace(annotation=p.empty) for p in parameters])
    return f"self, {str(bare)[1:-1]}".removesuffix(", ")


def face_of(
    title: str, module: nn.Module, captured: Captured, reference: Spliced, device_kind: str
) -> tuple[Face, tuple[str, ...]]:
    """The Face, without what it says of the module's parts, and the names of the tensor inputs in
    the forward.

    Raises:
        CannotCapture: forward's parameters are of a kind that cannot be passed on, or have
            defaults that text cannot say.
    """
    try:
        head = parse(f"def f({reference.signature}): pass").body[0]
    except SyntaxError as error:
        why = f"a default of forward that text cannot say: {reference.signature}"
        raise CannotCapture(why[:300]) from error
    args = head.args  # type: ignore[attr-defined]
    if args.kwarg:
        raise CannotCapture("a forward that takes any keyword arguments")
    names = [a.arg for a in (*args.posonlyargs, *args.args)][1:]
    conditions: list[str] = []
    given = list(captured.arguments)
    unpacked, passed = "", ", ".join(names)
    if args.vararg:
        extra = [f"{args.vararg.arg}_{i}" for i in range(len(given) - len(names))]
        conditions.append(f"len({args.vararg.arg}) == {len(extra)}")
        conditions = conditions[::-1]
        passed = ", ".join([*names, f"*{args.vararg.arg}"])
        unpacked = f"{', '.join(extra)}, = {args.vararg.arg}"
        names += extra
    by_name = [a.arg for a in args.kwonlyargs]
    passed = ", ".join([passed, *(f"{name}={name}" for name in by_name)])
    conditions += _fixed([*names, *by_name], given, inspect.signature(module.forward))
    tensors = tuple(
        name for name, value in zip(names, given, strict=False) if value in captured.inputs
    )
    rebuilt = reference.bases == "Part"
    paths = {
        path: indexed_text(path) if rebuilt else path_text(module, path)
        for path in [*captured.attributes.values(), *(path for _, path in captured.mutations)]
    }
    face = Face(
        title, device_kind, tuple(conditions), passed, unpacked, paths, is_refused_elsewhere=rebuilt
    )
    return face, tensors


def with_parts(face: Face, module: nn.Module, reference: Spliced, home: str, *, mode: bool) -> Face:
    """``face`` with what the kernels take for granted of the module's parts; ``home`` is the name
    of the file with their classes, and ``mode`` says whether training counts among it."""
    rebuilt = reference.bases == "Part"
    described = _parts_of(module, mode=mode) if rebuilt else description_of(module, home, mode)
    trains = "self.training" if module.training else "not self.training"
    conditions = (*face.conditions, *([trains] if mode else []))
    return replace(face, conditions=conditions, described=described)


def _parts_of(module: nn.Module, *, mode: bool) -> dict[str, Any]:
    """The description of a module that is rebuilt from its state."""
    found: dict[str, Any] = {"": ("", {})}
    for path, _, _, is_parameter in state_rows(module):
        *parts, name = path.split(".")
        for end in range(len(parts)):
            found.setdefault(".".join(parts[: end + 1]), ("Part", {}))
        if is_parameter:
            own = found[".".join(parts)][1]
            own["parameters"] = sorted([*own.get("parameters", ()), name])
    for _, own in found.values():
        own |= {"training": module.training} if mode else {}
    return found


def _fixed(names: Sequence[str], given: Sequence[Any], signature: inspect.Signature) -> list[str]:
    """Conditions on the arguments that are not tensors: they were built into the kernels."""
    conditions = []
    for position, name in enumerate(names):
        if position < len(given):
            value = given[position]
            if isinstance(value, str):
                continue
        else:
            value = signature.parameters[name].default
        is_single = value is None or isinstance(value, bool)
        conditions.append(f"{name} {'is' if is_single else '=='} {value!r}")
    return conditions
