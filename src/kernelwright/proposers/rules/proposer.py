"""What the rules propose: program variants times schedules, then neighbours of what did well."""

from __future__ import annotations

import importlib
import itertools
import warnings
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kernelwright.compiler.candidate.module import write
from kernelwright.compiler.candidate.naming import renamed
from kernelwright.compiler.candidate.parts import Part, open_parts
from kernelwright.compiler.candidate.patchwork import combined, write_patchwork
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
}
NAME = "rules"
SEED = 0
"""Weights and inputs are only looked at for their shapes."""
COMPILE_S = 15.0
"""What the library's compiler may take to search for one candidate (10 to 50 s on an H200): it is
not asked where the whole time is less."""
SHORT_ROW = 8192
"""Values of a row that a processor keeps in registers or reads again in no time."""
N_FIRST = 4
"""Schedules per program and dialect in a first round; the best are refined later."""


@dataclass(frozen=True)
class Variant:
    """One way to rewrite and fuse the graph."""

    name: str
    fusion: Fusion
    products: bool = False
    """Whether matrix products and convolutions are own code where the dialect can."""
    rules: tuple[Rule, ...] = RULES
    """The rules that rewrite the graph first."""


def variants(device_kind: str) -> tuple[Variant, ...]:
    """Ways to fuse, the most promising first."""
    many_rows = 128 if device_kind == "cuda" else 2  # blocks that keep a GPU busy, or two cores
    short_row = SHORT_ROW if device_kind == "cuda" else 0
    full = Fusion(join_rows=many_rows, short_row=short_row)
    if device_kind == "cuda":  # where the library adds a convolution's bias in a pass of its own
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
        # First, because it gains most where it applies; it is "fused" itself where it does not.
        Variant("fused, own products", full, products=True),
        Variant("fused", full),
        Variant("fused, channels last", full, rules=(*RULES, *LAYOUTS)),
        Variant("fused as far as it goes", Fusion(join_rows=1, recompute_cost=40)),
        Variant("reductions apart", Fusion(join_rows=1 << 62, siblings=False)),
        Variant("fused, as written", full, rules=()),
    )


