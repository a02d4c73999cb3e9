"""The command line: parses, calls one public function, prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kernelwright import answers, api, doctor, search, select
from kernelwright.archive import Archive
from kernelwright.bench import suite_entries
from kernelwright.bench.command import bench_command
from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import UsageError
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.settings import Settings, load_settings, parse_budget
from kernelwright.core.task import Task
from kernelwright.corpus_command import corpus_command
from kernelwright.dataset_command import dataset_group, tasks_group
from kernelwright.judge_command import judge_command
from kernelwright.lessons_command import lessons_command
from kernelwright.options import (
    ARCHIVE,
    INPUTS,
    JSON,
    MACHINE,
    PROPOSING,
    RECEIPT,
    SUITE,
    init_of,
)
from kernelwright.port_command import port_command
from kernelwright.receipt import Receipt
from kernelwright.report import facts, write
from kernelwright.terminal import Answer, Commands, ShowProgress
from kernelwright.train_command import train_command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="kernelwright")
def main() -> None:
    """A PyTorch module in, a faster judged kernel out."""


main.add_command(judge_command)
main.add_command(port_command)
main.add_command(bench_command)
main.add_command(corpus_command)
tasks_group.add_command(lessons_command)
main.add_command(tasks_group)
main.add_command(dataset_group)
main.add_command(train_command)


@main.command()
@click.argument("task", metavar="[TASK]", required=False)
@INPUTS
@MACHINE
@click.option("--dialect", "dialects", multiple=True, help="Propose in this dialect; repeatable.")
@PROPOSING
@click.option("--seed", type=int, help="Seed of the proposers.")
@ARCHIVE
@click.option("--out", metavar="DIR", help="Folder for sources and reports: kernelwright-out.")
@SUITE
@JSON
def optimize(
    task: str | None,
    inputs: tuple[str, ...],
    init: str | None,
    suite: str | None,
    path: Path | None,
    levels: tuple[int, ...],
    problems: tuple[str, ...],
    budget: tuple[str, ...],
    as_json: bool,
    **settings: Any,
) -> Answer:
    """Search for a kernel faster than the library, for TASK or for every task of a suite.

    TASK is a KernelBench-format file, file.py:Class, or package.module:Class. Ctrl-C keeps what
    was found; the same command goes on from there.
    """
    if (task is None) == (suite is None):
        raise UsageError(
            "give a task or a suite, one of them",
            seen=f"TASK {task}, --suite {suite}",
            do="kernelwright optimize FILE.py, or kernelwright optimize --suite builtin",
        )
    given = {key: value for key, value in settings.items() if value not in (None, ())}
    given |= parse_budget(budget)
    with ShowProgress() as progress:
        if task is not None:
            result = api.optimize(
                task, list(inputs) or None, init=init_of(init), on_progress=progress, **given
            )
            return answers.one_result(result)
        resolved = load_settings(Path.cwd(), **given)
        entries = suite_entries(
            suite, device=resolved.device, path=path, levels=levels, problems=problems
        )
        results = list(search.optimize_suite(entries, settings=resolved, on_progress=progress))
    return answers.suite_results(results, resolved)


@main.command()
@click.argument("archive", metavar="ARCHIVE")
@click.option("--out", type=click.Path(path_type=Path), help="Default: beside the archive.")
@click.option("--task", metavar="NAME", help="Only this task, by name or digest.")
@JSON
def report(archive: str, out: Path | None, task: str | None, as_json: bool) -> Answer:
    """Write the HTML report of ARCHIVE: one file that opens offline."""
    with Archive(archive, create=False) as opened:
        chosen = None if task is None else _task(opened, task).digest
        path = write(opened, out or _beside(archive), task=chosen)
    return Answer({"report": str(path)}, answers.DONE, [str(path)])


@main.command()
@click.argument("which", metavar="best|DIGEST")
@ARCHIVE
@click.option("--task", metavar="NAME", help="Default for best: the task that was run last.")
@RECEIPT
@JSON
def show(
    which: str, archive: str | None, task: str | None, receipt: Path | None, as_json: bool
) -> Answer:
    """Print the source of the best candidate, or of the one whose digest begins with DIGEST."""
    settings = load_settings(Path.cwd(), archive=archive)
    with Archive(settings.archive, create=False) as opened:
        if which == "best":
            chosen = _task(opened, task or _last_task(opened))
            best = select.best(opened.history(chosen.digest))
            if best is None:
                nothing = f"nothing in the archive beats the library on {chosen.name}"
                return Answer(
                    {"best": None, "task": chosen.digest}, answers.NOTHING_PASSED, [nothing]
                )
            proposal = best[0]
        else:
            proposal = opened.lineage(which)[-1]
        verdicts = opened.evaluations(candidate=proposal.candidate.digest)
        if receipt is not None:
            _write_receipt(opened, proposal.candidate, verdicts, receipt)
    found = facts.proposal_facts(proposal)
    found["evaluations"] = [facts.evaluation_facts(verdict) for verdict in verdicts]
    return Answer(found, answers.DONE, [proposal.candidate.source])


@main.command("doctor")
@JSON
def examine(as_json: bool) -> Answer:
    """What this machine can do, what is missing, what that costs, and how to get it."""
    findings = doctor.examine()
    return Answer(doctor.as_facts(findings), answers.DONE, [doctor.as_table(findings)])


def _write_receipt(
    archive: Archive, candidate: Candidate, verdicts: list[Evaluation], path: Path
) -> None:
    """The receipt of the last of a candidate's verdicts."""
    if not verdicts:
        raise UsageError(
            "there is no verdict to write a receipt of",
            seen=f"{candidate.digest} was proposed and never judged",
            do="kernelwright judge TASK CANDIDATE --receipt FILE",
        )
    Receipt(archive.task(verdicts[-1].task), candidate, verdicts[-1]).write(path)


def _beside(archive: str) -> Path:
    """Where the report of an archive goes when nobody says: to its folder, if it has one."""
    path = Path(archive)
    folder = path if path.is_dir() else path.parent if path.is_file() else Path(Settings.out)
    return folder / "report.html"


def _task(archive: Archive, name: str) -> Task:
    """The task with this name, else with this digest."""
    named = [task for task in archive.tasks() if task.name == name]
    return named[-1] if named else archive.task(name)


def _last_task(archive: Archive) -> str:
    runs = archive.runs()
    if not runs:
        raise UsageError("the archive is empty", seen="no runs", do="run kernelwright optimize")
    return runs[-1].task
