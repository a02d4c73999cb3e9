"""``kernelwright judge``: verdicts on a file or on folders of them, and repetitions of receipts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kernelwright import api
from kernelwright.archive.receipt import Receipt
from kernelwright.archive.repetition import Repetition
from kernelwright.batch import assign, judge_all, judge_folder, judge_suite, read_folder, results
from kernelwright.cli.options import (
    ARCHIVE,
    INPUTS,
    JSON,
    MACHINE,
    RECEIPT,
    SUITE,
    WORKERS,
    field_options,
    workers_asked,
)
from kernelwright.console import answers
from kernelwright.console.progress import ShowProgress
from kernelwright.console.terminal import Answer
from kernelwright.core.errors import TaskError, UsageError
from kernelwright.core.places import as_text
from kernelwright.core.settings import Settings, load_settings
from kernelwright.core.task import Task
from kernelwright.judge.submission import BUILD_LIMIT_S, FIRST_CALL_LIMIT_S
from kernelwright.loaders import load
from kernelwright.report.facts import one_line
from kernelwright.shipping.package import package_at
from kernelwright.suites.suite import suite_entries
from kernelwright.workers.opening import workers_for

WHO = {"jobs", "gpus", "cluster", "gpu_model"}
BELONGS = {
    "a file": {"inputs", "init", "entry", "receipt", "backward"},
    "a folder": {"inputs", "init", "entry", "archive", *WHO},
    "--suite": {"path", "levels", "problems", "entry", "archive", *WHO},
    "--repeat": {"inputs", "init"},
}
"""The options that each kind of call takes, besides those of the machine."""
ENTRY = "ModelNew"
NAMES = {
    "inputs": "input",
    "levels": "level",
    "problems": "problem",
    "gpu_model": "gpu-model",
}


@click.command("judge")
@click.argument("words", nargs=-1, metavar="[TASK] [CANDIDATE]")
@click.option("--entry", metavar="NAME", help="Judge this class of CANDIDATE. Default: ModelNew.")
@INPUTS
@MACHINE
@field_options(Settings, "backward")
@RECEIPT
@click.option(
    "--repeat",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Repeat the judgement of this receipt.",
)
@ARCHIVE
@SUITE
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Judge this many tasks of a suite, or parts of a folder, side by side. Default: 1; on "
    "several GPUs 6 in all.",
)
@WORKERS
@JSON
def command(
    words: tuple[str, ...],
    suite: str | None,
    repeat: Path | None,
    device: str | None,
    threads: int | None,
    cache: str | None,
    precision: str | None,
    mode: str | None,
    max_autotune: bool | None,
    as_json: bool,
    **options: Any,
) -> Answer:
    """Judge the kernel in the file CANDIDATE, whoever wrote it, or every file of the folder
    CANDIDATE. A folder may also be a package that `kernelwright export` wrote or one of Hugging
    Face's kernels (--entry names a layer of it), and a file a solution of FlashInfer-Bench. Of a
    task that lists shapes, a candidate that passes is timed on each.

    Verdicts on a folder are archived as they are reached: Ctrl-C keeps them, and the same command
    resumes from there. With --suite, CANDIDATE is a folder, and the name of each file (or of its
    folder) says which problem it is for: the problem's own name (softmax_v2.py),
    level_1_problem_3_x.py, 1_3_x.py, or, with one level, 3_x.py.

    With --repeat, the task and the candidate are those of the receipt. The exit code is 0 if the
    receipt holds, and 1 if the status or the speedup differs now; other differences, such as the
    kind, are reported. Name TASK as well to make sure that the receipt is about that task.
    """
    given = {key: value for key, value in options.items() if value not in (None, ())}
    asked = {
        "device": device,
        "threads": threads,
        "cache": cache,
        "precision": precision,
        "mode": mode,
        "max_autotune": max_autotune,
    }
    settings = load_settings(Path.cwd(), **asked, archive=given.get("archive"))
    if repeat is not None:
        _only("--repeat", given)
        overrides = {key: value for key, value in asked.items() if value is not None}
        return answers.repetition(_repeat(repeat, words, given, overrides))
    if suite is not None:
        _only("--suite", given)
        return _judge_suite(suite, words, given, settings)
    if len(words) != 2:
        raise UsageError(
            "which task, and which candidate?",
            seen=" ".join(words) or "neither",
            do="kernelwright judge TASK CANDIDATE; see kernelwright judge --help",
        )
    task, candidate = words[0], Path(words[1])
    if candidate.is_dir() and package_at(candidate) is None:
        _only("a folder", given)
        return _judge_folder(task, candidate, given, settings)
    _only("a file", given)
    return _judge_file(task, candidate, given, settings)


def _judge_file(task: str, file: Path, given: dict[str, Any], settings: Settings) -> Answer:
    """Judge the candidate in a file or in a package."""
    receipt = given.get("receipt")
    loaded = settings.applied_to(_load(task, given))
    candidate = api.read_candidate(file, task=loaded, entry=given.get("entry"))
    with ShowProgress(_waiting_line) as progress:
        progress(as_text(file.name))
        by_shape = api.judge_by_shape(
            loaded,
            candidate,
            receipt=receipt,
            device=settings.device,
            threads=settings.threads,
            cache=settings.cache,
            precision=settings.precision,
            backward=given.get("backward"),
            mode=settings.mode,
        )
    return answers.verdict(by_shape, candidate, receipt)


def _waiting_line(name: str, since_s: float) -> str:
    """Return the progress line: a candidate that hangs prints nothing itself."""
    longest = f"may take {BUILD_LIMIT_S:.0f} s to build, {FIRST_CALL_LIMIT_S:.0f} to be called once"
    spent = f" · {since_s:.0f} s" if since_s >= 1 else ""
    return f"judging {one_line(name, 40)}, which {longest}{spent}"


def _only(call: str, given: dict[str, Any]) -> None:
    """Refuse options that this kind of call would ignore."""
    for key in given:
        if key not in BELONGS[call]:
            option = f"--{NAMES.get(key, key)}"
            takers = " or ".join(name for name, options in BELONGS.items() if key in options)
            raise UsageError(
                f"{option} goes with {takers}", seen=f"{option} and {call}", do="leave it out"
            )


def _inputs(given: dict[str, Any]) -> list[str] | None:
    return list(given.get("inputs", ())) or None


def _load(target: str, given: dict[str, Any]) -> Task:
    """Load the task that a command line names, with the inputs and arguments that it gives."""
    return load(target, inputs=_inputs(given), init=given.get("init"))


def _judge_folder(task: str, folder: Path, given: dict[str, Any], settings: Settings) -> Answer:
    loaded = _load(task, given)
    head, is_class, _ = task.partition(".py:")
    task_file = Path(f"{head}.py" if is_class else task)
    files = read_folder(folder, entry=given.get("entry", ENTRY), task_file=task_file)
    with ShowProgress(results.step_line) as progress:
        if WHO.isdisjoint(given):
            verdicts = judge_all(loaded, files, settings=settings, on_step=progress)
        else:
            with workers_for(settings.device, workers_asked(given), usual=1) as workers:
                verdicts = judge_folder(
                    loaded, files, settings=settings, workers=workers, on_step=progress
                )
    return results.one_task(verdicts, settings)


def _judge_suite(
    suite: str, words: tuple[str, ...], given: dict[str, Any], settings: Settings
) -> Answer:
    """Judge the files of a folder, each for the problem that it names.

    Raises:
        UsageError: no folder is named, or no file in it is for a problem that was asked for.
    """
    if len(words) != 1:
        raise UsageError(
            "which folder of candidates?",
            seen=" ".join(words) or "none",
            do=f"kernelwright judge --suite {suite} DIR",
        )
    entries = suite_entries(
        suite,
        device=settings.device,
        path=given.get("path"),
        levels=given.get("levels", ()),
        problems=given.get("problems", ()),
    )
    files = read_folder(Path(words[0]), entry=given.get("entry", ENTRY), deep=True)
    groups, unmatched = assign(files, entries)
    if not groups:
        raise UsageError(
            f"no file in {words[0]} names a problem that was asked for",
            seen=", ".join(unmatched)[:200],
            do="name files level_1_problem_3_x.py, or by the problem's own name",
        )
    workers = workers_for(settings.device, workers_asked(given), usual=1)
    with workers, ShowProgress(results.step_line) as progress:
        verdicts = judge_suite(groups, settings=settings, workers=workers, on_step=progress)
    return results.suite(verdicts, unmatched, settings)


def _repeat(
    path: Path, words: tuple[str, ...], given: dict[str, Any], overrides: dict[str, Any]
) -> Repetition:
    """Repeat a receipt's judgement; if a task is named, the receipt must be about it.

    Raises:
        UsageError: a candidate was named beside the receipt, which has its own.
        TaskError: the receipt is about another task.
    """
    if len(words) > 1:
        raise UsageError(
            "a receipt has its own candidate",
            seen=" ".join(words),
            do=f"leave {words[1]} out, or judge it without --repeat",
        )
    receipt = Receipt.read(path)
    own = {"precision": receipt.task.precision, "mode": receipt.task.mode}
    for name, value in own.items():
        if overrides.get(name, value) != value:
            raise UsageError(
                f"a receipt has its own {name}",
                seen=f"--{name} {overrides[name]}, and {value or 'none'} in {path}",
                do=f"leave --{name} out",
            )
    settings = Settings(precision=own["precision"], mode=own["mode"])
    if words and settings.applied_to(_load(words[0], given)).digest != receipt.task.digest:
        raise TaskError(
            f"{path} is not about {words[0]}",
            seen=f"a receipt about {receipt.task.name} ({receipt.task.digest})",
            do="name the task's file as it was judged, or leave it out",
        )
    return api.repeat(receipt, **overrides)
