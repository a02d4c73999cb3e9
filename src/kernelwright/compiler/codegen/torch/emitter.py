"""The dialect 'torch': the rewritten program as library calls, run as it is or by torch.compile."""

from __future__ import annotations

from collections.abc import Iterator

from kernelwright.compiler.codegen.base import Emitted, Schedule, Target
from kernelwright.compiler.codegen.gpu.runners import around_steps, searches
from kernelwright.compiler.ir.ir import Program, Step
from kernelwright.compiler.rewrite import BIASES

COMPILED = {
    "cpu": ("dynamic=False",),
    "cuda": ("dynamic=False", 'mode="max-autotune-no-cudagraphs"'),
}
"""Arguments of torch.compile by kind of device, the cheapest to compile first."""
_FOR_OTHERS = frozenset(rule.name for rule in BIASES)
"""Rules that gain something only if kernels of our own follow."""


class LibraryEmitter:
    """The emitter of no kernels; its schedule holds the arguments with which torch.compile runs
    forward."""

    dialect = "torch"

    def supports(self, step: Step) -> bool:
        return False

    def schedules(self, program: Program, target: Target) -> Iterator[Schedule]:
        """Yield the uncompiled program, then compiled ones. The uncompiled one is included only if
        a rule changed something or the library has a choice of algorithms.

        A program with checks branches on them at every call, so it is not compiled.
        """
        changed = set(program.lineage) - _FOR_OTHERS
        if program.lineage and not changed:
            return
        if searches(program, target, least=3):
            yield {"search": True}
        if changed:
            yield {}
        for arguments in COMPILED.get(target.device.partition(":")[0], ()):
            if program.checks:
                continue
            if changed or "mode" in arguments:
                yield {"compile": arguments}

    def refine(self, program: Program, schedule: Schedule, target: Target) -> Iterator[Schedule]:
        return iter(())

    def emit(self, program: Program, schedule: Schedule, target: Target) -> Emitted:
        around, runner = around_steps(schedule)
        return Emitted((), around, {}, runner)
