"""A search for a task that lists several shapes: kernels for each, and one file that chooses.

The budget is shared out among the shapes that are listed. On the main shape the general candidate
is found; on every other one a special candidate, beside which the general one is judged. Special
ones that are faster on their shape are joined with the general one to one file, which is judged on
every shape like any candidate. The result is the candidate with the highest geometric mean of the
speedups; shapes that are held out are judged last, and count for nothing.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from kernelwright.archive import ranking
from kernelwright.archive.conclusion import conclusion_over_shapes
from kernelwright.archive.ranking import Pair
from kernelwright.compiler.candidate.joined import CannotJoin, Special, joined
from kernelwright.core.candidate import Brief, Candidate, Proposal
from kernelwright.core.device import EMULATED, Device
from kernelwright.core.errors import TaskError
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.dialects.devices import resolve
from kernelwright.dialects.usable import usable_dialects
from kernelwright.judge import SharedForkServer, SharedForkServerProcess
from kernelwright.loaders.reference import CHECK_SEED, open_reference
from kernelwright.loaders.shapes import Shape, listed_shapes
from kernelwright.proposers.emitted import EMITTING
from kernelwright.proposers.rules.served import why_unserved
from kernelwright.search import judging, loop
from kernelwright.search.library_candidate import library_candidate
from kernelwright.search.result import (
    AtShape,
    History,
    OnProgress,
    Progress,
    Result,
    require_source,
    write_source,
)

MOST_SPECIAL = 3
"""The number of special candidates in a file at most: each is some 200 lines, and a comparison in
every call."""
LEAST_GAIN = 1.03
"""A special candidate must be faster than the general one by this factor on its shape: less is
noise, and a longer file."""
JOINED = "joined"
"""The mark of a joined file in its proposal's schedule, with the names of the shapes."""


def optimize(task: Task, *, settings: Settings, on_progress: OnProgress) -> Result:
    """Search for the fastest kernels over all shapes that a task lists.

    Raises:
        TaskError: the task asks for a range of sizes, and no kernel can serve it.
        As ``loop.optimize``.
    """
    require_source(settings.out, task.name)
    shapes = timed_shapes(task, settings)
    if len(shapes) == 1:
        return loop.optimize(task, settings=settings, on_progress=on_progress)
    require_source(settings.out, max((shape.task.name for shape in shapes), key=len))
    _require_served(shapes, resolve(Device.parse(settings.device)), settings)
    n_tuned = sum(not shape.is_holdout for shape in shapes)
    each = replace(settings, budget_s=settings.budget_s / n_tuned)
    with SharedForkServerProcess() as server:
        return _ShapeSearch(shapes, each, on_progress, server).run()


def timed_shapes(task: Task, settings: Settings) -> list[Shape]:
    """The shapes on which candidates are timed: all that a task lists, the main one first and those
    held out last; the main one alone where nothing is timed.

    Raises:
        TaskError: the task does not run.
    """
    shapes = listed_shapes(task)
    is_emulated = resolve(Device.parse(settings.device)).arch == EMULATED
    return shapes if settings.timed and not is_emulated else shapes[:1]


def _require_served(shapes: Sequence[Shape], device: Device, settings: Settings) -> None:
    """Fail early where shapes are held out that kernels of the rules, if they alone propose, would
    leave to the reference.

    Raises:
        TaskError: so it is.
    """
    main, *others = shapes
    held_out = [shape for shape in others if shape.is_holdout]
    if not held_out or not all(map(loop.is_built_in_rules, settings.proposers)):
        return
    free = set[tuple[int, int]]().union(*(_differing(main, shape) for shape in held_out))
    within = [shape for shape in shapes if _differing(main, shape) <= free]
    dialects = usable_dialects(settings.dialects, device)
    brief = Brief(main.task, device, dialects)
    if why := why_unserved(brief, [shape.inputs for shape in within]):
        names = ", ".join(shape.name for shape in within)
        raise TaskError(
            "no kernel can serve this range of sizes",
            seen=f"{names}: {why}",
            do="list the sizes that count, such as float32[512|64,1024], or let get_other_inputs "
            "return them: each gets kernels of its own",
        )


