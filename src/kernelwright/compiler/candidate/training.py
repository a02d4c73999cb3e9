"""The candidate file of a training step: forward and backward kernels as one autograd function.

The file's ``ModelNew`` is trained like the reference's class: outside ``no_grad`` its forward keeps
what the backward kernels need. ``TrainingStepNew`` calls both at once, and is what is judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from torch import nn

from kernelwright.compiler.candidate.collisions import apart
from kernelwright.compiler.candidate.guard import checks_text
from kernelwright.compiler.candidate.interface import face_of, reference_text, with_parts
from kernelwright.compiler.candidate.module import (
    Face,
    dispatch_lines,
    docstring,
    expected_text,
    file_text,
    guard_text,
    kernel_sections,
    method,
    own_imports,
    step_lines,
)
from kernelwright.compiler.candidate.operators import DIRECT, TRACED, launches_of
from kernelwright.compiler.candidate.parts import Part, home_of, mode_counts
from kernelwright.compiler.candidate.splice import Spliced
from kernelwright.compiler.capture.capture import CannotCapture, Captured, capture
from kernelwright.compiler.capture.joint import Joint, capture_joint
from kernelwright.compiler.capture.structures import classes
from kernelwright.compiler.codegen.base import Emitted
from kernelwright.compiler.ir.ir import Program, Ref, Tensor
from kernelwright.compiler.ir.steps import literal, references, variable
from kernelwright.core.task import Task
from kernelwright.loaders.reference import CHECK_SEED, Reference
from kernelwright.loaders.training_step import CANDIDATE, REFERENCE, module_of, step_text

FUNCTION = "Trained"
"""The name of the autograd function in a file."""


@dataclass(frozen=True)
class TrainedModule:
    """A module's forward and backward, and what its file is made of."""

    text: Spliced
    joint: Joint
    face: Face
    parts: tuple[Part, Part]
    """Forward and backward."""
    n_inputs: int
    """How many arguments the forward takes."""
    places: tuple[int, ...]
    """The positions of those that get gradients."""


def open_trained(
    task: Task, module: nn.Module, reference: Reference, device_kind: str, partition: str
) -> TrainedModule:
    """Capture the module of a training step; ``reference`` is the step's, and has built ``module``.

    Raises:
        CannotCapture: forward and backward cannot be captured.
    """
    step = reference.namespace[REFERENCE]
    inputs = reference.blank_inputs()[: step.n_inputs]
    inner = module_of(module)
    joint = capture_joint(inner, inputs, step.places, partition, device_kind)
    captured = joint.forward
    if any(classes(captured.outputs)):
        raise CannotCapture("a training step whose result is an object; return tensors, or a dict")
    of_model = replace(task, entry=task.step_of)
    text = reference_text(of_model, inner, captured, reference.init_inputs(CHECK_SEED))
    if text.bases == "Part" and _shares_weights(inner):
        raise CannotCapture(
            "a training step of weights that parts share, without source; give it as file.py:Class"
        )
    face, arguments = face_of(task.name, inner, captured, text, device_kind)
    counts = mode_counts(inner, inputs, capture(inner, inputs))
    face = with_parts(face, inner, text, home_of(inner), mode=counts)
    names = dict(zip(captured.inputs, arguments, strict=True))
    taken = set(arguments)
    for node, path in captured.attributes.items():
        names[node] = variable(path.replace(".", "_"), taken)
    face = replace(face, conditions=(*face.conditions, *_untrained(joint, names)))
    # An emitter has both programs at once: what is kept has another name where it is used.
    kept = tuple(
        names.get(node) or variable(f"kept_{node.strip('_')}", taken) for node in joint.saved
    )
    given = tuple(variable("cotangent", taken) for _ in joint.differentiated)
    parts = (
        Part("", captured, face, arguments, text.signature),
        Part("", joint.backward, face, (*kept, *given), text.signature),
    )
    return TrainedModule(text, joint, face, parts, step.n_inputs, tuple(step.places))


