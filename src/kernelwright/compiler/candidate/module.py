"""The candidate file: the reference's constructor, the kernels, and a new ``forward``."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from kernelwright.compiler.candidate.collisions import apart
from kernelwright.compiler.candidate.guard import IMPORTS as GUARD_IMPORTS
from kernelwright.compiler.candidate.guard import (
    checks_text,
    form_text,
    inputs_table,
    known_table,
    modules_table,
    values_table,
)
from kernelwright.compiler.candidate.operators import (
    DIRECT,
    TRACED,
    Launch,
    launches_of,
    launches_text,
)
from kernelwright.compiler.candidate.splice import Spliced
from kernelwright.compiler.codegen.base import Derived, Emitted
from kernelwright.compiler.codegen.gpu.replay import BEGINNER, RUNNER
from kernelwright.compiler.ir.ir import Call, FreeSize, Program, Step, Tensor, contiguous
from kernelwright.compiler.ir.prepared import (
    handed_on,
    lasting,
    leaves_nothing,
    needs,
    prepared_steps,
)
from kernelwright.compiler.ir.steps import call_text, layout_text, literal, references

_LIBRARY_IMPORTS = (
    "import gc", "import itertools", "import operator", "import threading", "import torch",
    "import torch.nn.functional as F",
    "from torch import nn",
)  # fmt: skip
_WIDTH = 96
ANY_MODE = "    any_mode = True  # training and evaluation are the same"
ON_MISS = """\
    on_miss = "warn"  # or "raise", or "silent": when the module's own forward serves a call
    misses = property(misses_of)"""
VALUES = "VALUES"
"""The name of the table of values that the reference's forward reads on the host."""
LET_GO_ELEMENTS = 1 << 18
"""Smaller tensors may live until forward returns: a line for each would say nothing."""


@dataclass(frozen=True)
class Face:
    """What the file shows to the outside: where it comes from and what it was made for."""

    title: str
    device_kind: str
    """'cpu' or 'cuda': torch's type of the device that the kernels run on."""
    conditions: tuple[str, ...]
    """Python expressions that hold where the kernels may be used, such as 'self.training'."""
    passed: str
    """The forward's parameters as they are passed on, such as 'x, mask'."""
    unpacked: str
    """Lines that name the tensors inside of containers among the arguments; often empty."""
    paths: Mapping[str, str]
    """Attribute path → the expression that reaches it."""
    expected: str = "EXPECTED"
    """The name of the table of inputs that the kernels were made for."""
    known: str = "KNOWN"
    """The name of the table of inputs that are known to be missed."""
    modules: str = "MODULES"
    """The same of the module's parts and weights."""
    described: Mapping[str, Any] = field(default_factory=dict)
    """The module's parts, as ``unchanged.description_of`` has them."""
    arguments: tuple[str, ...] = ()
    """Conditions on arguments that are no tensors, and on the containers that hold tensors."""
    read: Mapping[str, Any] = field(default_factory=dict)
    """The values that inputs must have, by their names: the reference's forward reads them on the
    host."""
    imports: tuple[str, ...] = ()
    """The import lines of the classes of forward's result."""
    compiled: str = ""
    """Arguments of torch.compile, where the new forward is compiled."""
    why_fixed: str = ""
    """Why nobody has looked which sizes could be free; empty where that was looked at."""
    is_refused_elsewhere: bool = False
    """Whether uses that the kernels are not made for are refused: there is no text of the
    reference's forward. Otherwise that forward serves them."""


@dataclass(frozen=True)
class Free:
    """The sizes that a call may choose, and the conditions on them under which kernels serve it."""

    sizes: tuple[FreeSize, ...] = ()
    limits: tuple[str, ...] = ()


