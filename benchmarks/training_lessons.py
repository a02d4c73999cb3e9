"""Data sets of equal size that differ only in how the schedules of their answers were chosen.

    kernelwright tasks lessons --unjudged --size gpu --count 3000 --archive lessons.sqlite
    kernelwright dataset grid --archive measured.sqlite --schedules 24 --device cuda --out grid
    python benchmarks/training_lessons.py --lessons lessons.sqlite --grid grid --choose fast \\
        --exclude KernelBench --out best [--count 3500] [--check 40]
    python benchmarks/training_lessons.py --grid grid --regret

``--choose any`` draws every schedule that fits a GPU alike, ``quick`` has the schedules that
lessons are written with, and ``fast`` draws them by the speed that a grid has measured. A lesson
that was not measured borrows the schedule of a measured one of the same form and a similar size. A
quarter of the pairs is contrastive in all three: the prompt shows measured kernels, and the answer
is surely faster. What repeats a task of --exclude by structure is left out.

``--check N`` compares N of the answers with their reference in float64, in Triton's interpreter,
with axes cut short. ``--regret`` prints how many times as long as the fastest schedule of its
program each way of choosing takes, every task borrowing from the others alone.
"""

from __future__ import annotations

import os

os.environ["TRITON_INTERPRET"] = "1"  # read when Triton is imported

import itertools
import json
import math
import random
import signal
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
import torch
import triton  # noqa: F401 - kernels' files import it, and none would be right without
from opened import opened
from rich.console import Console
from rich.table import Table
from training_exam import cut, weight

from kernelwright.archive import Archive
from kernelwright.core import schedule_line
from kernelwright.core.candidate import Brief, Proposal
from kernelwright.core.device import Device
from kernelwright.core.schedule_line import Schedule
from kernelwright.core.task import Task
from kernelwright.dataset import Grids, build_dataset
from kernelwright.dataset.answer import lesson_answer
from kernelwright.dataset.build import TEMPERATURE, excluded_tasks
from kernelwright.dataset.grid import Measured, open_grid
from kernelwright.dataset.pairs import MEASURED, Pair, write_pairs
from kernelwright.loaders.structure import KnownStructures, structure
from kernelwright.proposers.policy import CONTEXT
from kernelwright.proposers.swarm.prompt import generator
from kernelwright.proposers.swarm.question import Question
from kernelwright.suites.composed.lessons.schedule import Schedule as LessonSchedule
from kernelwright.tuner.admission import refusal

DEVICE = Device("cuda", "sm_90")
ANY, QUICK, FAST = CHOICES = ("any", "quick", "fast")
KEEP, BARE = 24, 4
"""Answers that are drawn for each program of a grid; those without exemplars that are kept. A
quarter of the former have exemplars."""
CONTRASTIVE_SHARE = 0.25
FEWEST = 8
"""Measured schedules of a program that is borrowed from."""
STEPS, GAIN = 2.0, 1.05
"""Steps of knobs within which a measured schedule says something about another one, and how many
times as fast as a lesson's own schedule a borrowed one must be expected to be."""
LIMIT_S = 10
SMALL_BYTES = 64 << 10
SCALES, ALIKE = (1.0, 1.0, 1 / 256, 0.0), 0.7
"""Of draws: what is right near one may have lost all near zero; 0: all of them are ALIKE."""


# -- which schedule -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Program:
    """A program of a grid: how many times as long as its fastest schedule each takes."""

    task: str
    form: str
    log_bytes: float
    own: Schedule
    lines: tuple[Schedule, ...]
    logs: tuple[float, ...]
    """Logarithms of these ratios."""


