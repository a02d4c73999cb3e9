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
from collections.abc import Iterator, Mapping, Sequence
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
from kernelwright.suites.composed.lessons.schedule import Schedule
from kernelwright.tuner.admission import refusal

DEVICE = Device("cuda", "sm_90")
ANY, QUICK, FAST = CHOICES = ("any", "quick", "fast")
KEEP, BARE = 24, 4
"""Answers that are drawn for each program of a grid; those without exemplars that are kept. A
quarter of the former have exemplars."""
CONTRASTIVE_SHARE = 0.25
N_NEAR = 2
"""Measured programs of a similar size that a lesson may borrow a schedule from."""
LIMIT_S = 10
SMALL_BYTES = 64 << 10
SCALES, ALIKE = (1.0, 1.0, 1 / 256, 0.0), 0.7
"""Of draws: what is right near one may have lost all near zero; 0: all of them are ALIKE."""
Line = Mapping[str, schedule_line.Value]


# -- which schedule -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Program:
    """A program of a grid, with the times of its schedules."""

    task: str
    form: str
    log_bytes: float
    own: Line
    lines: tuple[Line, ...]
    times_ns: tuple[float, ...]

    def drawn(self, draw: random.Random) -> Line:
        """A schedule in proportion to speed^(1/T), as ``dataset build --grid`` draws them."""
        best = min(self.times_ns)
        weights = [(best / each) ** (1 / TEMPERATURE) for each in self.times_ns]
        return draw.choices(self.lines, weights)[0]


class Lender:
    """The schedules that a grid measured, lent to programs like those that it has."""

    def __init__(self, rows: Sequence[Measured]) -> None:
        groups: dict[tuple[str, str, str], list[Measured]] = defaultdict(list)
        for row in rows:
            if row.time_ns is not None and row.code and row.lineage:
                groups[row.task_digest, row.program, row.environment].append(row)
        self.programs = [_program(each) for each in groups.values()]

    def schedule(
        self, form: str, own: Line, n_bytes: int, draw: random.Random, besides: str = ""
    ) -> Line:
        """A schedule from the nearest in size of the programs of the same form, or else of those
        that set the same names; its own if there are none."""
        alike = [p for p in self.programs if p.own.keys() == own.keys() and p.task != besides]
        same = [p for p in alike if p.form == form] or [
            p for p in alike if p.form.partition(", ")[0] == form.partition(", ")[0]
        ]
        log_bytes = math.log(n_bytes)
        near = sorted(same or alike, key=lambda p: abs(p.log_bytes - log_bytes))[:N_NEAR]
        lent = draw.choice(near).drawn(draw) if near else own
        return {name: lent[name] for name in own}


def _program(rows: Sequence[Measured]) -> Program:
    row = rows[0]
    written = [json.loads(each.schedule) for each in rows if each.is_as_written]
    lines = tuple(json.loads(each.schedule) for each in rows)
    times = tuple(each.time_ns for each in rows if each.time_ns is not None)
    own = written[0] if written else lines[0]
    return Program(
        row.task_digest, row.lineage[0], math.log(weight(row.task_source)), own, lines, times
    )


def chosen(how: str, proposal: Proposal, n_bytes: int, lender: Lender, seed: str) -> Line:
    """The schedule of a lesson that was not measured."""
    own, draw = schedule_line.read(proposal.candidate.source), random.Random(seed)
    if how == QUICK:
        return own
    if how == ANY:
        return schedule_line.drawn([*own], draw)
    return lender.schedule(proposal.lineage[0], own, n_bytes, draw)


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


def _quick_line(code: str) -> Line:
    own = schedule_line.read(code)
    quick = Schedule.quick(random.Random(code)).line(" ".join(own))
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
        return type(error).__name__
    finally:
        signal.alarm(0)


def regrets(lender: Lender) -> Table:
    """By form: how many times as long as the fastest schedule each way of choosing takes."""
    logs: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for program in lender.programs:
        times = [math.log(each / min(program.times_ns)) for each in program.times_ns]
        known = dict(zip(map(_key, program.lines), times, strict=True))
        draw = random.Random(program.task)
        lent = [
            lender.schedule(
                program.form, program.own, round(math.exp(program.log_bytes)), draw, program.task
            )
            for _ in range(16)
        ]
        near = [_nearest(program, line, times) for line in lent]
        ways = {
            ANY: times, QUICK: [known[_key(program.own)]] if _key(program.own) in known else [],
            FAST: near,
        }  # fmt: skip
        for form in (program.form.partition(", ")[0], "all"):
            for way, found in ways.items():
                logs[form][way] += [statistics.fmean(found)] if found else []
    shown = Table("form", "programs", *CHOICES)
    for form, found in sorted(logs.items(), key=lambda item: (item[0] == "all", item[0])):
        cells = [
            f"{math.exp(statistics.fmean(found[way])):.2f}" if found[way] else "" for way in CHOICES
        ]
        shown.add_row(form, str(len(found[ANY])), *cells)
    return shown


def _key(line: Line) -> str:
    return json.dumps(dict(line), sort_keys=True)


def _nearest(program: Program, line: Line, times: Sequence[float]) -> float:
    """The time of the measured schedule that is the fewest steps from a lent one: this one itself
    was seldom measured."""

    def steps(other: Line) -> int:
        places = [schedule_line.KNOBS[name] for name in line]
        return sum(
            abs(each.index(line[n]) - each.index(other[n]))
            for each, n in zip(places, line, strict=True)
        )

    return min(zip(map(steps, program.lines), times, strict=True))[1]


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
    lender = Lender([*itertools.chain.from_iterable(map(open_grid, grids))])
    if regret or out is None:
        Console().print(regrets(lender))
        return
    tests = KnownStructures(excluded_tasks(exclude))
    bare, shown = measured(grids, how, exclude)
    lent = [each for url in archives for each in borrowed(url, how, lender, tests)]
    pairs = mixed(lent, bare, shown, count)
    faults = [f"{each.task_name}: {why}" for each in pairs if (why := fault(each))]
    write_pairs(pairs, out)
    n_shown = sum(bool(json.loads(each.provenance)["shown"]) for each in pairs)
    n_measured = sum(each.status == MEASURED for each in pairs)
    n_tasks = len({each.task_digest for each in pairs})
    click.echo(f"{len(pairs)} pairs of {n_tasks} tasks in {out}")
    click.echo(f"{n_measured} measured, {n_shown} contrastive; there were {len(lent)} lent,")
    click.echo(f"{len(bare)} measured ones without exemplars and {len(shown)} with them")
    click.echo(f"{len(faults)} with a fault" + "".join(f"\n  {each}" for each in faults[:10]))
    with tempfile.TemporaryDirectory() as folder:
        for each in random.Random(1).sample(pairs, min(check, len(pairs))):
            click.echo(f"{each.task_name}: {found_right(each, Path(folder))}")


if __name__ == "__main__":
    main()
