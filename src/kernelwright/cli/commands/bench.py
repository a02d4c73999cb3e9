"""``kernelwright bench``: the results of a suite of tasks, or of the bench of programs to port."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from kernelwright.bench import exam, port_rates, results, suite
from kernelwright.bench.pace import Pace
from kernelwright.cli.options import ARCHIVE, JSON, PART, WORKERS, field_options, workers_asked
from kernelwright.console.terminal import Answer
from kernelwright.core.errors import UsageError
from kernelwright.core.settings import Settings, load_settings, parse_seconds
from kernelwright.report.page import require_place
from kernelwright.suites.suite import SUITES, suite_entries
from kernelwright.workers.opening import workers_for

PORT = "port"
LIMIT = "20m"  # a search with a budget of 5 min and slow baselines takes about a third
ONLY_PORT = ("hipify", "arch")
ONLY_TASKS = ("path", "levels", "every", "device", "archive", "out", "policies")
ONLY_SEARCH = (
    "budget_s",
    "precision",
    "max_autotune",
    "limit_s",
    "total_s",
    "gpus",
)
ONLY_POLICY = ("samples", "shown", "dialect", "max_tokens")
NAMES = {
    "policies": "policy",
    "levels": "level",
    "max_tokens": "max-tokens",
    "gpu_model": "gpu-model",
}


@click.command("bench")
@click.option(
    "--suite", "name", type=click.Choice([*SUITES, PORT]), required=True, help="What to run."
)
@PART
@click.option(
    "--every", type=click.IntRange(min=1), help="Take every N-th problem of each level. Default: 1."
)
@click.option("--device", metavar="DEVICE", help="Search on cpu (default), cuda, cuda:1, …")
@field_options(Settings, "precision", "max_autotune")
@click.option(
    "--budget", "budget_s", metavar="TIME", help="Search each task for 60s (default), 5m, 1.5h."
)
@click.option(
    "--limit",
    "limit_s",
    metavar="TIME",
    help=f"Stop a search after {LIMIT} (default). It knows, and judges its best candidate before.",
)
@click.option(
    "--total", "total_s", metavar="TIME", help="Start no search after this time. Default: no limit."
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Search or judge this many tasks, or run this many programs of port, side by side. "
    "Default: 1; searches on one GPU as many as it takes, on several one for every 2.5 cores.",
)
@WORKERS
@ARCHIVE
@click.option(
    "--out", metavar="DIR", help="Write sources and the report here. Default: kernelwright-out."
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="DIR[=N]",
    help="Examine this checkpoint, with N answers to each task; repeatable.",
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    help=f"Ask a checkpoint for this many answers to each task. Default: {exam.SAMPLES}.",
)
@click.option(
    "--shown",
    type=click.IntRange(min=0),
    help="Then ask for this many more, with two of its own kernels and their speeds in the prompt. "
    "Default: 0.",
)
@click.option(
    "--dialect",
    help="Ask checkpoints for kernels in this dialect. Default: cpp on a CPU, else triton.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(min=1),
    help=f"Cut a checkpoint's answer after this many tokens. Default: {exam.MAX_TOKENS}.",
)
@click.option(
    "--hipify",
    type=click.Path(path_type=Path),
    help="Also run this hipify-perl, for comparison. Default: only our translator.",
)
@click.option(
    "--arch",
    metavar="LIST",
    help="Compile port's programs for these AMD targets. Default: all known targets.",
)
@JSON
def command(name: str, as_json: bool, **options: Any) -> Answer:
    """Search every task of a suite, examine checkpoints on it, or run the bench of `port`.

    builtin, models (operators of models at their sizes), kernelbench, folder, atrex (Atrex-Bench),
    fib (FlashInfer-Bench), sol (SOL-ExecBench): one search per task, each in its own process. Tasks
    that are already in the archive are not searched again, so the same command resumes where it
    stopped. A table, a report page and a JSON file give means, quartiles and fast_p by level
    (models: by family; atrex, fib, sol: by operator, of which each shape is a task); a task counts
    1 if the library stays best or the search fails.

    With --policy nothing is searched: each checkpoint answers every task several times, and all
    answers are judged. A table gives the shares that are right and that are faster than the
    strongest library setting, means, and the best of N, with intervals. Answers and verdicts are
    also kept in the archive.

    port: how many programs our translator (and hipify-perl, if given) ports so that they compile
    for AMD targets, run correctly at 32 and 64 lanes per wave, and run on an NVIDIA GPU if there
    is one.
    """
    given = {key: value for key, value in options.items() if value not in (None, ())}
    is_exam = "policies" in given
    if name == PORT:
        _refuse(given, (*ONLY_TASKS, *ONLY_SEARCH, *ONLY_POLICY), "to --suite port")
        return _port(given)
    _refuse(given, ONLY_PORT, f"to --suite {name}")
    if is_exam:
        _refuse(given, ONLY_SEARCH, "to --policy, which searches nothing")
    else:
        _refuse(given, ONLY_POLICY, "to a search; add --policy DIR")
    return _tasks(name, given)


def _refuse(given: dict[str, Any], keys: Iterable[str], whose: str) -> None:
    for key in keys:
        if key in given:
            option = "--" + NAMES.get(key, key.removesuffix("_s"))
            raise UsageError(f"{option} does not belong {whose}", seen=option, do="leave it out")


def _tasks(name: str, given: dict[str, Any]) -> Answer:
    keys = ("device", "budget_s", "precision", "max_autotune", "archive", "out")
    settings = load_settings(Path.cwd(), **{k: given[k] for k in keys if k in given})
    require_place(results.page_place(name, settings, is_exam="policies" in given))
    entries = suite_entries(
        name,
        device=settings.device,
        path=given.get("path"),
        levels=given.get("levels", ()),
        problems=given.get("problems", ()),
        every=given.get("every", 1),
    )

    def on_done(outcome: suite.TaskOutcome) -> None:
        click.echo(results.line(outcome), err=True)

    if "policies" in given:
        examined = exam.policies(given["policies"], given.get("samples", exam.SAMPLES))
        with workers_for(settings.device, workers_asked(given), usual=1) as workers:
            examination = exam.run(
                entries,
                examined,
                settings=settings,
                dialect=given.get("dialect", ""),
                max_tokens=given.get("max_tokens", exam.MAX_TOKENS),
                shown=given.get("shown", 0),
                workers=workers,
                on_done=on_done,
            )
        return results.answer(name, examination.outcomes, settings, examination.calls)
    workers = workers_for(settings.device, workers_asked(given))
    with workers, Pace(settings.archive, workers.gpus) as pace:
        outcomes = suite.run(
            entries,
            settings=settings,
            workers=workers,
            limit_s=parse_seconds(given.get("limit_s", LIMIT)),
            total_s=parse_seconds(given["total_s"]) if "total_s" in given else float("inf"),
            on_done=on_done,
        )
    return results.answer(name, outcomes, settings, pace=pace.facts())


def _port(given: dict[str, Any]) -> Answer:
    arch = [target.strip() for target in given.get("arch", "").split(",") if target.strip()]
    return port_rates.answer(
        problems=given.get("problems", ()),
        targets=arch,
        hipify=given.get("hipify"),
        jobs=given.get("jobs", 1),
        on_done=lambda text: click.echo(text, err=True),
    )