def write(program: Program, emitted: Emitted, reference: Spliced, face: Face) -> str:
    """The text of one standalone file that defines ``ModelNew``."""
    launches = launches_of(program, emitted)
    methods = methods_text(program, emitted, reference.signature, face)
    checks = checks_text(face.device_kind, emitted.definitions + methods, values=bool(face.read))
    guard = f"{checks}\n\n\n{expected_text(program, face)}"
    own = [*kernel_sections(emitted, launches, face), guard, methods]
    (*sections, methods), imports = apart(
        own, own_imports((*emitted.imports, *face.imports), own), reference
    )
    model = f"class ModelNew({reference.bases}):\n{reference.body}\n\n{methods}"
    conditions = (*face.conditions, *emitted.conditions)
    return file_text(
        docstring(program, replace(face, conditions=conditions)),
        (*reference.imports, *imports),
        [reference.definitions, *sections, model],
    )


def kernel_sections(
    emitted: Emitted, launches: Mapping[str, Launch], face: Face
) -> tuple[str, ...]:
    """The kernels, and the launches that they have."""
    if not launches:
        return (emitted.definitions,)
    return (
        emitted.definitions,
        launches_text(launches, face.device_kind, emitted.definitions),
    )


def own_imports(emitted: Iterable[str], sections: Sequence[str]) -> list[str]:
    """The imports that these sections need, of the library as far as they use it, each once."""
    text = "\n".join(sections)
    library = [line for line in _LIBRARY_IMPORTS if f"{line.split()[-1]}." in text]
    return list(dict.fromkeys((*emitted, *GUARD_IMPORTS, *library)))


def file_text(docstring: str, imports: Iterable[str], sections: Sequence[str]) -> str:
    """A file of these sections and imports.

    An import that begins with a comment comes before all but ``__future__``: it is there for the
    others.
    """
    text = "\n\n\n".join(section.strip("\n") for section in sections if section)
    lines = sorted(set(imports), key=lambda line: (not line.startswith("from __future__"), line))
    return f"{docstring}\n\n{chr(10).join(lines)}\n\n\n{text}\n"


def methods_text(program: Program, emitted: Emitted, signature: str, face: Face) -> str:
    """The new ``forward`` and what it needs, as methods."""
    prepare = _prepare_text(program, emitted, face)
    checked = replace(face, conditions=(*face.conditions, *emitted.conditions))
    ways = _ways(program, emitted, face)
    tensors = [tensor.name for tensor in program.inputs]
    free = Free(program.sizes, emitted.limits)
    guard = guard_text(checked, signature, tensors, ways, free=free)
    forward = _forward_text(program, emitted, signature, face)
    return "\n\n".join(filter(None, [prepare, guard, forward]))


def docstring(program: Program, face: Face, uses: str = "without gradients and") -> str:
    """The head of a file: what the kernels are made for, in what ``uses``, and by which rules."""
    shapes = ", ".join(map(_shown, program.inputs))
    conditions = (*face.arguments, *face.conditions)
    if face.read:
        conditions += (f"{' and '.join(face.read)} have the values of {VALUES}",)
    where = f", where {' and '.join(conditions)}," if conditions else ""
    about = f"Made for {shapes} on {face.device_kind}{where}"
    elsewhere = "is refused" if face.is_refused_elsewhere else "takes the reference's own forward"
    sizes = _said_of_sizes(program, face)
    about += f" {uses} outside autocast.{sizes} Every other use {elsewhere}."
    lines = [face.title, "", *textwrap.wrap(about, _WIDTH)]
    if program.lineage:
        lines += ["", "Made by these rules, in this order:"]
        lines += [f"  - {rule}" for rule in program.lineage]
    return '"""' + "\n".join(lines) + '\n"""'


def _said_of_sizes(program: Program, face: Face) -> str:
    """Which sizes are free, in a sentence."""
    if not program.sizes:
        return f" All sizes are fixed{f': {face.why_fixed}' if face.why_fixed else ''}."
    ranges = []
    for size in program.sizes:
        most = f" to {size.most}" if size.most is not None else ""
        ranges.append(f"{size.name} (from {size.least}{most})")
    plural = "s" if len(ranges) > 1 else ""
    return f" Any size{plural} {' and '.join(ranges)} will do; all others are fixed."