def _shares_weights(module: nn.Module) -> bool:
    """Whether a parameter is in several places: a module that is rebuilt from its state has one in
    each."""
    places = [weight for _, weight in module.named_parameters(remove_duplicate=False)]
    return len(places) > len(list(module.parameters()))


def _untrained(joint: Joint, names: Mapping[str, str]) -> list[str]:
    """Conditions on the inputs whose gradients the kernels do not compute."""
    captured = joint.forward
    real = {
        node.name
        for node in captured.graph.nodes
        if node.op == "placeholder" and node.meta["val"].is_floating_point()
    }
    others = [name for name in captured.inputs if name in real - set(joint.trained)]
    return [f"not {names[name]}.requires_grad" for name in others]


def write_trained(trained: TrainedModule, programs: Sequence[Program], emitted: Emitted) -> str:
    """The text of one standalone file that defines ``ModelNew`` and ``TrainingStepNew``."""
    forward, backward = programs
    face = trained.face
    face = replace(face, conditions=(*face.conditions, *emitted.conditions))
    reference = trained.text
    attributes = trained.joint.forward.attributes
    paths = [attributes[name] for name in trained.joint.trained if name in attributes]
    tables = expected_text(forward, face, paths)
    guard = f"{checks_text(face.device_kind)}\n\n\n{tables}"
    launches = {name: launch for p in programs for name, launch in launches_of(p, emitted).items()}
    tensors = [tensor.name for tensor in forward.inputs]
    ways = (DIRECT, TRACED)
    methods = guard_text(face, reference.signature, tensors, ways, gradients=True)
    methods = f"{methods}\n\n{_forward_method(trained, forward, face)}"
    function = _function_text(trained, forward, backward, emitted)
    step = step_text(CANDIDATE, "ModelNew", trained.n_inputs, trained.places)
    own = [*kernel_sections(emitted, launches, face), function, guard, methods, step]
    (*sections, methods, step), imports = apart(own, own_imports(emitted.imports, own), reference)
    model = f"class ModelNew({reference.bases}):\n{reference.body}\n\n{methods}"
    whole = replace(forward, lineage=tuple(dict.fromkeys(forward.lineage + backward.lineage)))
    return file_text(
        docstring(whole, face, "with gradients,"),
        (*reference.imports, *imports),
        [reference.definitions, *sections, model, step],
    )


def _forward_method(trained: TrainedModule, forward: Program, face: Face) -> str:
    """The new ``forward``: the autograd function on inputs and weights."""
    given = ", ".join(["kernels", *(tensor.name for tensor in forward.inputs)])
    if forward.attributes:
        given += f", *{face.modules}.weights_of(self)"
    returned, _ = forward.outputs
    call = f"{FUNCTION}.apply({given})"
    if isinstance(returned, Ref):
        lines = [f"return {call}"]
    else:
        names = ", ".join(_once(references(returned)))
        lines = [f"({names},) = {call}", f"return {literal(returned)}"]
    return method("forward", trained.text.signature, [*dispatch_lines(face), *lines])


def _function_text(
    trained: TrainedModule, forward: Program, backward: Program, emitted: Emitted
) -> str:
    """The autograd function: both programs as functions of tensors."""
    forward_text = method("forward", _signature(forward), _forward_lines(trained, forward, emitted))
    results = _once(references(forward.outputs[0]))
    cotangents = _cotangents(trained, backward)
    given = [
        cotangents[node].name if node in cotangents else f"_{number}"
        for number, node in enumerate(trained.joint.results)
    ]
    assert len(given) == len(results)
    signature = ", ".join(["ctx", *given])
    kind = trained.face.device_kind
    lines = [
        "if torch.is_grad_enabled():  # create_graph=True",
        "    raise RuntimeError(NO_SECOND)",
        f'if torch.is_autocast_enabled("{kind}"):  # calls of the library would follow it',
        f'    with torch.autocast("{kind}", enabled=False):',
        f"        return {FUNCTION}.backward({signature})",
        *_backward_lines(trained, forward, backward, emitted),
    ]
    backward_text = method("backward", signature, lines)
    return f'''\
NO_SECOND = """the kernels give no gradients of gradients
  seen: a backward with create_graph=True
  do:   call the module's own forward where they are wanted: _reference_forward"""


class {FUNCTION}(torch.autograd.Function):
    """The kernels, and how autograd uses them."""

    @staticmethod
{forward_text}

    @staticmethod
{backward_text}'''


