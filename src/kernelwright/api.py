"""The public functions: the parts put together, for a program or for the command line."""

from __future__ import annotations

import contextlib
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from kernelwright.archive import Archive
from kernelwright.archive.receipt import Receipt
from kernelwright.archive.repetition import Repetition
from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import KernelwrightError, TaskError
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.places import read_regular, written_whole
from kernelwright.core.settings import BOTH_MODES, Settings, load_settings
from kernelwright.core.task import MODES, Task
from kernelwright.dialects.recognised import dialect_of
from kernelwright.judge import SharedForkServer
from kernelwright.loaders import load
from kernelwright.loaders.training_step import as_judged
from kernelwright.runtime.gates import through_gates
from kernelwright.search import loop, shapes
from kernelwright.search.again import judge_again
from kernelwright.search.result import AtShape, OnProgress, Result
from kernelwright.shipping.package import package_at
from kernelwright.suites.suite import SuiteEntry
from kernelwright.workers.side_by_side import side_by_side
from kernelwright.workers.workers import Workers

PRELOADED = (__name__, "kernelwright.judge.judge", "kernelwright.proposers.rules.proposer")


def optimize(
    target: Any,
    inputs: Any = None,
    *,
    init: Any = None,
    on_progress: OnProgress = lambda progress: None,
    workers: Workers | None = None,
    **settings: Any,
) -> Result:
    """Search for a faster kernel for a module, a function, a file or a Task, and write the report.

    ``inputs`` and ``init`` are as in ``load``; ``settings`` are the fields of ``Settings``, over
    those of ``kernelwright.toml`` in the working folder. With ``mode="both"`` a module that
    computes otherwise in training is searched twice, with half of the budget each: the result is
    that of evaluation, and its ``other`` is that of training, or has its error; ``build`` takes
    both.

    ``workers`` do the search, such as those of a cluster; None: this process does.

    At the end the winner is used as programs use modules, for a tenth of the search's time, four
    seconds at least; ``uses`` of the result says what came of it, and faults are warned of.

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
    searches = [(loop.asked_for(one, each), each) for one, each in searches]
    reports = [Path(each.out, f"{one.name}.html") for one, each in searches]
    for report in reports:
        page.require_place(report)
    results: list[Result] = []
    for (one, each), report in zip(searches, reports, strict=True):
        try:
            if workers is None:
                result = _searched(one, each, on_progress)
            else:
                result = search_on(workers, one, each, on_progress)
        except TaskError as error:  # a module that is random in training, say
            if not results:
                raise
            result = Result(one, None, None, [], "", None, each.archive, error=error)
        _warn_of_faults(result)
        if result.evaluated:
            with Archive(result.archive_url) as archive:
                if result.uses:
                    archive.add_to_end(result.task.digest, uses=[*map(asdict, result.uses)])
                page.write(archive, report, task=result.task.digest)
            result = replace(result, report_path=report)
        results.append(result)
        if result.interrupted:
            break
    return replace(results[0], other=results[1] if len(results) > 1 else None)


def _searched(task: Task, settings: Settings, on_progress: OnProgress) -> Result:
    """Search a task, and use the winner as programs use modules."""
    began_s = time.monotonic()
    result = shapes.optimize(task, settings=settings, on_progress=on_progress)
    if settings.tries_uses and not result.interrupted:
        search_s = time.monotonic() - began_s
        with contextlib.suppress(KeyboardInterrupt):  # the search has its result
            result = replace(result, uses=through_gates(result, settings, search_s=search_s))
    return result


def search_on(workers: Workers, task: Task, settings: Settings, on_progress: OnProgress) -> Result:
    """Let workers search a task; the source that they find is written to this machine's ``out``.

    Raises:
        KernelwrightError: the search raised it, or its process died.
        KeyboardInterrupt: Ctrl-C ended it; its verdicts are in the archive.
    """
    ending = workers.run(
        partial(_searched_elsewhere, task, settings), on_step=on_progress, preload=PRELOADED
    )
    result: Result
    result, source = ending.get(
        f"the search of {task.name}", do="run the same command on one machine to see the error"
    )
    if result.source_path is None:
        return result
    path = Path(settings.out, result.source_path.name)
    with written_whole(path) as partial_file:
        partial_file.write_text(source, encoding="utf-8")
    return replace(result, source_path=path)


def search_suite_on(
    workers: Workers,
    entries: Sequence[SuiteEntry],
    settings: Settings,
    on_progress: OnProgress,
) -> list[Result]:
    """Let workers search each task with the whole budget; a task that fails does not stop the
    others."""

    def one(entry: SuiteEntry) -> Result:
        nothing = Result(entry.task, None, None, [], "", None, settings.archive)
        try:
            return search_on(workers, entry.task, settings, on_progress)
        except KernelwrightError as error:
            return replace(nothing, error=error)
        except KeyboardInterrupt:
            return replace(nothing, interrupted=True)

    found = side_by_side(one, entries, jobs=workers.jobs, on_interrupt=workers.interrupt)
    return [result for result in found if result is not None]


def _searched_elsewhere(
    task: Task, settings: Settings, fork_server: SharedForkServer, on_step: OnProgress
) -> tuple[Result, str]:
    """Search a task in a folder of its own; return the result and the text of its source."""
    with tempfile.TemporaryDirectory() as folder:
        result = _searched(task, replace(settings, out=folder), on_step)
        path = result.source_path
        return result, path.read_text(encoding="utf-8") if path else ""


def _warn_of_faults(result: Result) -> None:
    if faults := [use for use in result.uses if use.is_fault]:
        told = "; ".join(f"{use.name}: {use.outcome}: {use.detail}" for use in faults)
        warnings.warn(
            f"the kernel of {result.task.name} is not to be used so: {told}", stacklevel=3
        )


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
    """One verdict on a candidate: an object, or the path of a file or of a package.

    ``entry`` is the class in it: ``ModelNew`` in a file, an object's own, unless another is named.
    A package is one that ``export`` wrote, a local package of Hugging Face's kernels (``entry`` is
    a layer of it), or a solution of FlashInfer-Bench, which gets the inputs and then the weights.
    With ``receipt`` it is written to that file too, with all that ``repeat`` needs.

    Raises:
        KernelwrightError: wrong use, bad input, or a machine that failed; never a bad candidate.
    """
    resolved = load_settings(Path.cwd(), **settings)
    task = target if isinstance(target, Task) else load(target, inputs=inputs, init=init)
    task = loop.asked_for(task, resolved)
    if isinstance(candidate, Candidate):
        candidate = replace(candidate, entry=entry or candidate.entry)
    else:
        candidate = read_candidate(Path(candidate), task=task, entry=entry)
    candidate = as_judged(candidate, task)
    if receipt is not None:
        Receipt.require_place(receipt)
    evaluation = loop.judge(task, candidate, settings=resolved)
    if receipt is not None:
        Receipt(task, candidate, evaluation).write(receipt)
    return evaluation


def judge_by_shape(
    target: Any,
    candidate: Candidate | Path | str,
    *,
    inputs: Any = None,
    init: Any = None,
    entry: str | None = None,
    receipt: Path | str | None = None,
    **settings: Any,
) -> tuple[AtShape, ...]:
    """The verdict of ``judge``, and one on each other shape that the task lists if that is passed.

    ``judge`` checks the results on all shapes, but times the main one alone; so does the receipt.

    Raises:
        KernelwrightError: as ``judge``.
    """
    resolved = load_settings(Path.cwd(), **settings)
    task = target if isinstance(target, Task) else load(target, inputs=inputs, init=init)
    main = judge(task, candidate, entry=entry, receipt=receipt, **settings)
    first, *others = shapes.timed_shapes(loop.asked_for(task, resolved), resolved)
    found = [AtShape(first.name, main, is_holdout=False)]
    for shape in others if main.passed else []:
        verdict = judge(shape.task, candidate, entry=entry, **settings)
        found.append(AtShape(shape.name, verdict, shape.is_holdout))
    return tuple(found)


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
    return judge_again(receipt, receipt.candidate, settings)


def export(
    result: Result | Receipt | Path | str,
    *,
    to: str,
    out: Path | str,
    task: str | None = None,
    name: str | None = None,
    license: str = "Apache-2.0",
    archive: str | None = None,
) -> Path:
    """Write a judged kernel to the new folder ``out`` as a package of the format ``to``.

    ``to`` is "op" (for pip, with torch.library operators), "hf" (for Hugging Face's kernels) or
    "fib" (for FlashInfer-Bench). ``result`` is a Result, a Receipt, the path of a receipt or of a
    candidate's file, or, of the archive, "best" (of ``task``, by default the last one) or a
    digest. ``name`` is the package's and its operators', by default made of the task's name;
    ``license`` is an SPDX expression. The package holds the task's own text.

    Raises:
        UsageError: the library stayed best, or the kernel cannot be in this format; the name is
            taken, or ``out`` holds something. Nothing has been written then.
        ReceiptError: the receipt is damaged.
    """
    from kernelwright.shipping.export import export as write_package
    from kernelwright.shipping.source import source_of

    where = load_settings(Path.cwd(), archive=archive).archive
    source = source_of(result, where, task)
    return write_package(source, to=to, out=out, name=name, license=license)


def read_candidate(path: Path, *, task: Task | None = None, entry: str | None = None) -> Candidate:
    """The file as a candidate, its dialect recognised from its syntax tree.

    Where a ``task`` is given, the path may also be that of a package with a kernel for it.

    Raises:
        TaskError: the file cannot be read, is no regular file, or is far too long; or a package
            cannot be one standalone file.
    """
    if task is not None and (package := package_at(path)):
        return package.candidate(task, entry)
    try:
        source = read_regular(path)
    except (OSError, ValueError) as error:
        raise TaskError(
            f"candidate {path} cannot be read", seen=str(error), do="name a Python file"
        ) from error
    candidate = Candidate(source, dialect_of(source))
    return replace(candidate, entry=entry or candidate.entry)