def _shown(tensor: Tensor) -> str:
    text = f"{tensor.name}: {tensor.dtype}{list(tensor.shape)}"
    is_row_major = tensor == contiguous(tensor.name, tensor.shape, tensor.dtype)
    return text if is_row_major else f"{text} with strides {tensor.strides}"


def expected_text(program: Program, face: Face, gradients: Sequence[str] = ()) -> str:
    """The tables of what the program was made for: inputs, and the module with its weights.
    ``gradients``: the paths of the weights whose gradients the kernels give."""
    inputs = ((tensor.name, _form(tensor)) for tensor in program.inputs)
    sizes = [size.name for size in program.sizes]
    weights = ((path, _form(tensor)) for tensor, path in program.attributes)
    return "\n\n".join(
        [
            inputs_table(face.expected, inputs, sizes),
            known_table(face.known),
            modules_table(face.modules, face.described, weights, gradients),
            *([values_table(VALUES, face.read)] if face.read else []),
        ]
    )


def _form(tensor: Tensor) -> str:
    return form_text(tensor.shape, tensor.strides, tensor.dtype)


def guard_text(
    face: Face,
    signature: str,
    tensors: Sequence[str],
    ways: tuple[str, str],
    *,
    gradients: bool = False,
    free: Free | None = None,
) -> str:
    """The methods that find the launches for a call, and say why there are none.

    ``ways``: what stands for the launches in a plain call, and in one that is traced;
    ``gradients``: whether the kernels give gradients; ``free``: the sizes that a call may choose.
    """
    free = free or Free()
    is_for_one_mode = "training" in face.described[""][1]
    wants = f"torch.is_grad_enabled() and _wants_gradients({', '.join(tensors)})"
    refuses = [f"if {wants}:", "    return NO_GRADIENTS"] if tensors else []
    lines = [
        '"""The launches that serve a call, or why none do."""',
        *_condition_lines(face.arguments),
        *face.unpacked.splitlines(),
        *([] if gradients else refuses),
        *_known_lines(face, tensors),
        f'if torch.is_autocast_enabled("{face.device_kind}"):',
        "    return AUTOCAST",
        *_condition_lines(face.conditions),
        *(f"{s.name} = _size({s.tensor}, {s.dim})" for s in free.sizes),
        f"_expected = {face.expected}{_called(free.sizes)}",
        f"kernels = _way({', '.join([*ways, '_expected', *tensors])})",
        "if isinstance(kernels, str):",
        "    return kernels",
        *_size_lines(free),
        "return (",
        f"    _unfit({', '.join(['_expected', face.known, *tensors])})",
        f"    or {face.modules}.why_unfit(self)",
        *([f"    or _other_values({VALUES}, {', '.join(face.read)})"] if face.read else []),
        "    or kernels",
        ")",
    ]
    say = [
        '"""Why the module\'s own forward serves such a call; empty where kernels do."""',
        f"found = self._launches_for({face.passed})",
        'return found if isinstance(found, str) else ""',
    ]
    modes = [] if is_for_one_mode else [ANY_MODE]
    look = method("_difference", "self", [f"return {face.modules}.difference(self)"])
    methods = [
        method("_launches_for", signature, lines),
        method("why_not", signature, say),
        f"{look}\n\n    _difference._dynamo_marked_constant = True  # torch.compile asks once",
    ]
    tells = [] if face.is_refused_elsewhere else [ON_MISS]
    return "\n\n".join([*modes, *tells, *methods])


def _known_lines(face: Face, tensors: Sequence[str]) -> list[str]:
    """The lines that find inputs which were missed before: a miss has to be cheap."""
    if not tensors:
        return []
    forms = ", ".join(f"{name}.shape, {name}.stride(), {name}.dtype" for name in tensors)
    kinds = " is ".join(f"type({name})" for name in tensors)
    return [
        f"if {kinds} is torch.Tensor and not is_dynamo_compiling():",
        f"    _known = {face.known}.get(({forms}))",
        f"    if _known := _known or {face.modules}.why_still_unfit(self):",
        "        return _known",
    ]