class Family:
    """The programs of a grid that set the same names, of whatever form."""

    def __init__(self, names: Sequence[str], programs: Sequence[Program]) -> None:
        self.names, self.programs = [*names], programs
        self.lines = [line for program in programs for line in program.lines]
        self._places = self._placed(self.lines)
        self._logs = torch.tensor([log for program in programs for log in program.logs])

    def expected(
        self, form: str, log_bytes: float, lines: Sequence[Schedule], besides: str = ""
    ) -> torch.Tensor:
        """What the lines would take, as a logarithm over the fastest: the mean of measured lines,
        those more that differ in fewer steps, of the same form and of a similar size."""
        alike = torch.tensor([
            0.0 if program.task == besides
            else _alike(program.form, form) * math.exp(-abs(program.log_bytes - log_bytes) / 2)
            for program in self.programs for _ in program.lines
        ])  # fmt: skip
        near = self._nearness(lines)
        return near @ (alike * self._logs) / (near @ alike).clamp(min=1e-12)

    def chosen(
        self,
        form: str,
        log_bytes: float,
        own: Schedule,
        lines: Sequence[Schedule],
        besides: str = "",
    ) -> Schedule:
        """The line that should be fastest, if it is faster than a program's own one by GAIN."""
        every = [own, *({name: line[name] for name in own} for line in lines)]
        mine, *others = self.expected(form, log_bytes, every, besides).tolist()
        best = min(range(len(others)), key=others.__getitem__)
        return every[best + 1] if others[best] < mine - math.log(GAIN) else own

    def _nearness(self, lines: Sequence[Schedule]) -> torch.Tensor:
        return torch.exp(-torch.cdist(self._placed(lines), self._places, p=1) / STEPS)

    def _placed(self, lines: Sequence[Schedule]) -> torch.Tensor:
        knobs = [schedule_line.KNOBS[name] for name in self.names]
        rows = [
            [k.index(line[n]) for k, n in zip(knobs, self.names, strict=True)] for line in lines
        ]
        return torch.tensor(rows, dtype=torch.float32)


def _alike(one: str, other: str) -> float:
    """How much a program of one form says about one of another."""
    if one == other:
        return 8.0
    return 4.0 if one.partition(", ")[0] == other.partition(", ")[0] else 1.0


class Lender:
    """The schedules that a grid measured, lent to programs like those that it has."""

    def __init__(self, rows: Sequence[Measured]) -> None:
        groups: dict[tuple[str, str, str], list[Measured]] = defaultdict(list)
        for row in rows:
            if row.time_ns is not None and row.code and row.lineage:
                groups[row.task_digest, row.program, row.environment].append(row)
        self.programs = [_program(each) for each in groups.values() if len(each) >= FEWEST]
        by_names: dict[tuple[str, ...], list[Program]] = defaultdict(list)
        for program in self.programs:
            by_names[tuple(sorted(program.own))].append(program)
        self.families = {names: Family(names, some) for names, some in by_names.items()}

    def schedule(self, form: str, own: Schedule, n_bytes: int) -> Schedule:
        """The schedule that should be fastest; the program's own if that is expected to be about as
        fast, or if the grid has none that sets the same names."""
        family = self.families.get(tuple(sorted(own)))
        return family.chosen(form, math.log(n_bytes), own, family.lines) if family else own


def _program(rows: Sequence[Measured]) -> Program:
    row, times = rows[0], [each.time_ns or math.inf for each in rows]
    lines = tuple(json.loads(each.schedule) for each in rows)
    written = [line for line, each in zip(lines, rows, strict=True) if each.is_as_written]
    return Program(
        row.task_digest, row.lineage[0], math.log(weight(row.task_source)),
        written[0] if written else lines[0], lines,
        tuple(math.log(each / min(times)) for each in times),
    )  # fmt: skip


def chosen(how: str, proposal: Proposal, n_bytes: int, lender: Lender, seed: str) -> Schedule:
    """The schedule of a lesson that was not measured."""
    own, draw = schedule_line.read(proposal.candidate.source), random.Random(seed)
    if how == QUICK:
        return own
    if how == ANY:
        return schedule_line.drawn([*own], draw)
    return lender.schedule(proposal.lineage[0], own, n_bytes)


# -- pairs ----------------------------------------------------------------------------------------


def borrowed(archive: str, how: str, lender: Lender, tests: KnownStructures) -> Iterator[Pair]:
    """The pairs of an archive's lessons that repeat no test."""
    with Archive(archive, create=False) as opened_archive:
        for task in opened_archive.tasks():
            (proposal,) = opened_archive.proposals(task.digest)[:1]
            source = proposal.candidate.source
            if not schedule_line.read(source) or tests.repeated_by(structure(task)):
                continue
            line = chosen(how, proposal, weight(task.source), lender, f"{how} {task.digest}")
            yield pair(task, proposal, schedule_line.rewritten(source, line))


