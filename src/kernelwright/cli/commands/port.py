"""``kernelwright port``: CUDA to HIP and back, or to Metal, and how far each was checked."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kernelwright.cli.options import JSON
from kernelwright.console.terminal import Answer
from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.core.errors import UsageError
from kernelwright.core.settings import parse_budget
from kernelwright.core.task import Task
from kernelwright.hipify import State
from kernelwright.loaders import load
from kernelwright.port import PortReport, RungStatus, port
from kernelwright.port.metal import port_to_metal
from kernelwright.port.project import DEFAULT_TARGETS
from kernelwright.proposers.port.repair import Repair, Repairs
from kernelwright.proposers.swarm import SwarmProposer

COLOURS = {RungStatus.PASSED: "green", RungStatus.FAILED: "red", RungStatus.NOT_CHECKED: "yellow"}
BUDGET = "5m"  # time for the models: a few files with three questions each
FIRST_THAT_RUNS = 2  # the first rung that runs a program
N_SHOWN = 40  # findings listed on a terminal; the JSON report has all


def _named(context: click.Context, argument: click.Parameter, name: str) -> Path:
    """Return the path; an empty name would mean this folder."""
    if not name:
        raise UsageError("nothing to port", seen="an empty name", do="name a file or a folder")
    return Path(name)


@click.command("port")
@click.argument("path", metavar="PATH", callback=_named)
@click.option(
    "--to",
    type=click.Choice(["hip", "cuda", "metal"]),
    default="hip",
    show_default=True,
    help="Translate to this language.",
)
@click.option(
    "--arch",
    "targets",
    metavar="LIST",
    default=",".join(DEFAULT_TARGETS),
    show_default=True,
    help="Compile for these AMD targets.",
)
@click.option(
    "--rungs",
    metavar="LIST",
    help="Check by 0 lint, 1 compile, 2 run on this CPU, 3 on an NVIDIA GPU, 4 on an AMD GPU. "
    "Default: 0,1; of Metal 0,1,2 with --task.",
)
@click.option(
    "--task",
    "solved",
    metavar="TASK",
    help="Judge a candidate that is ported to Metal on this task, in rung 2.",
)
@click.option(
    "--arg",
    "arguments",
    multiple=True,
    help="Run the program with this argument, from rung 2 on; repeatable.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="MODEL",
    help="Ask this model, named as in optimize, to finish files that the rules leave unfinished; "
    "repeatable. Default: none.",
)
@click.option(
    "--price",
    "prices",
    multiple=True,
    metavar="MODEL=IN/OUT",
    help="The price of a model, as in optimize.",
)
@click.option(
    "--budget", multiple=True, metavar="LIMIT", help="Ask models for up to 5m (default), 2usd, …"
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Write here. Default: PATH with -hip or -cuda."
)
@JSON
def command(
    path: Path,
    to: str,
    targets: str,
    rungs: str | None,
    solved: str | None,
    out: Path | None,
    as_json: bool,
    arguments: tuple[str, ...],
    models: tuple[str, ...],
    prices: tuple[str, ...],
    budget: tuple[str, ...],
) -> Answer:
    """Translate PATH, a CUDA or HIP file or a folder of them, and check the result.

    To Metal, PATH is one candidate with CUDA. The exit code is 0 only if nothing was left unported
    and every requested rung passed.
    """
    place = out or _beside(path, to)
    wanted = _default_rungs(to, solved) if rungs is None else rungs
    words = [word.strip() for word in wanted.split(",")]
    for word in words:
        if not word.isdecimal():
            raise UsageError(f'no rung "{word}"', seen=wanted, do="choose from 0, 1, 2, 3, 4")
    if arguments and max(int(word) for word in words) < FIRST_THAT_RUNS:
        raise UsageError(
            "--arg is for programs that are run", seen=f"rungs {wanted}", do="add --rungs 0,1,2"
        )
    if to == "metal":
        if arguments or models:
            given = "--arg" if arguments else "--model"
            raise UsageError(
                f"{given} goes with HIP and CUDA",
                seen="--to metal",
                do="let models write it by: optimize TASK --device metal --proposer swarm",
            )
        task = None if solved is None else load(solved)
        report = port_to_metal(path, out=place, rungs=[int(word) for word in words], task=task)
        return _answer(report, place)
    if solved is not None:
        raise UsageError("--task goes with --to metal", seen=f"--to {to}", do="leave it out")
    report = port(
        path,
        to=to,
        targets=[t.strip() for t in targets.split(",")],
        out=place,
        rungs=[int(word) for word in words],
        arguments=arguments,
        repairs=_repairs(path, models, prices, budget),
    )
    return _answer(report, place)


def _answer(report: PortReport, place: Path) -> Answer:
    written = Text(f"written to {place}, report in port.json")
    shown: list[RenderableType] = [_table(report), *_findings(report), written]
    return Answer(report.as_json() | {"out": str(place)}, 0 if report.is_done else 1, shown)


def _default_rungs(to: str, solved: str | None) -> str:
    if to == "metal":
        return "0,1" if solved is None else "0,1,2"
    return "0,1" if to == "hip" else "0"


def _beside(path: Path, to: str) -> Path:
    """Return the default folder of a port: beside the file or the folder."""
    named = path if path.name not in ("", "..") else path.resolve()
    return named.parent / f"{named.stem if path.is_file() else named.name}-{to}"


def _repairs(
    path: Path, models: tuple[str, ...], prices: tuple[str, ...], budget: tuple[str, ...]
) -> Repairs | None:
    """Return the models that were named, after checking that they can be asked."""
    if not models:
        for option, value in (("--price", prices), ("--budget", budget)):
            if value:
                raise UsageError(
                    f"{option} goes with --model", seen="no --model", do="add --model NAME"
                )
        return None
    limits = parse_budget(budget or (BUDGET,))
    tokens = limits.get("budget_tokens")
    brief = Brief(
        Task(path.name, "port", ""),
        Device.parse("hip:gfx942"),
        ("hip",),
        models=models,
        prices=prices,
        budget_s=limits["budget_s"],
        budget_tokens=None if tokens is None else int(tokens),
        budget_usd=limits.get("budget_usd"),
    )
    SwarmProposer().check(brief)
    return Repairs(brief)


def _table(report: PortReport) -> Table:
    table = Table("file", "translated", "repaired", "changed", "unported", "rungs", box=None)
    for file in report.files:
        counts = [str(file.translation.count(state)) for state in _STATES]
        rungs = Text(" ").join(
            Text(f"{rung.name}: {rung.status}", COLOURS[rung.status]) for rung in file.rungs
        )
        table.add_row(file.path, *counts, rungs)
    return table


_STATES = (State.TRANSLATED, State.REPAIRED, State.CHANGED, State.UNPORTED)


def _findings(report: PortReport) -> list[Text]:
    """Return the findings for the user to look at, the unported first, then the details of
    rungs."""
    lines = [
        str(finding)
        for state in (State.UNPORTED, State.CHANGED)
        for file in report.files
        for finding in file.translation.findings
        if finding.state is state
    ]
    lines += [
        f"{file.path}: {repair.model}: {_told(repair)}"
        for file in report.files
        for repair in file.repairs
    ]
    lines += [
        f"{file.path}: {rung.name}: {detail}"
        for file in report.files
        for rung in file.rungs[1:]
        for detail in rung.details
    ]
    if len(lines) > N_SHOWN:
        lines = [*lines[:N_SHOWN], f"and {len(lines) - N_SHOWN} more, in port.json"]
    return [Text(line) for line in lines]


def _told(repair: Repair) -> str:
    """Return the outcome of a model's call, in words."""
    if repair.is_kept:
        return "its repair is kept"
    return f"its answer is not kept: {repair.unusable or 'it climbs no further'}"