def _condition_lines(conditions: Sequence[str]) -> Iterator[str]:
    for condition in conditions:
        where = f"the kernels are for calls where {condition}"
        text = repr(where) if '"' in where else f'"{where}"'
        yield from (f"if not ({condition}):", f"    return {text}")


def _called(sizes: Sequence[FreeSize]) -> str:
    """How the table of inputs is had: it is a function where there are free sizes."""
    return f"({', '.join(size.name for size in sizes)})" if sizes else ""


def _size_lines(free: Free) -> list[str]:
    """The lines that look whether kernels serve the free sizes."""
    lines: list[str] = []
    for size in free.sizes:
        lines += [f"if {size.name} < {size.least}:", f'    return "{size.name} is too small"']
        if size.most is not None:
            lines += [f"if {size.name} > {size.most}:", f'    return "{size.name} is too large"']
    for limit in free.limits:
        names = [size.name for size in free.sizes if size.name in limit]
        known = " and ".join(f"isinstance({name}, int)" for name in names)
        lines += [f"if {known} and not {limit}:", f'    return "it is not so that {limit}"']
    return lines


def dispatch_lines(face: Face) -> list[str]:
    """The first lines of a forward: the reference's where no launches serve the call."""
    return [
        f"kernels = self._launches_for({face.passed})",
        "if isinstance(kernels, str):",
        *([] if face.is_refused_elsewhere else ["    missed(self, kernels)"]),
        f"    return self._reference_forward({face.passed})",
        *face.unpacked.splitlines(),
    ]


def _ways(program: Program, emitted: Emitted, face: Face) -> tuple[str, str]:
    """What stands for the launches in a plain call, and in one that is traced."""
    reason = ""
    if face.compiled:
        reason = "torch.compile does not go into what torch.compile has made"
    elif program.checks:
        reason = "it is traced, and values decide which way it goes"
    if not any(program.own()):
        return "True", f'"{reason}"' if reason else "False"
    return DIRECT, f'"{reason}"' if reason else TRACED


def _forward_text(program: Program, emitted: Emitted, signature: str, face: Face) -> str:
    prepared = [] if face.compiled else prepared_steps(program)
    early = _kept_for(program, prepared, emitted)
    results = [*handed_on(program, prepared), *_names_of(early)]
    steps = [step for step in program.steps if step not in prepared]
    inline = [part for part in _derived_for(steps, emitted) if part not in early]
    tensors = ", ".join(tensor.name for tensor in program.inputs)
    direct, _ = _ways(program, emitted, face)
    guard = dispatch_lines(face)
    prepare = f"self._prepare() if kernels is {direct} else self._prepared_with(kernels)"
    used = set(references(program.outputs)).union(*map(needs, steps))
    lines = [
        *_weights_lines(program, used | {name for name, _ in _mutated(program)}, face),
        *([f"({', '.join(results)},) = {prepare}"] if results else []),
        *_check_lines(program, face),
        *step_lines(program, steps, emitted, inline),
        *_mutation_lines(program),
        f"return {literal(program.outputs)}",
    ]
    lines = [*_sizes_taken(program, lines), *lines]
    if face.compiled:
        unpacked = face.unpacked.splitlines()
        own = method("_rewritten_forward", signature, [*unpacked, *lines])
        guard.append(f"return _compiled(self, {face.passed})")
        compiled = f"_compiled = torch.compile(ModelNew._rewritten_forward, {face.compiled})"
        return f"{own}\n\n{method('forward', signature, guard)}\n\n\n{compiled}"
    if emitted.runner:
        given = f"{face.modules}.work_for(self), self._steps, ({tensors},)"
        if emitted.runner == RUNNER and leaves_nothing(program) and not face.unpacked:
            guard.insert(0, f"early = {BEGINNER}({face.modules}, self, ({tensors},))")
            given += ", early"
        run = [
            f"if kernels is {direct}:",
            f"    return {emitted.runner}({given})",
            f"return self._steps({tensors}, kernels)",
        ]
        own = method("_steps", f"self, {tensors}, kernels={direct}", lines)
        return f"{method('forward', signature, [*guard, *run])}\n\n{own}"
    return method("forward", signature, [*guard, *lines])