def _signature(forward: Program) -> str:
    tensors = [*forward.inputs, *(tensor for tensor, _ in forward.attributes)]
    return ", ".join(["ctx", "kernels", *(tensor.name for tensor in tensors)])


def _forward_lines(trained: TrainedModule, forward: Program, emitted: Emitted) -> list[str]:
    returned, saved = forward.outputs
    results = _once(references(returned))
    has_gradient = trained.joint.differentiated
    constant = [
        name
        for node, name in zip(trained.joint.results, results, strict=True)
        if node not in has_gradient
    ]
    kept = ", ".join(_once(references(saved)))
    return [
        *_own_lines(forward, emitted),
        "ctx.kernels = kernels",
        *([f"ctx.save_for_backward({kept})"] if kept else []),
        *([f"ctx.mark_non_differentiable({', '.join(constant)})"] if constant else []),
        f"return {results[0] if isinstance(returned, Ref) else ', '.join(results) + ','}",
    ]


def _backward_lines(
    trained: TrainedModule, forward: Program, backward: Program, emitted: Emitted
) -> list[str]:
    kept = [tensor.name for tensor in backward.inputs[: len(trained.joint.saved)]]
    gradients = dict(zip(trained.joint.trained, backward.outputs, strict=True))
    captured = trained.joint.forward
    places = [*captured.inputs, *(n for n in captured.attributes if _is_used(captured, n))]
    returned = [literal(gradients.get(node)) for node in places]
    return [
        "kernels = ctx.kernels",
        *([f"{', '.join(kept)}, = ctx.saved_tensors"] if kept else []),
        *map(_laid_text, _cotangents(trained, backward).values()),
        *_own_lines(backward, emitted),
        f"return {', '.join(['None', *returned])}",
    ]


def _is_used(captured: Captured, name: str) -> bool:
    """Whether the program has this attribute: it has those that the graph reads."""
    return any(node.name == name and node.users for node in captured.graph.nodes)


def _laid_text(cotangent: Tensor) -> str:
    """The statement that lays a cotangent out as the kernels read it; most are already."""
    name, shape, strides = cotangent.name, cotangent.shape, cotangent.strides
    order = sorted(range(len(shape)), key=lambda dim: (-strides[dim], dim))
    if order == sorted(order):
        return f"{name} = {name}.contiguous()"
    there = ", ".join(map(str, order))
    back = ", ".join(str(order.index(dim)) for dim in range(len(order)))
    return f"{name} = {name}.permute({there}).contiguous().permute({back})"


def _cotangents(trained: TrainedModule, backward: Program) -> dict[str, Tensor]:
    """Result node → the backward's input with its cotangent."""
    tensors = backward.inputs[len(trained.joint.saved) :]
    return dict(zip(trained.joint.differentiated, tensors, strict=True))


def _own_lines(program: Program, emitted: Emitted) -> list[str]:
    """The steps of a program whose attributes are given to it like inputs."""
    attributes = tuple(tensor for tensor, _ in program.attributes)
    pure = replace(program, inputs=(*program.inputs, *attributes), attributes=())
    names = {step.name for step in pure.own()}
    inline = [part for part in emitted.derived if names & set(part.steps)]
    return list(step_lines(pure, pure.steps, emitted, inline))


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
