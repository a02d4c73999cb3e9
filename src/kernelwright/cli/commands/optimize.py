"""``kernelwright optimize``: a search for a faster kernel, for one task or a suite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kernelwright import api
from kernelwright.cli.options import (
    CLUSTER,
    INPUTS,
    JSON,
    MACHINE,
    PROPOSING,
    SUITE,
    cluster_workers,
    field_options,
)
from kernelwright.console import answers
from kernelwright.console.progress import ShowProgress
from kernelwright.console.terminal import Answer
from kernelwright.core.errors import UsageError
from kernelwright.core.settings import BOTH_MODES, Settings, load_settings, parse_budget
from kernelwright.report import page
from kernelwright.search import loop
from kernelwright.suites.suite import suite_entries


@click.command("optimize")
@click.argument("task", metavar="[TASK]", required=False)
@INPUTS
@MACHINE
@field_options(Settings, "dialects", "backward")
@PROPOSING
@field_options(Settings, "seed", "archive", "out")
@SUITE
@CLUSTER
@JSON
def command(
    task: str | None,
    inputs: tuple[str, ...],
    init: str | None,
    suite: str | None,
    path: Path | None,
    levels: tuple[int, ...],
    problems: tuple[str, ...],
    budget: tuple[str, ...],
    cluster: str | None,
    gpu_model: str | None,
    as_json: bool,
    **settings: Any,
) -> Answer:
    """Search for a kernel faster than the library, for TASK or for every task of a suite.

    TASK is a KernelBench-format file, file.py:Class, or package.module.Class. Ctrl-C keeps the
    results so far; the same command resumes from there.
    """
    if (task is None) == (suite is None):
        raise UsageError(
            "give a task or a suite, one of them",
            seen=f"{task}, --suite {suite}" if task else "neither",
            do="kernelwright optimize FILE.py, or kernelwright optimize --suite builtin",
        )
    given = {key: value for key, value in settings.items() if value not in (None, ())}
    given |= parse_budget(budget)
    resolved = load_settings(Path.cwd(), **given)
    with cluster_workers(cluster, gpu_model, resolved) as workers, ShowProgress() as progress:
        if suite is None:
            result = api.optimize(
                task,
                list(inputs) or None,
                init=init,
                on_progress=progress,
                workers=workers,
                **given,
            )
            return answers.one_result(result)
        if resolved.mode == BOTH_MODES:
            raise UsageError(
                "a suite is searched in one mode",
                seen="--mode both",
                do="give --mode eval or train",
            )
        entries = suite_entries(
            suite, device=resolved.device, path=path, levels=levels, problems=problems
        )
        page.require_place(Path(resolved.out, page.NAME))
        if workers is None:
            results = list(loop.optimize_suite(entries, settings=resolved, on_progress=progress))
        else:
            results = api.search_suite_on(workers, entries, resolved, progress)
    return answers.suite_results(results, resolved)