def method(name: str, signature: str, lines: list[str]) -> str:
    """The text of a method."""
    return f"    def {name}({signature}):\n" + textwrap.indent("\n".join(lines), " " * 8)


def _check_lines(program: Program, face: Face) -> list[str]:
    """The reference's way where a buffer does not have the value that a rule relies on."""
    if not program.checks:
        return []
    return [
        f"if not ({' and '.join(program.checks)}):",
        '    missed(self, "a buffer has not the value that the kernels rely on")',
        f"    return self._reference_forward({face.passed})",
    ]


def _prepare_text(program: Program, emitted: Emitted, face: Face) -> str:
    """The method that makes what follows from parameters alone; empty where nothing does."""
    steps = [] if face.compiled else prepared_steps(program)
    early = _kept_for(program, steps, emitted)
    results = [*handed_on(program, steps), *_names_of(early)]
    if not results:
        return ""
    launches = launches_of(program, emitted)
    used = {part.source for part in early}.union(*map(needs, steps))
    sources = [tensor.name for tensor, _ in program.attributes if tensor.name in used]
    inline = [part for part in _derived_for(steps, emitted) if part not in early]
    weights = _weights_lines(program, used, face)
    lines = [
        *weights,
        *step_lines(program, steps, emitted, inline, results),
        *(launches[part.name].call() for part in early),
    ]
    direct, _ = _ways(program, emitted, face)
    make = f"made_of({face.modules}.work_for(self), sources, self._prepared_with, {direct})"
    lasting = [*weights, *_tuple_lines("sources = ({})", sources), f"return {make}"]
    return "\n\n".join(
        [
            method(
                "_prepared_with",
                "self, kernels",
                [
                    '"""What follows from parameters alone."""',
                    *lines,
                    f"return ({', '.join(results)},)",
                ],
            ),
            method(
                "_prepare",
                "self",
                [
                    '"""The same, made once, and again when a parameter changes."""',
                    *lasting,
                ],
            ),
        ]
    )


def _derived_for(steps: Sequence[Step], emitted: Emitted) -> list[Derived]:
    names = {step.name for step in steps if not isinstance(step, Call)}
    return [part for part in emitted.derived if names & set(part.steps)]


def _names_of(derived: Iterable[Derived]) -> list[str]:
    return [tensor.name for part in derived for tensor in part.tensors]


def _kept_for(program: Program, prepared: Sequence[Step], emitted: Emitted) -> list[Derived]:
    """What launches of forward need and parameters alone decide: made with the prepared steps."""
    if not emitted.derived:
        return []
    known = lasting(program)
    later = [step for step in program.steps if step not in prepared]
    return [part for part in _derived_for(later, emitted) if part.source in known]


def _sizes_taken(program: Program, lines: Sequence[str]) -> list[str]:
    """The free sizes that ``lines`` use, taken from the inputs."""
    used = set(re.findall(r"\w+", "\n".join(lines)))
    return [f"{s.name} = {s.tensor}.shape[{s.dim}]" for s in program.sizes if s.name in used]


def _weights_lines(program: Program, used: Set[str], face: Face) -> list[str]:
    """The lines that name the weights that are ``used``, as the call's look found them."""
    if not any(tensor.name in used for tensor, _ in program.attributes):
        return []
    if face.compiled:  # what torch.compile has traced compares attributes, and no tables
        held = [(tensor.name, path) for tensor, path in program.attributes if tensor.name in used]
        return [f"{name} = {face.paths[path]}" for name, path in held]
    names = [tensor.name if tensor.name in used else "_" for tensor, _ in program.attributes]
    return _tuple_lines(f"({{}}) = {face.modules}.weights_of(self)", names)


