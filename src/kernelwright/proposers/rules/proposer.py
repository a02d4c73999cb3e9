"""The rules' proposals: program variants with schedules, then variations of the best schedules."""

from __future__ import annotations

import importlib
import itertools
import warnings
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from kernelwright.compiler.candidate.module import write
from kernelwright.compiler.candidate.multi_part import combined, write_multi_part
from kernelwright.compiler.candidate.naming import renamed
from kernelwright.compiler.candidate.parts import Part, open_parts
from kernelwright.compiler.capture.capture import CannotCapture
from kernelwright.compiler.codegen.base import Emitter, Schedule, Target
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.fuse.flow import Unsupported
from kernelwright.compiler.fuse.fuse import Fusion
from kernelwright.compiler.ir.ir import Program
from kernelwright.compiler.rewrite import (
    BIASES,
    IMAGES_TOO,
    LAYOUTS,
    ORDINARY,
    RULES,
    STEPS,
    Rule,
    rewrite,
)
from kernelwright.core.candidate import Brief, Candidate, Exemplar, Proposal
from kernelwright.core.device import BUILT_TOGETHER
from kernelwright.core.errors import KernelwrightError
from kernelwright.loaders import open_reference
from kernelwright.proposers.rules.order import (
    convolutions,
    in_order,
    is_mostly_products,
    operators,
)

EMITTERS = {
    "torch": "kernelwright.compiler.codegen.torch.emitter:LibraryEmitter",
    "cpp": "kernelwright.compiler.codegen.cpp.emitter:CppEmitter",
    "triton": "kernelwright.compiler.codegen.triton.emitter:TritonEmitter",
    "cuda": "kernelwright.compiler.codegen.cuda.emitter:CudaEmitter",
    "metal": "kernelwright.compiler.codegen.metal.emitter:MetalEmitter",
}
NAME = "rules"
SEED = 0
"""Seed of weights and inputs, of which only the shapes matter."""
COMPILE_S = 15.0
"""Smallest budget in seconds for candidates that torch.compile tunes, which takes 10 to 50 s for
one candidate on an H200."""
SHORT_ROW = 8192
"""Number of values in a row that a GPU keeps in registers or rereads at almost no cost."""
N_FIRST = 4
"""Schedules per program and dialect in the first round; the best are refined later."""


@dataclass(frozen=True)
class Variant:
    """One way to rewrite and fuse the graph."""

    name: str
    fusion: Fusion
    products: bool = False
    """Whether matrix products and convolutions are own code if the dialect supports it."""
    rules: tuple[Rule, ...] = RULES
    """The rules that rewrite the graph before it is fused."""


def variants(device_kind: str) -> tuple[Variant, ...]:
    """Return the ways to rewrite and fuse, the most promising first."""
    many_rows = 2 if device_kind == "cpu" else 128  # blocks that keep two cores or a GPU busy
    short_row = 0 if device_kind == "cpu" else SHORT_ROW
    full = Fusion(join_rows=many_rows, short_row=short_row)
    if device_kind == "cuda":  # on CUDA the library adds a convolution's bias in a separate pass
        tensor_cores = (*RULES, *STEPS)
        library = (*tensor_cores, *BIASES)
        return (
            Variant("fused, own products", full, products=True, rules=tensor_cores),
            Variant("fused", full, rules=library),
            Variant("fused, ordinary convolutions", full, rules=(*library, *ORDINARY)),
            Variant("fused, channels last", full, rules=(*library, *IMAGES_TOO)),
            Variant("fused as far as it goes", replace(full, join_rows=1, recompute_cost=40)),
            Variant("reductions apart", Fusion(join_rows=1 << 62, siblings=False), rules=library),
            Variant("fused, as written", full, rules=()),
        )
    return (
        # First, because it gains most if it applies; otherwise it is the same as "fused".
        Variant("fused, own products", full, products=True),
        Variant("fused", full),
        Variant("fused, channels last", full, rules=(*RULES, *LAYOUTS)),
        Variant("fused as far as it goes", Fusion(join_rows=1, recompute_cost=40)),
        Variant("reductions apart", Fusion(join_rows=1 << 62, siblings=False)),
        Variant("fused, as written", full, rules=()),
    )


