"""The rules' proposals: program variants with schedules, then variations of the best schedules."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from kernelwright.compiler.candidate.module import write
from kernelwright.compiler.candidate.multi_part import combined, write_multi_part
from kernelwright.compiler.candidate.naming import renamed
from kernelwright.compiler.candidate.parts import Part, open_parts
from kernelwright.compiler.candidate.training import TrainedModule, open_trained, write_trained
from kernelwright.compiler.capture.capture import CannotCapture, Captured
from kernelwright.compiler.capture.free import Freed
from kernelwright.compiler.codegen.base import Emitted, Emitter, Schedule, Target
from kernelwright.compiler.codegen.gpu.moments import with_moments
from kernelwright.compiler.codegen.outline import is_product
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.fuse.flow import Unsupported
from kernelwright.compiler.ir.ir import (
    Attention,
    Call,
    Contraction,
    FreeSize,
    Program,
    Recurrence,
)
from kernelwright.compiler.ir.prepared import prepared_steps
from kernelwright.compiler.ir.sizes import (
    Follows,
    NotFree,
    fixed,
    following,
    names_in,
    next_prime,
    with_example,
)
from kernelwright.compiler.rewrite import rewrite
from kernelwright.compiler.rewrite.table import Rule
from kernelwright.core.candidate import Brief, Candidate, Exemplar, Proposal
from kernelwright.core.device import BUILT_TOGETHER
from kernelwright.core.errors import KernelwrightError
from kernelwright.loaders import open_reference
from kernelwright.loaders.training_step import CANDIDATE
from kernelwright.proposers.emitted import (
    EMITTER_VERSION,
    FREE_SIZES,
    MARK,
    WHY_FIXED,
    is_outdated,
)
from kernelwright.proposers.rules.order import (
    convolutions,
    in_order,
    is_mostly_products,
    operators,
)
from kernelwright.proposers.rules.variants import (
    Variant,
    is_for_convolutions,
    variants,
    variants_for_training,
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
FREEING_S, FREEING_SHARE = 0.01, 0.5
"""Seconds that freeing the sizes of a graph takes for each of its nodes, and the largest share of
the budget for it. On a Zen 5 core a graph of 5 nodes took 0.25 s, one of 190 nodes 2 s. An estimate
from the graph gives the same candidates on a busy machine as on an idle one."""
SHORT_OF_TIME = "freeing those of {n_nodes} operators takes longer than the budget allowed"
WITH_PRODUCTS = (Contraction, Recurrence, Attention)
N_FIRST = 4
"""Schedules per program and dialect in the first round; the best are refined later."""
Rewritten = tuple[Captured, Captured, tuple[str, ...]]
"""A graph, what rules made of it, and the names of those that applied. The graph is kept because it
is known by its ``id``."""


@dataclass
class OpenedTask:
    """The captured parts of a brief's task, and the programs made from them.

    Raises:
        CannotCapture: no part of the module can be captured.
    """

    brief: Brief
    _programs: dict[tuple[str, str], list[Program]] = field(default_factory=dict)
    _rewritten: dict[tuple[int, tuple[Rule, ...]], Rewritten] = field(default_factory=dict)
    _trained: dict[str, TrainedModule] = field(default_factory=dict)
    """The module of a training step, by the way in which it is cut."""
    _free: dict[tuple[str, str], Program | None] = field(default_factory=dict)
    _freed: list[Freed] = field(default_factory=list)
    """What was made of the iterator ``Part.freed``."""

    def __post_init__(self) -> None:
        kind = self.brief.device.kind
        self.reference = open_reference(self.brief.task)
        self.module = self.reference.build(SEED)
        self.trains = self.module.training
        if self.brief.task.step_of:
            self.variants = variants_for_training(kind)
            self.parts = [*self.trained(self.variants[0]).parts]
        else:
            self.variants = variants(kind)
            self.text, self.parts = open_parts(
                self.brief.task, self.module, self.reference, self.torch_kind
            )
            self._leave_sizes_fixed_if_short_of_time()

    def _leave_sizes_fixed_if_short_of_time(self) -> None:
        first = self.parts[0]
        n_nodes = len(first.captured.as_written)  # a loop that was rolled up is traced unrolled
        if not first.path and FREEING_S * n_nodes > FREEING_SHARE * self.brief.budget_s:
            face = replace(first.face, why_fixed=SHORT_OF_TIME.format(n_nodes=n_nodes))
            self.parts[0] = replace(first, face=face, freed=iter(()))

    @property
    def torch_kind(self) -> str:
        return self.brief.device.torch_kind

    def trained(self, variant: Variant) -> TrainedModule:
        """Return the module of a training step, cut as ``variant`` says."""
        way = variant.partition
        if way not in self._trained:
            self._trained[way] = open_trained(
                self.brief.task, self.module, self.reference, self.torch_kind, way
            )
        return self._trained[way]

    @property
    def target(self) -> Target:
        return Target(str(self.brief.device), self.brief.threads)

    def parts_of(self, variant: Variant) -> Sequence[Part]:
        """Return the parts as ``variant`` has them."""
        return self.trained(variant).parts if self.brief.task.step_of else self.parts

    def programs(self, variant: Variant, emitter: Emitter) -> list[Program]:
        """Return the parts fused by ``variant``, as far as ``emitter`` supports it."""
        key = (variant.name, emitter.dialect)
        if key not in self._programs:
            if (free := self.free_program(variant, emitter)) is not None:
                self._programs[key] = [free]
                return self._programs[key]
            used: set[str] = set()
            self._programs[key] = [
                renamed(self._assembled(part.captured, variant, emitter), part.arguments, used)
                for part in self.parts_of(variant)
            ]
        return self._programs[key]

    def _assembled(self, captured: Captured, variant: Variant, emitter: Emitter) -> Program:
        """Return a graph fused by ``variant``. Several variants and dialects rewrite it alike."""
        key = (id(captured), tuple(variant.rules))
        if key not in self._rewritten:
            self._rewritten[key] = (captured, *rewrite(captured, variant.rules))
        _, graph, lineage = self._rewritten[key]
        return assemble_supported(
            graph,
            variant.fusion,
            emitter.supports,
            products=variant.products,
            lineage=lineage,
            finish=with_moments if variant.fusion.moments else None,
        )

    def free_program(self, variant: Variant, emitter: Emitter) -> Program | None:
        """Return the whole module fused by ``variant`` with as many free sizes as it can have, the
        task's own as their example; None if all are fixed."""
        key = (variant.name, emitter.dialect)
        if key not in self._free:
            found = (self._with_free_sizes(each, variant, emitter) for each in self._all_freed())
            self._free[key] = next(filter(None, found), None)
        return self._free[key]

    def _all_freed(self) -> Iterator[Freed]:
        yield from self._freed
        for each in self.parts[0].freed:
            self._freed.append(each)
            yield each

    def _with_free_sizes(self, freed: Freed, variant: Variant, emitter: Emitter) -> Program | None:
        arguments = self.parts[0].arguments
        one, other = (
            renamed(self._assembled(captured, variant, emitter), arguments, set())
            for captured in (freed.one, freed.other)
        )
        try:
            program = following(one, other, freed.first, freed.second)
        except Follows:
            return None
        if any(map(names_in, prepared_steps(program))):
            return None  # what is kept for every call cannot hang on one call's sizes
        tensors = [t.name for t in program.inputs]
        sizes: dict[str, FreeSize] = {}
        for dimension in freed.dimensions:
            name = tensors[dimension.input]
            allowed = freed.ranges[dimension.size]
            free = FreeSize(dimension.size, name, dimension.dim, allowed.least, allowed.most)
            sizes.setdefault(dimension.size, free)
        program = replace(with_example(program, freed.given), sizes=tuple(sizes.values()))
        # The program has no other text for a size of one, so that the first schedule has to do.
        n_tried = 1 if 1 in freed.given.values() else N_FIRST
        first = list(itertools.islice(_schedules(program, emitter, self.target), n_tried))
        if not first or any(
            "compile" in schedule or _emitted_free(program, emitter, schedule, self.target)
            for schedule in first
        ):
            return program
        return None

    def emitted(
        self, variant: Variant, emitter: Emitter, schedule: Schedule
    ) -> tuple[Program, Emitted]:
        """Return the program and its text: with free sizes where one text serves all.

        Raises:
            Unsupported: the text needs the sizes, and one of them is one: without its loop, the
                program has other loops than the schedule says.
        """
        program = self.program(variant, emitter)
        if program.sizes and "compile" not in schedule:
            if (emitted := _emitted_free(program, emitter, schedule, self.target)) is not None:
                return program, emitted
            if 1 in _given(program).values():
                raise Unsupported("a size of one that the text needs")
        program = fixed(replace(program, sizes=()))
        return program, emitter.emit(program, schedule, self.target)

    def program(self, variant: Variant, emitter: Emitter) -> Program:
        """Return all parts as one program, the form that emitters take."""
        programs = self.programs(variant, emitter)
        return programs[0] if len(programs) == 1 else combined(programs)

    def program_of(self, proposal: Proposal) -> Program:
        """Return the program that a proposal of the rules for this task is the text of."""
        found = _way_of(self, proposal)
        assert found is not None, "the rules made the proposal for this task"
        return self.program(*found)

    def proposal(
        self, variant: Variant, emitter: Emitter, schedule: Schedule, parent: str | None = None
    ) -> Proposal:
        """Return the proposal for one variant, dialect and schedule."""
        program, emitted = self.emitted(variant, emitter, schedule)
        (first, *others) = self.parts
        programs = self.programs(variant, emitter)
        entry = "ModelNew"
        if self.brief.task.step_of:
            text, entry = write_trained(self.trained(variant), programs, emitted), CANDIDATE
        elif others or first.path:
            around = self.brief.task.entry
            text = write_multi_part(self.parts, programs, emitted, self.text, around)
        else:
            face = replace(first.face, compiled=schedule.get("compile", ""))
            text = write(program, emitted, self.text, face)
        return Proposal(
            candidate=Candidate(text, emitter.dialect, entry),
            proposer=NAME,
            lineage=(*program.lineage, variant.name),
            schedule={
                "variant": variant.name,
                "kernels": dict(schedule),
                MARK: EMITTER_VERSION,
                FREE_SIZES: [size.name for size in program.sizes],
                **self._mode(),
                **({WHY_FIXED: first.face.why_fixed} if first.face.why_fixed else {}),
            },
            parent=parent,
            note=variant.name if parent is None else f"{variant.name}, tuned",
        )

    def _mode(self) -> dict[str, str]:
        """The mode that kernels are made for; empty where they serve both."""
        is_for_one = any("training" in part.face.described[""][1] for part in self.parts)
        return {"mode": "train" if self.trains else "eval"} if is_for_one else {}