def pair(task: Task, proposal: Proposal, code: str) -> Pair:
    """The training pair of a lesson under a schedule."""
    dialect = proposal.candidate.dialect
    brief = Brief(task, DEVICE, (dialect,), (), threads=1)
    return Pair(
        task_digest=task.digest, task_name=task.name, task_source=task.source, dialect=dialect,
        device=str(DEVICE), prompt=generator(brief, Question("write", dialect), CONTEXT),
        answer=lesson_answer(proposal.lineage[0], code=code), code=code, status="passed", kinds=(),
        speedup=None, speedup_low=None, speedup_high=None, origin=proposal.proposer, split="train",
        provenance=json.dumps({"lineage": proposal.lineage, "shown": []}),
    )  # fmt: skip


def measured(
    grids: Sequence[Path], how: str, exclude: Sequence[Path]
) -> tuple[list[Pair], list[Pair]]:
    """The pairs of a grid without and with exemplars."""
    temperature = TEMPERATURE if how == FAST else math.inf
    with tempfile.TemporaryDirectory() as folder:
        built = build_dataset(
            [],
            out=Path(folder) / "pairs",
            exclude=exclude,
            keep=KEEP,
            grids=Grids(grids, temperature),
        )
    bare: dict[str, list[Pair]] = defaultdict(list)
    shown = []
    for each in built.pairs:
        if json.loads(each.provenance)["shown"]:
            shown.append(each)
        else:
            bare[schedule_line.program(each.code)].append(each)
    few = [each for some in bare.values() for each in some[:BARE]]
    return [_quick(each) for each in few] if how == QUICK else few, shown


def _quick(one: Pair) -> Pair:
    """The same pair with a schedule as lessons are written with; nobody has measured it."""
    code = schedule_line.rewritten(one.code, _quick_line(one.code))
    text = one.answer.replace(one.code.strip("\n"), code.strip("\n"))
    nothing = dict.fromkeys(("speedup", "speedup_low", "speedup_high"))
    return replace(one, code=code, answer=text, status="passed", **nothing)


def _quick_line(code: str) -> Schedule:
    own = schedule_line.read(code)
    quick = LessonSchedule.quick(random.Random(code)).line(" ".join(own))
    return schedule_line.read(f"{quick}\nprint({', '.join(own)})")


def mixed(
    lent: Sequence[Pair], bare: Sequence[Pair], shown: Sequence[Pair], count: int
) -> list[Pair]:
    """So many pairs, a quarter of them contrastive if there are as many, in random order."""
    draw = random.Random(0)
    some = draw.sample(shown, min(len(shown), int(CONTRASTIVE_SHARE * count)))
    others = [*bare, *lent][: count - len(some)]
    return draw.sample([*some, *others], len(some) + len(others))


# -- checks ---------------------------------------------------------------------------------------


def fault(one: Pair) -> str:
    """What is wrong with an answer: its schedule line, the grammar, or its values."""
    if not schedule_line.read(one.code):
        return "no schedule line"
    if one.code.strip("\n") not in one.answer:
        return "the answer has another text"
    return refusal(one.code)


def scaled(x: torch.Tensor, scale: float) -> torch.Tensor:
    """An input like that, if it is no index."""
    if not x.is_floating_point():
        return x
    return x * scale if scale else torch.full_like(x, ALIKE)


def agrees(one: Pair, folder: Path) -> bool:
    """Whether the kernel is about as near to the reference in float64 as that in float32 is, with
    axes cut short."""
    text = cut(one.task_source, SMALL_BYTES)
    reference = opened(text or one.task_source, folder)
    mine = opened(one.code, folder)
    initial = reference.get_init_inputs()
    model, exact, other = (make(*initial) for make in (*[reference.Model] * 2, mine.ModelNew))
    exact.load_state_dict(model.state_dict())
    other.load_state_dict(model.state_dict())
    exact.double()
    for scale in SCALES:
        inputs = [scaled(x, scale) for x in reference.get_inputs()]
        with torch.no_grad():
            got = other(*inputs)
            wanted = exact(*(x.double() if x.is_floating_point() else x for x in inputs))
            own = (model(*inputs) - wanted).abs().max()
        if got.shape != wanted.shape:
            return False
        allowed = 2e-4 * wanted.abs() + 1e-5 * wanted.abs().max() + 4 * own
        allowed += 0.0 if scale else 1e-5 * ALIKE
        if not ((got - wanted).abs() <= allowed).all():
            return False
    return True