@dataclass
class Workshop:
    """A brief's task, opened: everything that its proposals share.

    Raises:
        CannotCapture: nothing of the module can be captured.
    """

    brief: Brief
    _programs: dict[tuple[str, str], list[Program]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        reference = open_reference(self.brief.task)
        module = reference.build(SEED)
        kind = self.brief.device.torch_name.partition(":")[0]
        self.text, self.parts = open_parts(self.brief.task, module, reference, kind)

    @property
    def target(self) -> Target:
        return Target(str(self.brief.device), self.brief.threads)

    def programs(self, variant: Variant, emitter: Emitter) -> list[Program]:
        """The parts as ``variant`` fuses them, as far as ``emitter`` can do it."""
        key = (variant.name, emitter.dialect)
        if key not in self._programs:
            used: set[str] = set()
            self._programs[key] = [
                renamed(_assembled(part, variant, emitter), part.arguments, used)
                for part in self.parts
            ]
        return self._programs[key]

    def program(self, variant: Variant, emitter: Emitter) -> Program:
        """All parts in one, as emitters see them."""
        programs = self.programs(variant, emitter)
        return programs[0] if len(programs) == 1 else combined(programs)

    def proposal(
        self, variant: Variant, emitter: Emitter, schedule: Schedule, parent: str | None = None
    ) -> Proposal:
        """One candidate."""
        program = self.program(variant, emitter)
        emitted = emitter.emit(program, schedule, self.target)
        (first, *others) = self.parts
        if others or first.path:
            programs = self.programs(variant, emitter)
            entry = self.brief.task.entry
            text = write_patchwork(self.parts, programs, emitted, self.text, entry)
        else:
            face = replace(first.face, compiled=schedule.get("compile", ""))
            text = write(program, emitted, self.text, face)
        return Proposal(
            candidate=Candidate(text, emitter.dialect),
            proposer=NAME,
            lineage=(*program.lineage, variant.name),
            schedule={"variant": variant.name, "kernels": dict(schedule)},
            parent=parent,
            note=variant.name if parent is None else f"{variant.name}, refined",
        )


def _assembled(part: Part, variant: Variant, emitter: Emitter) -> Program:
    graph, lineage = rewrite(part.captured, variant.rules)
    return assemble_supported(
        graph, variant.fusion, emitter.supports, products=variant.products, lineage=lineage
    )


def proposals(brief: Brief) -> Generator[Proposal, None, str]:
    """What a first round begins with, refinements of what passed in the brief, then the rest of a
    first round; each text once.

    The beginning comes first although the brief has a history: rules may be newer than that. A
    module that cannot be captured gives none. Returned is why there were none; empty where some
    were.
    """
    try:
        workshop = Workshop(brief)
    except CannotCapture as error:
        return f"the rules cannot capture this module: {error}"
    n_said = 0
    seen = {exemplar.proposal.candidate.digest for exemplar in brief.exemplars}
    first = _first(workshop)
    opening = itertools.islice(first, BUILT_TOGETHER)
    for proposal in itertools.chain(opening, _refined(workshop), first):
        if proposal.candidate.digest not in seen:
            seen.add(proposal.candidate.digest)
            n_said += 1
            yield proposal
    dialects = ", ".join(brief.dialects)
    return "" if n_said else f"the rules have no other code for its operators in {dialects}"


def _first(workshop: Workshop) -> Iterator[Proposal]:
    """The first schedule of every variant in every dialect, then the second ones, and so on."""
    ways = variants(workshop.brief.device.kind)
    pairs = [(way, emitter) for way in ways for emitter in emitters(workshop.brief)]
    graphs = [part.captured.graph for part in workshop.parts]
    on_gpu = graphs if workshop.brief.device.kind == "cuda" else []
    lines: dict[tuple[str, str], Iterator[Proposal]] = {}
    order = []
    found = [] if is_mostly_products(on_gpu) else convolutions(on_gpu)
    for way, emitter in in_order(pairs, found, operators(on_gpu)):
        key = (way.name, emitter.dialect)
        lines.setdefault(key, _scheduled(workshop, way, emitter))
        order.append(lines[key])  # one that stands there twice gives two at a time
    while order:  # each is asked only when its turn comes: a large network takes seconds each
        for line in list(order):
            proposal = _next(line)
            if proposal is None:
                order.remove(line)
            else:
                yield proposal


def _next(line: Iterator[Proposal]) -> Proposal | None:
    """The next of a line; where it fails it is at its end, with a warning, and others go on."""
    try:
        return next(line, None)
    except (KernelwrightError, MemoryError):
        raise
    except Exception as error:  # the edge of a variant: a fault of a rule must not end a search
        warnings.warn(
            f"the rules have a fault, and a way to rewrite this task is left out: "
            f"{type(error).__name__}: {error}; please report it with the task",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


def _scheduled(workshop: Workshop, variant: Variant, emitter: Emitter) -> Iterator[Proposal]:
    if _failed(workshop.brief, variant, emitter):
        return
    try:
        program = workshop.program(variant, emitter)
    except Unsupported:
        return
    is_library = emitter.dialect == "torch" and not workshop.parts[0].path
    if not is_library and not any(program.own()):
        return
    schedules = emitter.schedules(program, workshop.target)
    if workshop.brief.budget_s < COMPILE_S:
        schedules = (schedule for schedule in schedules if "compile" not in schedule)
    for schedule in itertools.islice(schedules, N_FIRST):
        yield workshop.proposal(variant, emitter, schedule)


def _failed(brief: Brief, variant: Variant, emitter: Emitter) -> bool:
    """Whether the brief shows that this variant does not pass."""
    return any(
        exemplar.role == "failed"
        and exemplar.proposal.proposer == NAME
        and exemplar.proposal.candidate.dialect == emitter.dialect
        and exemplar.proposal.schedule.get("variant") == variant.name
        for exemplar in brief.exemplars
    )


def _refined(workshop: Workshop) -> Iterator[Proposal]:
    """Neighbours of the passed exemplars, of the fastest first."""
    by_name = {variant.name: variant for variant in variants(workshop.brief.device.kind)}
    by_dialect = {emitter.dialect: emitter for emitter in emitters(workshop.brief)}
    for exemplar in sorted(workshop.brief.exemplars, key=_slowness):
        parent = exemplar.proposal
        variant = by_name.get(parent.schedule.get("variant", ""))
        emitter = by_dialect.get(parent.candidate.dialect)
        if parent.proposer == NAME and exemplar.evaluation.passed and variant and emitter:
            line = _neighbours(workshop, variant, emitter, parent)
            yield from iter(lambda line=line: _next(line), None)


def _neighbours(
    workshop: Workshop, variant: Variant, emitter: Emitter, parent: Proposal
) -> Iterator[Proposal]:
    known: Mapping[str, Any] = parent.schedule["kernels"]
    try:
        program = workshop.program(variant, emitter)
    except Unsupported:
        return
    if not {step.name for step in program.own()} <= known.keys():
        return  # rules have changed since: the variant has other steps now
    for schedule in emitter.refine(program, known, workshop.target):
        yield workshop.proposal(variant, emitter, schedule, parent.candidate.digest)


def _slowness(exemplar: Exemplar) -> float:
    speedup = exemplar.evaluation.speedup
    return 0.0 if speedup is None else -speedup.median


def emitters(brief: Brief) -> list[Emitter]:
    """The emitters of the dialects that the brief asks for."""
    found = []
    for dialect in brief.dialects:
        if dialect in EMITTERS:
            module, _, name = EMITTERS[dialect].partition(":")
            found.append(getattr(importlib.import_module(module), name)())
    return found