def _schedules(program: Program, emitter: Emitter, target: Target) -> Iterator[Schedule]:
    """Yield the emitter's schedules for a first round, in numbers."""
    return map(fixed, emitter.schedules(program, target))


def _emitted_free(
    program: Program, emitter: Emitter, schedule: Schedule, target: Target
) -> Emitted | None:
    """Return the text that serves all sizes; None if it hangs on them.

    It is the same for two examples. Where indices of the task's own sizes need 64 bits, those of
    smaller sizes do not: the text for larger ones then decides, and serves smaller ones as well.
    """
    own, smaller, larger = (with_example(program, example) for example in _examples(program))
    try:
        emitted, other = (emitter.emit(each, schedule, target) for each in (own, smaller))
        if other.limits and not emitted.limits:
            other = emitter.emit(larger, schedule, target)
    except NotFree:
        return None
    return emitted if emitted == other else None


def _given(program: Program) -> dict[str, int]:
    """The free sizes of the task's own inputs."""
    shapes = {tensor.name: tensor.shape for tensor in program.inputs}
    return {size.name: int(shapes[size.tensor][size.dim]) for size in program.sizes}


def _examples(program: Program) -> list[dict[str, int]]:
    """Three examples of a program's free sizes: primes near the task's own, a third of those, and
    twice those. None is so small that it divides the numbers that programs are full of."""
    given = _given(program)
    taken: list[int] = []
    for least, factor in ((10, 1.0), (30, 1 / 3), (100, 2.0)):
        for size in given.values():
            taken.append(next_prime(max(least, int(size * factor)), *taken))
    n = len(given)
    return [dict(zip(given, taken[at : at + n], strict=True)) for at in range(0, 3 * n, n)]


