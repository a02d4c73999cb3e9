"""The public functions: the parts put together, for a program or for the command line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelwright.archive import Archive
from kernelwright.archive.receipt import Receipt
from kernelwright.archive.repetition import Repetition
from kernelwright.core import plugins
from kernelwright.core.candidate import Candidate
from kernelwright.core.cores import fitting_threads
from kernelwright.core.errors import TaskError
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.places import read_regular
from kernelwright.core.settings import BOTH_MODES, Settings, load_settings
from kernelwright.core.syntax import UNREADABLE, parse
from kernelwright.core.task import MODES, Task
from kernelwright.loaders import load
from kernelwright.search import loop
from kernelwright.search.result import OnProgress, Result


def optimize(
    target: Any,
    inputs: Any = None,
    *,
    init: Any = None,
    on_progress: OnProgress = lambda progress: None,
    **settings: Any,
) -> Result:
    """Search for a faster kernel for a module, a function, a file or a Task, and write the report.

    ``inputs`` and ``init`` are as in ``load``; ``settings`` are the fields of ``Settings``, over
    those of ``kernelwright.toml`` in the working folder. With ``mode="both"`` a module that
    computes otherwise in training is searched twice, with half of the budget each: the result is
    that of evaluation, and its ``other`` is that of training; ``build`` takes both.

    Raises:
        KernelwrightError: wrong use, bad input, or a machine that failed; never a bad candidate.
        OSError: nothing can be written to the folder ``out``.
    """
    resolved = load_settings(Path.cwd(), **settings)
    task = target if isinstance(target, Task) else load(target, inputs=inputs, init=init)
    from kernelwright.report import page

    searches = [(task, resolved)]
    if resolved.mode == BOTH_MODES:
        searches = _in_both_modes(task, resolved)
    reports = [Path(each.out, f"{one.name}.html") for one, each in searches]
    for report in reports:
        page.require_place(report)
    results: list[Result] = []
    for (one, each), report in zip(searches, reports, strict=True):
        result = loop.optimize(one, settings=each, on_progress=on_progress)
        if result.evaluated:
            with Archive(result.archive_url) as archive:
                page.write(archive, report, task=result.task.digest)
            result = replace(result, report_path=report)
        results.append(result)
        if result.interrupted:
            break
    return replace(results[0], other=results[1] if len(results) > 1 else None)


def _in_both_modes(task: Task, settings: Settings) -> list[tuple[Task, Settings]]:
    """The searches for a module in both of its modes: one where it computes the same in both."""
    from kernelwright.compiler.candidate.parts import computes_the_same_in_both_modes

    if computes_the_same_in_both_modes(task):
        return [(task, replace(settings, mode=""))]
    half = settings.budget_s / 2
    return [
        (replace(task, name=f"{task.name}-{mode}"), replace(settings, mode=mode, budget_s=half))
        for mode in MODES
    ]


def judge(
    target: Any,
    candidate: Candidate | Path | str,
    *,
    inputs: Any = None,
    init: Any = None,
    entry: str | None = None,
    receipt: Path | str | None = None,
    **settings: Any,
) -> Evaluation:
    """One verdict on a candidate: an object, or the path of a file.

    ``entry`` is the class in it: ``ModelNew`` in a file, an object's own, unless another is named.
    With ``receipt`` it is written to that file too, with all that ``repeat`` needs.

    Raises:
        KernelwrightError: wrong use, bad input, or a machine that failed; never a bad candidate.
    """
    resolved = load_settings(Path.cwd(), **settings)
    task = target if isinstance(target, Task) else load(target, inputs=inputs, init=init)
    if not isinstance(candidate, Candidate):
        candidate = read_candidate(Path(candidate))
    candidate = replace(candidate, entry=entry or candidate.entry)
    task = resolved.applied_to(task)
    if receipt is not None:
        Receipt.require_place(receipt)
    evaluation = loop.judge(task, candidate, settings=resolved)
    if receipt is not None:
        Receipt(task, candidate, evaluation).write(receipt)
    return evaluation


def repeat(receipt: Receipt | Path | str, **settings: Any) -> Repetition:
    """Judge the candidate of a receipt again, with fresh seeds, and see whether it stands.

    The receipt's task runs in this process, like any task's file. ``settings`` go over those of
    the receipt: its device, threads and cache.

    Raises:
        ReceiptError: there is none, or it is damaged.
        KernelwrightError: this machine cannot repeat it, or not with as many threads.
    """
    if not isinstance(receipt, Receipt):
        receipt = Receipt.read(receipt)
    if "threads" not in settings:
        fitting_threads(receipt.settings.get("threads", 0), "the threads of the receipt's verdict")
    same = {"precision": receipt.task.precision, "mode": receipt.task.mode}  # of the task's text
    resolved = load_settings(Path.cwd(), **(receipt.settings | settings | same))
    again = loop.judge(receipt.task, receipt.candidate, settings=resolved)
    return Repetition(receipt, again)


def read_candidate(path: Path) -> Candidate:
    """The file as a candidate, its dialect recognised from its syntax tree.

    Raises:
        TaskError: the file cannot be read, is no regular file, or is far too long.
    """
    try:
        source = read_regular(path)
    except (OSError, ValueError) as error:
        raise TaskError(
            f"candidate {path} cannot be read", seen=str(error), do="name a Python file"
        ) from error
    return Candidate(source, recognise(source))


def recognise(source: str) -> str:
    """The dialect of a file that somebody else wrote; 'torch' when none claims it."""
    try:
        tree = parse(source)
    except UNREADABLE:
        return "torch"  # the judge says what is wrong with it
    group = "kernelwright.dialects"
    claims = [n for n in plugins.names(group) if plugins.find(group, n).recognises(tree)]
    return next((name for name in claims if name != "torch"), "torch")