def _differing(one: Shape, other: Shape) -> set[tuple[int, int]]:
    """The dimensions in which two shapes differ, as (tensor, dimension)."""
    pairs = enumerate(zip(one.sizes, other.sizes, strict=False))
    return {
        (number, dim)
        for number, (before, after) in pairs
        for dim, (n, m) in enumerate(itertools.zip_longest(before, after))
        if n != m
    }


@dataclass
class _ShapeSearch:
    """The searches on the shapes of one task; the main shape is the first."""

    shapes: Sequence[Shape]
    settings: Settings
    on_progress: OnProgress
    fork_server: SharedForkServer
    found: dict[str, Result] = field(default_factory=dict)
    """The result of the search on each listed shape, by its name."""
    judged: dict[str, History] = field(default_factory=dict)
    """All verdicts on each shape, by its name."""

    def run(self) -> Result:
        listed = [shape for shape in self.shapes if not shape.is_holdout]
        general: Proposal | None = None
        for shape in listed:
            self.search(shape, [general] if general else [])
            if self.found[shape.name].interrupted:
                return replace(self.main, interrupted=True)
            winner = self.winner(shape)
            general = general or (winner[0] if winner else None)
        if general is None:
            return self.main
        try:
            for shape in listed:
                self.judge(shape, [general])
            finalists = self.joined_with(general)
            for shape in listed:
                self.judge(shape, finalists)
            found = conclusion_over_shapes([self.judged[shape.name] for shape in listed])
            if found.best is None:
                return self.lost(general, listed) if found.mean else self.main
            for shape in self.shapes[len(listed) :]:
                self.judge(shape, [found.best[0]])
        except KeyboardInterrupt:
            return replace(self.main, interrupted=True)
        return self.result(*found.best)

    @property
    def judged_later(self) -> History:
        """The verdicts on the main shape that its search did not give."""
        known = {proposal.candidate.digest for proposal, _ in self.main.evaluated}
        judged = self.judged[self.shapes[0].name]
        return [pair for pair in judged if pair[0].candidate.digest not in known]

    @property
    def main(self) -> Result:
        """The result on the main shape alone."""
        return self.found[self.shapes[0].name]

    def search(self, shape: Shape, also: Sequence[Proposal]) -> None:
        """Search on one shape, and judge the candidates of ``also`` on it."""
        self.found[shape.name] = loop.optimize(
            shape.task,
            settings=self.settings,
            on_progress=self.on_progress,
            fork_server=self.fork_server,
            also=also,
        )
        self.judged[shape.name] = list(self.found[shape.name].evaluated)

    def winner(self, shape: Shape) -> Pair | None:
        """The winner on one shape, of the candidates that are not joined ones of an earlier run."""
        result = self.found[shape.name]
        if result.best and result.evaluation and JOINED not in result.best.schedule:
            return result.best, result.evaluation
        return ranking.best(p for p in self.judged[shape.name] if JOINED not in p[0].schedule)

    def judge(self, shape: Shape, proposals: Sequence[Proposal]) -> None:
        """Judge candidates on one shape as far as they have no verdict there."""
        known = self.judged.setdefault(shape.name, [])
        digests = {proposal.candidate.digest for proposal, _ in known}
        missing = [p for p in proposals if p.candidate.digest not in digests]
        if not missing:
            return
        for _ in missing:
            self.tell(shape)
        known += judging.judge_all(
            shape.task, missing, settings=self.settings, fork_server=self.fork_server
        )

    def tell(self, shape: Shape) -> None:
        best, n_done = self.main.evaluation, sum(map(len, self.judged.values()))
        doing = f"measuring on {shape.name}"
        speedup = best.speedup if best else None
        self.on_progress(Progress(self.main.task.name, doing, speedup, n_done, 0.0))

    def joined_with(self, general: Proposal) -> list[Proposal]:
        """The general candidate joined with the special ones that are faster; empty if none is."""
        faster = sorted(self.faster_than(general), key=lambda found: -found[0])[:MOST_SPECIAL]
        pairs = [(shape, proposal) for _, shape, proposal in faster]
        try:
            texts = [Special(p.candidate.source, self.telling(shape)) for shape, p in pairs]
            source = joined(general.candidate.source, texts) if texts else ""
        except CannotJoin:
            return []
        if not source:
            return []
        names = [shape.name for shape, _ in pairs]
        return [
            replace(
                general,
                candidate=replace(general.candidate, source=source),
                schedule={**general.schedule, JOINED: names},
                parent=None,
                note=f"{general.summary}; other kernels for {', '.join(names)}",
            )
        ]

    def faster_than(self, general: Proposal) -> Iterator[tuple[float, Shape, Proposal]]:
        """The winners of single shapes that gain enough over the general candidate there, with the
        gain; as far as their text can stand in one file with its text."""
        for shape in self.shapes:
            winner = self.winner(shape) if shape.name in self.found else None
            if winner is None:
                continue
            best, speedup = winner[0], winner[1].speedup
            verdicts = {p.candidate.digest: found for p, found in self.judged[shape.name]}
            usual = verdicts[general.candidate.digest].speedup
            is_written_alike = (best.proposer, best.candidate.dialect, general.proposer) == (
                EMITTING,
                general.candidate.dialect,
                EMITTING,
            )
            if best.candidate == general.candidate or not is_written_alike or not speedup:
                continue
            gain = speedup.median / (usual.median if usual else 1.0)
            if gain > LEAST_GAIN:
                yield gain, shape, best

    def telling(self, shape: Shape) -> dict[str, tuple[int, ...]]:
        """The shapes of the forward's tensors that are not the same on every listed shape.

        Raises:
            CannotJoin: such a tensor is inside of another argument.
        """
        names = self.parameters
        columns = zip(*(each.inputs for each in self.shapes), strict=False)
        found = {
            name: tuple(shape.inputs[place].shape)
            for place, (name, column) in enumerate(zip(names, columns, strict=False))
            if all(isinstance(value, torch.Tensor) for value in column)
            and len({value.shape for value in column}) > 1
        }
        others = [each for each in self.shapes if each is not shape]
        if not found or any(self.has(each, found) for each in others):
            raise CannotJoin("no argument of its own tells the shapes apart")
        return found

    def has(self, shape: Shape, told: Mapping[str, tuple[int, ...]]) -> bool:
        """Whether the forward's tensors have these shapes."""
        given = dict(zip(self.parameters, shape.inputs, strict=False))
        return all(tuple(given[name].shape) == sizes for name, sizes in told.items())

    @functools.cached_property
    def parameters(self) -> list[str]:
        """The names of the forward's parameters."""
        module = open_reference(self.shapes[0].task).build(CHECK_SEED)
        return list(inspect.signature(module.forward).parameters)

    def result(self, best: Proposal, evaluation: Evaluation) -> Result:
        """The main shape's result with the winner of all shapes, and its verdict on each."""
        return replace(
            self.main,
            best=best,
            evaluation=evaluation,
            evaluated=[*self.main.evaluated, *self.judged_later],
            source_path=self.written(best.candidate),
            by_shape=self.by_shape(best, self.shapes),
        )

    def lost(self, general: Proposal, listed: Sequence[Shape]) -> Result:
        """The result where the library is faster over all shapes, with the verdicts that say so."""
        return replace(
            self.main,
            best=None,
            evaluation=None,
            source_path=self.written(library_candidate(self.main.task, self.main.strongest)),
            by_shape=self.by_shape(general, listed),
        )

    def by_shape(self, proposal: Proposal, shapes: Sequence[Shape]) -> tuple[AtShape, ...]:
        """The verdicts on one candidate."""
        found = []
        for shape in shapes:
            verdicts = {p.candidate.digest: e for p, e in self.judged[shape.name]}
            verdict = verdicts[proposal.candidate.digest]
            found.append(AtShape(shape.name, verdict, shape.is_holdout))
        return tuple(found)

    def written(self, candidate: Candidate) -> Path:
        return write_source(candidate, Path(self.settings.out), self.main.task.name)
