"""The candidate file where only parts of a module are fused: the reference around new parts."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace

from kernelwright.compiler.candidate.collisions import apart
from kernelwright.compiler.candidate.guard import checks_text
from kernelwright.compiler.candidate.module import (
    expected_text,
    file_text,
    kernel_sections,
    methods_text,
    own_imports,
)
from kernelwright.compiler.candidate.operators import Launch, launches_of
from kernelwright.compiler.candidate.parts import Part
from kernelwright.compiler.candidate.splice import Spliced
from kernelwright.compiler.codegen.base import Emitted
from kernelwright.compiler.ir.ir import Program

REPLACE = '''\
def _replace_forward(module, fused):
    """Give this one module the forward of ``fused``; its class's own is the reference's."""
    module.__class__ = _class_of(fused, type(module))


def _class_of(fused, kind):
    attributes = {"_reference_forward": kind.forward, "__reduce_ex__": _reduced}
    return type(fused.__name__, (fused, kind), attributes)


def _reduced(module, protocol):
    """What copies and pickles are made of: they would find the class under no name."""
    fused, kind = type(module).__bases__
    return _blank, (fused, kind), kind.__reduce_ex__(module, protocol)[2]


def _blank(fused, kind):
    made = _class_of(fused, kind)
    return made.__new__(made)'''


def combined(programs: Sequence[Program]) -> Program:
    """One program for an emitter, which needs all kernels at once; never run as a whole."""
    return Program(
        inputs=tuple(tensor for program in programs for tensor in program.inputs),
        attributes=tuple(pair for program in programs for pair in program.attributes),
        steps=tuple(step for program in programs for step in program.steps),
        outputs=[program.outputs for program in programs],
        lineage=tuple(dict.fromkeys(rule for program in programs for rule in program.lineage)),
    )


def write_multi_part(
    parts: Sequence[Part], programs: Sequence[Program], emitted: Emitted,
    reference: Spliced, entry: str,
) -> str:  # fmt: skip
    """The text of one standalone file: the reference's class, and ``ModelNew`` that changes it."""
    classes, lines = [], []
    launches: dict[str, Launch] = {}
    for number, (part, program) in enumerate(zip(parts, programs, strict=True)):
        if not any(program.own()):
            continue
        name = "Fused" + "".join(
            word.capitalize() for word in part.path.replace(".", "_").split("_")
        )
        face = replace(part.face, expected=f"EXPECTED_{number}", known=f"KNOWN_{number}")
        face = replace(face, modules=f"MODULES_{number}")
        launches |= launches_of(program, emitted)
        methods = methods_text(program, emitted, part.signature, face)
        about = (
            f'    """{part.path}, with its steps fused: a first base for the module\'s class."""'
        )
        classes.append(f"{expected_text(program, face)}\n\n\nclass {name}:\n{about}\n\n{methods}")
        lines.append(f'_replace_forward(self.get_submodule("{part.path}"), {name})')
    model = f"class {entry}({reference.bases}):\n{reference.body}"
    new = f'''class ModelNew({entry}):
    """The reference; the parts that could be captured have a new forward."""

    misses = property(misses_of)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
{textwrap.indent(chr(10).join(lines), " " * 8)}'''
    checks = checks_text(parts[0].face.device_kind, "\n".join([emitted.definitions, *classes]))
    kernels = kernel_sections(emitted, launches, parts[0].face)
    own = [*kernels, checks, *classes, REPLACE, new]
    given = [*emitted.imports, *(line for part in parts for line in part.face.imports)]
    sections, imports = apart(own, own_imports(given, own), reference, model)
    title = f'"""{entry}, of which these parts are fused: {", ".join(p.path for p in parts)}."""'
    return file_text(
        title, (*reference.imports, *imports), [reference.definitions, model, *sections]
    )