@dataclass
class OpenedTask:
    """The captured parts of a brief's task, and the programs made from them.

    Raises:
        CannotCapture: no part of the module can be captured.
    """

    brief: Brief
    _programs: dict[tuple[str, str], list[Program]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        reference = open_reference(self.brief.task)
        module = reference.build(SEED)
        self.trains = module.training
        kind = self.brief.device.torch_kind
        self.text, self.parts = open_parts(self.brief.task, module, reference, kind)

    @property
    def target(self) -> Target:
        return Target(str(self.brief.device), self.brief.threads)

    def programs(self, variant: Variant, emitter: Emitter) -> list[Program]:
        """Return the parts fused by ``variant``, as far as ``emitter`` supports it."""
        key = (variant.name, emitter.dialect)
        if key not in self._programs:
            used: set[str] = set()
            self._programs[key] = [
                renamed(_assembled(part, variant, emitter), part.arguments, used)
                for part in self.parts
            ]
        return self._programs[key]

    def program(self, variant: Variant, emitter: Emitter) -> Program:
        """Return all parts as one program, the form that emitters take."""
        programs = self.programs(variant, emitter)
        return programs[0] if len(programs) == 1 else combined(programs)

    def proposal(
        self, variant: Variant, emitter: Emitter, schedule: Schedule, parent: str | None = None
    ) -> Proposal:
        """Return the proposal for one variant, dialect and schedule."""
        program = self.program(variant, emitter)
        emitted = emitter.emit(program, schedule, self.target)
        (first, *others) = self.parts
        if others or first.path:
            programs = self.programs(variant, emitter)
            entry = self.brief.task.entry
            text = write_multi_part(self.parts, programs, emitted, self.text, entry)
        else:
            face = replace(first.face, compiled=schedule.get("compile", ""))
            text = write(program, emitted, self.text, face)
        return Proposal(
            candidate=Candidate(text, emitter.dialect),
            proposer=NAME,
            lineage=(*program.lineage, variant.name),
            schedule={"variant": variant.name, "kernels": dict(schedule)} | self._mode(),
            parent=parent,
            note=variant.name if parent is None else f"{variant.name}, refined",
        )

    def _mode(self) -> dict[str, str]:
        """The mode that kernels are made for; empty where they serve both."""
        is_for_one = any("training" in part.face.described[""][1] for part in self.parts)
        return {"mode": "train" if self.trains else "eval"} if is_for_one else {}


def _assembled(part: Part, variant: Variant, emitter: Emitter) -> Program:
    graph, lineage = rewrite(part.captured, variant.rules)
    return assemble_supported(
        graph, variant.fusion, emitter.supports, products=variant.products, lineage=lineage
    )


def proposals(brief: Brief) -> Generator[Proposal, None, str]:
    """Yield the first proposals of a first round, refinements of passed exemplars, then the rest.

    Each text is yielded once. The first ones come first even if the brief has a history, since the
    rules may be newer than it. The generator returns the reason why there were no proposals, as for
    a module that cannot be captured, or an empty text.
    """
    try:
        opened = OpenedTask(brief)
    except CannotCapture as error:
        return f"the rules cannot capture this module: {error}"
    n_proposed = 0
    seen = {exemplar.proposal.candidate.digest for exemplar in brief.exemplars}
    first = _first(opened)
    opening = itertools.islice(first, BUILT_TOGETHER)
    for proposal in itertools.chain(opening, _refined(opened), first):
        if proposal.candidate.digest not in seen:
            seen.add(proposal.candidate.digest)
            n_proposed += 1
            yield proposal
    dialects = ", ".join(brief.dialects)
    return "" if n_proposed else f"the rules have no other code for its operators in {dialects}"


def _first(opened: OpenedTask) -> Iterator[Proposal]:
    """Yield the first schedule of every variant and dialect, then the second ones, and so on."""
    ways = variants(opened.brief.device.kind)
    pairs = [(way, emitter) for way in ways for emitter in emitters(opened.brief)]
    graphs = [part.captured.graph for part in opened.parts]
    on_gpu = graphs if opened.brief.device.kind == "cuda" else []
    lines: dict[tuple[str, str], Iterator[Proposal]] = {}
    order = []
    found = [] if is_mostly_products(on_gpu) else convolutions(on_gpu)
    for way, emitter in in_order(pairs, found, operators(on_gpu)):
        key = (way.name, emitter.dialect)
        lines.setdefault(key, _scheduled(opened, way, emitter))
        order.append(lines[key])  # a pair that leads twice yields two proposals at a time
    while order:  # proposals are made on demand: for a large network each takes seconds
        for line in list(order):
            proposal = _next(line)
            if proposal is None:
                order.remove(line)
            else:
                yield proposal


def _next(line: Iterator[Proposal]) -> Proposal | None:
    """Return the next proposal; a failing variant ends with a warning, and the others go on."""
    try:
        return next(line, None)
    except (KernelwrightError, MemoryError):
        raise
    except Exception as error:  # the edge of a variant: a bug in a rule must not end a search
        warnings.warn(
            f"a bug in the rules: one way to rewrite this task is left out: "
            f"{type(error).__name__}: {error}; please report it with the task",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


def _scheduled(opened: OpenedTask, variant: Variant, emitter: Emitter) -> Iterator[Proposal]:
    if _failed(opened.brief, variant, emitter):
        return
    try:
        program = opened.program(variant, emitter)
    except Unsupported:
        return
    is_library = emitter.dialect == "torch" and not opened.parts[0].path
    if not is_library and not any(program.own()):
        return
    schedules = emitter.schedules(program, opened.target)
    if opened.brief.budget_s < COMPILE_S:
        schedules = (schedule for schedule in schedules if "compile" not in schedule)
    for schedule in itertools.islice(schedules, N_FIRST):
        yield opened.proposal(variant, emitter, schedule)


def _failed(brief: Brief, variant: Variant, emitter: Emitter) -> bool:
    """Whether the brief shows that this variant has failed."""
    return any(
        exemplar.role == "failed"
        and exemplar.proposal.proposer == NAME
        and exemplar.proposal.candidate.dialect == emitter.dialect
        and exemplar.proposal.schedule.get("variant") == variant.name
        for exemplar in brief.exemplars
    )


def _refined(opened: OpenedTask) -> Iterator[Proposal]:
    """Yield variations of the schedules of passed exemplars, the fastest exemplar first."""
    by_name = {variant.name: variant for variant in variants(opened.brief.device.kind)}
    by_dialect = {emitter.dialect: emitter for emitter in emitters(opened.brief)}
    for exemplar in sorted(opened.brief.exemplars, key=_slowness):
        parent = exemplar.proposal
        variant = by_name.get(parent.schedule.get("variant", ""))
        emitter = by_dialect.get(parent.candidate.dialect)
        if parent.proposer == NAME and exemplar.evaluation.passed and variant and emitter:
            line = _neighbours(opened, variant, emitter, parent)
            yield from iter(partial(_next, line), None)


def _neighbours(
    opened: OpenedTask, variant: Variant, emitter: Emitter, parent: Proposal
) -> Iterator[Proposal]:
    known: Mapping[str, Any] = parent.schedule["kernels"]
    try:
        program = opened.program(variant, emitter)
    except Unsupported:
        return
    if not {step.name for step in program.own()} <= known.keys():
        return  # the rules have changed since, and the variant now has other steps
    for schedule in emitter.refine(program, known, opened.target):
        yield opened.proposal(variant, emitter, schedule, parent.candidate.digest)


def _slowness(exemplar: Exemplar) -> float:
    speedup = exemplar.evaluation.speedup
    return 0.0 if speedup is None else -speedup.median


def emitters(brief: Brief) -> list[Emitter]:
    """Return the emitters of the dialects that the brief asks for."""
    found = []
    for dialect in brief.dialects:
        if dialect in EMITTERS:
            module, _, name = EMITTERS[dialect].partition(":")
            found.append(getattr(importlib.import_module(module), name)())
    return found
