"""RulesProposer: capture, rewrite, fuse, schedule, emit."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator

from kernelwright.core.candidate import Brief, Candidate, Proposal
from kernelwright.load import open_reference
from kernelwright.propose.rules.assemble import assemble
from kernelwright.propose.rules.capture import capture
from kernelwright.propose.rules.emit.base import Emitter, Target
from kernelwright.propose.rules.fuse import Fusion
from kernelwright.propose.rules.lower.graph import to_flow
from kernelwright.propose.rules.module import Face, write
from kernelwright.propose.rules.naming import renamed
from kernelwright.propose.rules.splice import splice

EMITTERS = {
    "cpp": "kernelwright.propose.rules.emit.cpp:CppEmitter",
    "triton": "kernelwright.propose.rules.emit.triton:TritonEmitter",
    "cuda": "kernelwright.propose.rules.emit.cuda:CudaEmitter",
}


def emitter_for(dialect: str) -> Emitter:
    """The emitter of a dialect."""
    module, _, name = EMITTERS[dialect].partition(":")
    return getattr(importlib.import_module(module), name)()


def proposals(brief: Brief) -> Iterator[Proposal]:
    """What the rewrite rules, the fusion and the emitters of the dialects give."""
    reference = open_reference(brief.task)
    module = reference.build(0)
    inputs = reference.inputs(0)
    captured = capture(module, inputs)
    program = assemble(to_flow(captured), Fusion())
    spliced = splice(brief.task.source, brief.task.entry, "ModelNew")
    names = tuple(inspect.signature(module.forward).parameters)
    program = renamed(program, names)
    target = Target(str(brief.device), brief.threads)
    face = Face(brief.task.name, brief.device.kind, program.inputs, module.training, ())
    for dialect in brief.dialects:
        if dialect not in EMITTERS:
            continue
        emitter = emitter_for(dialect)
        for schedule in emitter.schedules(program, target):
            text = write(program, emitter.emit(program, schedule, target), spliced, face)
            yield Proposal(Candidate(text, dialect), "rules", program.lineage, dict(schedule))