def proposals(brief: Brief) -> Generator[Proposal, None, str]:
    """Yield the first proposals of a first round, refinements of passed exemplars, then the rest.

    Each text is yielded once. What older emitters wrote for a winner is written anew before all
    others. The first ones come next even if the brief has a history, since the rules may be newer
    than it. The generator returns the reason why there were no proposals, as for
    a module that cannot be captured, or an empty text.
    """
    try:
        opened = OpenedTask(brief)
    except CannotCapture as error:
        return f"the rules cannot capture this module: {error}"
    n_proposed = 0
    seen = {exemplar.proposal.candidate.digest for exemplar in brief.exemplars}
    first = first_proposals(opened)
    opening = itertools.islice(first, BUILT_TOGETHER)
    for proposal in itertools.chain(_again(opened), opening, _refined(opened), first):
        if proposal.candidate.digest not in seen:
            seen.add(proposal.candidate.digest)
            n_proposed += 1
            yield proposal
    dialects = ", ".join(brief.dialects)
    return "" if n_proposed else f"the rules have no other code for its operators in {dialects}"


def first_proposals(opened: OpenedTask, n_schedules: int = N_FIRST) -> Iterator[Proposal]:
    """Yield the first schedule of every variant and dialect, then the second ones, and so on, at
    most so many of each."""
    graphs = [part.captured.graph for part in opened.parts]
    has_convolutions = any(name.startswith("conv") for name in operators(graphs))
    ways = [w for w in opened.variants if has_convolutions or not is_for_convolutions(w)]
    pairs = [(way, emitter) for way in ways for emitter in emitters(opened.brief)]
    on_gpu = graphs if opened.brief.device.kind == "cuda" else []
    lines: dict[tuple[str, str], Iterator[Proposal]] = {}
    order = []
    found = [] if is_mostly_products(on_gpu) else convolutions(on_gpu)
    for way, emitter in in_order(pairs, found, operators(on_gpu)):
        key = (way.name, emitter.dialect)
        lines.setdefault(key, _scheduled(opened, way, emitter, n_schedules))
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


