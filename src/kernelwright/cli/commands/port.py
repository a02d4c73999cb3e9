"""``kernelwright port``: CUDA to HIP and back, or to Metal, and how far each was checked."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kernelwright.cli.options import JSON, grouped
from kernelwright.console.terminal import Answer
from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.core.errors import UsageError
from kernelwright.core.settings import parse_budget
from kernelwright.core.task import Task
from kernelwright.hipify import State
from kernelwright.loaders import load
from kernelwright.port import PortOptions, PortReport, RungStatus, port_with
from kernelwright.port.assembly import AssemblyOptions, port_to_assembly
from kernelwright.port.build_flags import Flags
from kernelwright.port.emulated import LIMIT_S, NO_OPTIONS, RunOptions, shown
from kernelwright.port.exact import write_exact
from kernelwright.port.instructions import TARGETS
from kernelwright.port.metal import port_to_metal
from kernelwright.port.project import DEFAULT_RUNGS, DEFAULT_TARGETS, EMULATED
from kernelwright.port.ptx import PtxOptions, port_ptx
from kernelwright.port.views import as_page, as_patch, as_sarif
from kernelwright.proposers.port.repair import Repair, Repairs
from kernelwright.proposers.swarm import SwarmProposer

COLOURS = {
    RungStatus.PASSED: "green",
    RungStatus.FAILED: "red",
    RungStatus.RAN: "yellow",
    RungStatus.AS_ORIGINAL: "yellow",
    RungStatus.NOT_CHECKED: "yellow",
}
BUDGET = "5m"  # time for the models: a few files with three questions each
NOT_RUN = "no program was run: --rungs 0,1,2 runs both sides on this CPU and compares them"
LISTED = ("lint", "build")  # rungs whose details are the findings
ONLY_LINT = (0,)
OF_SOURCES = {
    "is_strict": "--strict", "include": "-I", "define": "-D", "exclude": "--exclude",
    "prices": "--price", "budget": "--budget", "patch": "--patch", "html": "--html",
    "sarif": "--sarif",
}  # fmt: skip
"""Options that only ports of HIP and CUDA sources have, by their parameters."""
OF_RUNS = "--arg, --stdin, --cwd, --time-limit and --compare are for programs that are run"
Rungs = tuple[int, ...] | None
N_SHOWN = 40  # findings listed on a terminal; the JSON report has all


def _named(context: click.Context, argument: click.Parameter, name: str) -> Path:
    """Return the path; an empty name would mean this folder."""
    if not name:
        raise UsageError("nothing to port", seen="an empty name", do="name a file or a folder")
    return Path(name)


def _rungs(_context: click.Context, _option: click.Parameter, text: str | None) -> Rungs:
    """Return the numbers of rungs; None if the option was not given."""
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if not word.isdecimal():
            raise UsageError(f'no rung "{word}"', seen=text, do="choose from 0, 1, 2, 3, 4, 5")
    return tuple(int(word) for word in words)


_FILE = click.Path(path_type=Path, dir_okay=False)
_TRANSLATING = grouped(
    click.option(
        "--to",
        type=click.Choice(["hip", "cuda", "metal", *TARGETS]),
        default="hip",
        show_default=True,
        help="Translate to this language, or machine code to this AMD target.",
    ),
    click.option(
        "--arch",
        "targets",
        metavar="LIST",
        default=",".join(DEFAULT_TARGETS),
        show_default=True,
        help="Compile for these AMD targets.",
    ),
    click.option(
        "--rungs",
        metavar="LIST",
        callback=_rungs,
        help="Check by 0 lint, 1 compile, 2 run on this CPU, 3 on an NVIDIA GPU, 4 on an AMD GPU, "
        "5 AMD's instructions on this CPU. Default: 0,1; more with --task or --host.",
    ),
    click.option(
        "--task",
        "solved",
        metavar="TASK",
        help="Judge a candidate that is ported to Metal on this task, in rung 2.",
    ),
    click.option(
        "--host",
        type=_FILE,
        metavar="FILE",
        help="Run PTX or lifted machine code under the host code of this CUDA source, in rungs 2 "
        "and 5.",
    ),
    click.option(
        "--strict",
        "is_strict",
        is_flag=True,
        help="Count constructs whose meaning changed, and words left in build files, as "
        "unfinished.",
    ),
    click.option(
        "-I",
        "include",
        multiple=True,
        metavar="DIR",
        type=click.Path(path_type=Path, exists=True, file_okay=False),
        help="Search this folder for headers; repeatable.",
    ),
    click.option(
        "-D", "define", multiple=True, metavar="NAME[=VALUE]", help="Define a macro; repeatable."
    ),
    click.option(
        "--exclude",
        multiple=True,
        metavar="PATTERN",
        help="Leave these files and folders of PATH alone; repeatable.",
    ),
)
_RUNNING = grouped(
    click.option(
        "--arg",
        "arguments",
        multiple=True,
        help="Run the program with this argument, from rung 2 on; repeatable.",
    ),
    click.option("--stdin", type=_FILE, help="Give the program this file to read."),
    click.option(
        "--cwd",
        type=click.Path(path_type=Path, exists=True, file_okay=False),
        help="Run it in a copy of this folder. Default: the folder of its main function, in a "
        "folder that is ported; else an empty one.",
    ),
    click.option(
        "--time-limit",
        type=click.FloatRange(min=0, min_open=True),
        default=LIMIT_S,
        show_default=True,
        metavar="SECONDS",
        help="Stop a run that takes longer.",
    ),
    click.option(
        "--compare",
        multiple=True,
        metavar="FILE",
        help="Compare this file too. Files that the program writes to its folder are always "
        "compared; repeatable.",
    ),
)
_ASKING = grouped(
    click.option(
        "--model",
        "models",
        multiple=True,
        metavar="MODEL",
        help="Ask this model, named as in optimize, to finish files that the rules leave "
        "unfinished; repeatable. Default: none.",
    ),
    click.option(
        "--price",
        "prices",
        multiple=True,
        metavar="MODEL=IN/OUT",
        help="The price of a model, as in optimize.",
    ),
    click.option(
        "--budget",
        multiple=True,
        metavar="LIMIT",
        help="Ask models for up to 5m (default), 2usd, …",
    ),
)
_WRITING = grouped(
    click.option(
        "--out",
        type=click.Path(path_type=Path),
        help="Write here. Default: PATH with -hip or -cuda.",
    ),
    click.option("--patch", type=_FILE, help="Write a unified patch of all files here."),
    click.option("--html", type=_FILE, help="Write a page with both sides and findings here."),
    click.option("--sarif", type=_FILE, help="Write the findings in SARIF here, for code hosts."),
)


@click.command("port")
@click.argument("path", metavar="PATH", callback=_named)
@_TRANSLATING
@_RUNNING
@_ASKING
@_WRITING
@JSON
def command(
    path: Path,
    to: str,
    targets: str,
    rungs: Rungs,
    solved: str | None,
    host: Path | None,
    is_strict: bool,
    include: tuple[Path, ...],
    define: tuple[str, ...],
    exclude: tuple[str, ...],
    arguments: tuple[str, ...],
    stdin: Path | None,
    cwd: Path | None,
    time_limit: float,
    compare: tuple[str, ...],
    models: tuple[str, ...],
    prices: tuple[str, ...],
    budget: tuple[str, ...],
    out: Path | None,
    patch: Path | None,
    html: Path | None,
    sarif: Path | None,
    as_json: bool,
) -> Answer:
    """Translate PATH, a CUDA or HIP file or a folder of them, and check the result.

    PATH may also be PTX, which becomes HIP. To Metal, PATH is one candidate with CUDA. To an AMD
    target, PATH is NVIDIA's machine code: a cubin, a listing of SASS, PTX, or an executable; it
    becomes AMD assembly. The exit code is 0 only if no code was left unported, every requested rung
    passed, and each rung that --rungs names was climbed.
    """
    place = out or _beside(path, to)
    given = stdin.read_bytes() if stdin is not None else b""
    running = RunOptions(arguments, given, cwd, time_limit, compare)
    arches = tuple(t.strip() for t in targets.split(","))
    _require_fitting(path, to, solved, host, models)
    if to in TARGETS:
        chosen = AssemblyOptions(to, rungs, host, running)
        return _answer(port_to_assembly(path, chosen, out=place), place)
    if _is_ptx(path, to):
        return _answer(_of_ptx(path, place, PtxOptions(arches, rungs, host, running)), place)
    if to == "metal":
        _require_plain(running, models)
        return _answer(_to_metal(path, place, rungs, solved), place)
    _require_runs(running, rungs)
    options = PortOptions(
        to,
        arches,
        rungs if rungs is not None or to == "hip" else ONLY_LINT,
        running,
        Flags(tuple(folder.resolve() for folder in include), define),
        exclude,
        is_strict,
    )
    report = port_with(path, options, out=place, repairs=_repairs(path, models, prices, budget))
    for file, view in ((patch, as_patch), (html, as_page), (sarif, as_sarif)):
        if file is not None:
            write_exact(file, view(report))
    return _answer(report, place, NOT_RUN if rungs is None and to == "hip" else "")


def _answer(report: PortReport, place: Path, hint: str = "") -> Answer:
    written = Text(f"written to {place}, report in port.json")
    lines: list[RenderableType] = [
        _table(report),
        *_findings(report),
        Text(report.summary),
        *([Text(hint)] if hint else []),
        written,
    ]
    return Answer(report.as_json() | {"out": str(place)}, 0 if report.is_done else 1, lines)


def _require_plain(running: RunOptions, models: tuple[str, ...]) -> None:
    """Refuse options that go with HIP and CUDA only."""
    if running != NO_OPTIONS or models:
        given = "--model" if models else "--arg"
        raise UsageError(
            f"{given} goes with HIP and CUDA",
            seen="--to metal",
            do="let models write it by: optimize TASK --device metal --proposer swarm",
        )


def _require_runs(running: RunOptions, rungs: Rungs) -> None:
    """Refuse options of runs if no rung runs a program."""
    if running != NO_OPTIONS and max(rungs or DEFAULT_RUNGS) < EMULATED:
        raise UsageError(
            OF_RUNS,
            seen="no rung that runs programs",
            do="add --rungs 0,1,2",
        )


def _of_ptx(path: Path, place: Path, options: PtxOptions) -> PortReport:
    if options.running != NO_OPTIONS and options.host is None:
        raise UsageError(OF_RUNS, seen="no --host", do="add --host program.cu")
    return port_ptx(path, options, out=place)


def _require_no_sources() -> None:
    """Refuse options that only ports of sources have."""
    context = click.get_current_context()
    for parameter, option in OF_SOURCES.items():
        if context.get_parameter_source(parameter) is ParameterSource.COMMANDLINE:
            do = "leave it out"
            raise UsageError(f"{option} goes with HIP and CUDA sources", seen=option, do=do)


def _is_ptx(path: Path, to: str) -> bool:
    return path.suffix == ".ptx" and to == "hip"


def _require_fitting(
    path: Path, to: str, solved: str | None, host: Path | None, models: tuple[str, ...]
) -> None:
    """Refuse options that do not go with the target."""
    by_tables = to in TARGETS or _is_ptx(path, to)
    if solved is not None and to != "metal":
        raise UsageError("--task goes with --to metal", seen=f"--to {to}", do="leave it out")
    if host is not None and not by_tables:
        do = "leave it out, or name --to gfx1100"
        raise UsageError("--host goes with PTX and AMD targets", seen=f"--to {to}", do=do)
    if by_tables or to == "metal":
        _require_no_sources()
    if models and by_tables:
        do = "leave it out: machine code and PTX are translated by tables"
        raise UsageError("--model goes with HIP and CUDA sources", seen=models[0], do=do)


def _to_metal(path: Path, place: Path, rungs: Rungs, solved: str | None) -> PortReport:
    task = None if solved is None else load(solved)
    usual = DEFAULT_RUNGS if task is None else (*DEFAULT_RUNGS, EMULATED)
    return port_to_metal(path, out=place, rungs=usual if rungs is None else rungs, task=task)


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
        for rung in file.rungs
        if rung.name not in LISTED
        for detail in (*rung.details, *([shown(rung)] if rung.values else []))
    ]
    lines += [
        f"rung {number} was asked for, and no file passed it: it is not checked"
        for number in report.unclimbed
    ]
    if len(lines) > N_SHOWN:
        lines = [*lines[:N_SHOWN], f"and {len(lines) - N_SHOWN} more, in port.json"]
    return [Text(line) for line in lines]


def _told(repair: Repair) -> str:
    """Return the outcome of a model's call, in words."""
    if repair.is_kept:
        return "its repair is kept"
    return f"its answer is not kept: {repair.unusable or 'it climbs no further'}"