def _tuple_lines(text: str, names: Sequence[str]) -> list[str]:
    """``text`` around the items of a tuple, in as many lines as it takes."""
    line = text.format(", ".join(names) + ",")
    if len(line) <= _WIDTH - 8:
        return [line]
    before, after = text.split("{}")
    rows = textwrap.wrap(", ".join(names) + ",", _WIDTH - 12)
    return [before, *(f"    {row}" for row in rows), after]


def _mutated(program: Program) -> list[tuple[str, str]]:
    """The names of the buffers that get new values, and of these values."""
    names = {path: tensor.name for tensor, path in program.attributes}
    return [(names[path], value) for value, path in program.mutations]


def _mutation_lines(program: Program) -> list[str]:
    """Buffers get their new values; several together, by one kernel on a GPU."""
    pairs = _mutated(program)
    if len(pairs) < 2:
        return [f"{place}.copy_({value})" for place, value in pairs]
    places, values = (", ".join(column) for column in zip(*pairs, strict=True))
    return [f"torch._foreach_copy_([{places}], [{values}])"]


def step_lines(
    program: Program, steps: Sequence[Step], emitted: Emitted, inline: Sequence[Derived],
    kept: Sequence[str] = (),
) -> Iterator[str]:  # fmt: skip
    """Every step, own ones under a comment; tensors are let go where nothing needs them, not even
    the caller, who gets ``kept``.

    What ``inline`` derives is made before the first step that needs it."""
    device = f"{program.inputs[0].name}.device" if program.inputs else '"cpu"'
    launches = launches_of(program, emitted)
    last = _last_uses(program, steps, kept)
    is_read_elsewhere = any(program.own())
    users = [[p for p in inline if not isinstance(s, Call) and s.name in p.steps] for s in steps]
    for number, step in enumerate(steps):
        if isinstance(step, Call):
            yield call_text(step, device)
            if is_read_elsewhere and (laid := layout_text(step)):
                yield laid
        else:
            about = " → ".join(step.origin)
            yield from textwrap.wrap(
                about, _WIDTH - 10, initial_indent="# ", subsequent_indent="# "
            )
            before, after = _outside(users, number)
            yield from (launches[part.name].call() for part in before)
            yield launches[step.name].call()
            last[number] += _names_of(after)
        if number + 1 < len(steps) and last[number]:
            yield f"del {', '.join(last[number])}"


def _outside(users: list[list[Derived]], number: int) -> tuple[list[Derived], list[Derived]]:
    """Of what step ``number`` uses: what no step before uses, and what no step after does."""
    here = users[number]
    before = [part for uses in users[:number] for part in uses]
    after = [part for uses in users[number + 1 :] for part in uses]
    return [p for p in here if p not in before], [p for p in here if p not in after]


def _last_uses(program: Program, steps: Sequence[Step], kept: Sequence[str]) -> list[list[str]]:
    """Per step the big results whose memory later steps can have; never those in ``kept``."""
    returned: set[Any] = set(references(program.outputs)) | {n for n, _ in program.mutations}
    returned |= set(kept)
    big: set[str] = set()
    ends: dict[str, int] = {}
    for number, step in enumerate(steps):
        for name in sorted(needs(step)):  # a set, whose order differs from process to process
            ends[name] = number
        for made in step.outputs if isinstance(step, Call) else step.writes:
            ends.setdefault(made.name, number)
            if made.n_elements >= LET_GO_ELEMENTS:
                big.add(made.name)
    fixed = {t.name for t in program.inputs} | {t.name for t, _ in program.attributes} | returned
    result: list[list[str]] = [[] for _ in steps]
    for name, number in ends.items():
        if name in big - fixed:
            result[number].append(name)
    return result