def _scheduled(
    opened: OpenedTask, variant: Variant, emitter: Emitter, n_schedules: int
) -> Iterator[Proposal]:
    if _failed(opened.brief, variant, emitter):
        return
    try:
        program = opened.program(variant, emitter)
    except Unsupported:
        return
    is_training = bool(opened.brief.task.step_of)
    is_library = emitter.dialect == "torch" and not opened.parts[0].path and not is_training
    if not is_library and not any(program.own()):
        return
    if not is_library and _has_no_own_product(opened, variant, program):
        return
    schedules = _schedules(program, emitter, opened.target)
    if is_training:
        schedules = map(_without_runner, schedules)
    if opened.brief.budget_s < COMPILE_S:
        schedules = (schedule for schedule in schedules if "compile" not in schedule)
    for schedule in itertools.islice(schedules, n_schedules):
        with contextlib.suppress(Unsupported):
            yield opened.proposal(variant, emitter, schedule)


def _has_no_own_product(opened: OpenedTask, variant: Variant, program: Program) -> bool:
    """Whether a variant with own products leaves all of them to the library, because the dialect
    writes none. Then another variant, which does so on purpose, fuses more around them."""
    if not variant.products or any(isinstance(step, WITH_PRODUCTS) for step in program.steps):
        return False
    calls = [step for step in program.steps if isinstance(step, Call)]
    has_others = any(
        not other.products and other.partition == variant.partition for other in opened.variants
    )
    return has_others and any(is_product(call) for call in calls)


def _failed(brief: Brief, variant: Variant, emitter: Emitter) -> bool:
    """Whether the brief shows that this variant has failed."""
    return any(
        exemplar.role == "failed"
        and exemplar.proposal.proposer == NAME
        and exemplar.proposal.candidate.dialect == emitter.dialect
        and exemplar.proposal.schedule.get("variant") == variant.name
        for exemplar in brief.exemplars
    )