def found_right(one: Pair, folder: Path) -> str:
    """'right', 'wrong', or why it could not be said in time."""

    def late(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    signal.alarm(LIMIT_S)
    try:
        return "right" if agrees(one, folder) else "wrong"
    except Exception as error:  # whatever a kernel or a task does
        return type(error.__cause__ or error).__name__
    finally:
        signal.alarm(0)


def regrets(lender: Lender) -> Table:
    """By form: how many times as long as the fastest schedule of its program each way takes. What
    is lent is one of those that were measured, by what the other tasks say of them."""
    logs: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for names, family in lender.families.items():
        for one in family.programs:
            if len({program.task for program in family.programs}) < 2:
                continue
            lent = family.chosen(one.form, one.log_bytes, one.own, one.lines, one.task)
            logs_of = {_key(line): log for line, log in zip(one.lines, one.logs, strict=True)}
            if _key(one.own) not in logs_of:
                continue
            for form in (one.form.partition(", ")[0], f"all with {', '.join(names)}", "all"):
                logs[form][ANY].append(statistics.fmean(one.logs))
                logs[form][QUICK].append(logs_of[_key(one.own)])
                logs[form][FAST].append(logs_of[_key(lent)])
    shown = Table("form", "programs", *CHOICES)
    for form, found in sorted(logs.items(), key=lambda item: (item[0].startswith("all"), item[0])):
        means = (math.exp(statistics.fmean(found[way])) for way in CHOICES)
        shown.add_row(form, str(len(found[ANY])), *(f"{mean:.2f}" for mean in means))
    return shown


def _key(line: Schedule) -> tuple[tuple[str, schedule_line.Value], ...]:
    return tuple(sorted(line.items()))


@click.command()
@click.option("--lessons", "archives", multiple=True, help="Archive of lessons, measured or not.")
@click.option("--grid", "grids", multiple=True, required=True, type=click.Path(path_type=Path))
@click.option("--choose", "how", type=click.Choice(CHOICES), default=FAST, show_default=True)
@click.option("--exclude", type=click.Path(path_type=Path), multiple=True, help="Tests.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the pairs.")
@click.option("--count", default=3500, show_default=True, help="Pairs.")
@click.option("--check", default=0, show_default=True, help="Answers to compare with references.")
@click.option("--regret", is_flag=True, help="Only print what each way of choosing loses.")
def main(
    archives: Sequence[str], grids: Sequence[Path], how: str, exclude: Sequence[Path],
    out: Path | None, count: int, check: int, regret: bool,
) -> None:  # fmt: skip
    """Write the pairs, and say what is in them."""
    torch.set_num_threads(1)
    rows = [*itertools.chain.from_iterable(map(open_grid, grids))]
    if regret or out is None:
        Console(width=120).print(regrets(Lender(rows)))
        return
    tests = KnownStructures(excluded_tasks(exclude))
    tasks = {row.task_digest: row.task for row in rows}
    repeats = {name for name, task in tasks.items() if tests.repeated_by(structure(task))}
    lender = Lender([row for row in rows if row.task_digest not in repeats])
    bare, shown = measured(grids, how, exclude)
    lent = [each for url in archives for each in borrowed(url, how, lender, tests)]
    drawn = mixed(lent, bare, shown, count)
    whys = [fault(each) for each in drawn]
    pairs = [each for each, why in zip(drawn, whys, strict=True) if not why]
    refused = [f"{each.task_name}: {why}" for each, why in zip(drawn, whys, strict=True) if why]
    write_pairs(pairs, out)
    n_shown = sum(bool(json.loads(each.provenance)["shown"]) for each in pairs)
    n_measured = sum(each.status == MEASURED for each in pairs)
    n_tasks = len({each.task_digest for each in pairs})
    click.echo(f"{len(pairs)} pairs of {n_tasks} tasks in {out}")
    click.echo(f"{n_measured} measured, {n_shown} contrastive; there were {len(lent)} lent,")
    click.echo(f"{len(bare)} measured ones without exemplars and {len(shown)} with them")
    click.echo(f"{len(refused)} are left out:" + "".join(f"\n  {each}" for each in refused[:10]))
    with tempfile.TemporaryDirectory() as folder:
        for each in random.Random(1).sample(pairs, min(check, len(pairs))):
            click.echo(f"{each.task_name}: {found_right(each, Path(folder))}")


if __name__ == "__main__":
    main()