def _again(opened: OpenedTask) -> Iterator[Proposal]:
    """Yield what today's emitters write for the winners that older ones wrote."""
    for proposal, _ in opened.brief.elsewhere:
        if is_outdated(proposal):
            yield from iter(partial(_next, _rewritten(opened, proposal)), None)


def _rewritten(opened: OpenedTask, parent: Proposal) -> Iterator[Proposal]:
    if way := _way_of(opened, parent):
        with contextlib.suppress(Unsupported):
            yield opened.proposal(*way, parent.schedule["kernels"], parent.candidate.digest)


def _refined(opened: OpenedTask) -> Iterator[Proposal]:
    """Yield variations of the schedules of passed exemplars, the fastest exemplar first."""
    for exemplar in sorted(opened.brief.exemplars, key=_slowness):
        if exemplar.proposal.proposer == NAME and exemplar.evaluation.passed:
            yield from neighbours_of(opened, exemplar.proposal)


def neighbours_of(opened: OpenedTask, parent: Proposal) -> Iterator[Proposal]:
    """Yield variations of a proposal's schedule, the most promising first."""
    return as_far_as_it_goes(_neighbours(opened, parent))


def as_far_as_it_goes(line: Iterator[Proposal]) -> Iterator[Proposal]:
    """Yield proposals; a bug in a rule ends them with a warning, not the search."""
    return iter(partial(_next, line), None)


def _neighbours(opened: OpenedTask, parent: Proposal) -> Iterator[Proposal]:
    if way := _way_of(opened, parent):
        program, known = opened.program(*way), parent.schedule["kernels"]
        for schedule in map(fixed, way[1].refine(program, known, opened.target)):
            if opened.brief.task.step_of:
                schedule = _without_runner(schedule)
            with contextlib.suppress(Unsupported):
                yield opened.proposal(*way, schedule, parent.candidate.digest)


def moved(
    opened: OpenedTask, start: Proposal, cost: Callable[[Schedule], float], most: int
) -> Proposal:
    """Return the proposal that is reached from ``start`` by at most so many moves of one knob, each
    of which lowers the cost of the schedule most."""
    way = _way_of(opened, start)
    assert way is not None, "the rules made the proposal for this task"
    program, schedule = opened.program(*way), start.schedule["kernels"]
    for _ in range(most):
        near = [*map(fixed, way[1].refine(program, schedule, opened.target))]
        best = min(near, key=cost, default=schedule)
        if cost(best) >= cost(schedule):
            break
        schedule = best
    if schedule is start.schedule["kernels"]:
        return start
    return opened.proposal(*way, schedule, start.candidate.digest)


def written(opened: OpenedTask, dialect: str, schedule: Mapping[str, Any]) -> Proposal | None:
    """Return the proposal with the schedule of an earlier one; None if the rules do not have its
    steps any more."""
    if way := _way(opened, dialect, schedule):
        with contextlib.suppress(Unsupported):
            return opened.proposal(*way, schedule["kernels"])
    return None


def _way_of(opened: OpenedTask, parent: Proposal) -> tuple[Variant, Emitter] | None:
    return _way(opened, parent.candidate.dialect, parent.schedule)


def _way(
    opened: OpenedTask, dialect: str, schedule: Mapping[str, Any]
) -> tuple[Variant, Emitter] | None:
    """The variant and the emitter of a schedule, as far as the rules still have its steps."""
    name = schedule.get("variant")
    variant = next((way for way in opened.variants if way.name == name), None)
    emitter = next((each for each in emitters(opened.brief) if each.dialect == dialect), None)
    if variant is None or emitter is None:
        return None
    try:
        program = opened.program(variant, emitter)
    except Unsupported:
        return None
    is_known = {step.name for step in program.own()} <= schedule["kernels"].keys()
    return (variant, emitter) if is_known else None


def _without_runner(schedule: Schedule) -> Schedule:
    """Return the schedule for the steps alone: autograd calls those of a training step, and nothing
    can be put around them."""
    return {name: knobs for name, knobs in schedule.items() if name not in ("graph", "search")}


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
