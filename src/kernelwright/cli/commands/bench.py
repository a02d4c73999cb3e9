"""``kernelwright bench``: what a suite of tasks, or the bench of programs to port, comes to."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from kernelwright.bench import exam, port_rates, results, suite
from kernelwright.cli.options import ARCHIVE, GPUS, JSON, PART
from kernelwright.console.terminal import Answer
from kernelwright.core.errors import UsageError
from kernelwright.core.settings import load_settings, parse_seconds
from kernelwright.report.page import require_place
from kernelwright.suites.suite import SUITES, suite_entries
from kernelwright.workers.lanes import lanes

PORT = "port"
LIMIT = "20m"  # a search with a budget of 5 min and slow baselines takes about a third
ONLY_PORT = ("hipify", "arch")
ONLY_TASKS = ("path", "levels", "every", "device", "archive", "out", "policies")
ONLY_SEARCH = ("budget_s", "limit_s", "total_s", "gpus")
ONLY_POLICY = ("samples", "shown", "dialect", "max_tokens")
NAMES = {"policies": "policy", "levels": "level", "max_tokens": "max-tokens"}


@click.command("bench")
@click.option(
    "--suite", "name", type=click.Choice([*SUITES, PORT]), required=True, help="What is run."
)
@PART
@click.option(
    "--every", type=click.IntRange(min=1), help="Take every N-th problem of each level. Default: 1."
)
@click.option("--device", metavar="DEVICE", help="Search on cpu (default), cuda, cuda:1, …")
@click.option(
    "--budget", "budget_s", metavar="TIME", help="Search each task for 60s (default), 5m, 1.5h."
)
@click.option("--limit", "limit_s", metavar="TIME", help=f"Stop a search after {LIMIT} (default).")
@click.option(
    "--total", "total_s", metavar="TIME", help="Begin no search after this long. Default: no end."
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Search so many tasks, judge so many, or run so many programs of port side by side. "
    "Default: 1; searches on one GPU as many as it takes, on several 6 in all.",
)
@GPUS
@ARCHIVE
@click.option(
    "--out", metavar="DIR", help="Write sources and the report here. Default: kernelwright-out."
)
@click.option(
    "--policy", "policies", multiple=True, metavar="DIR[=N]",
    help="Examine this checkpoint, with N answers to each task; repeatable.",
)  # fmt: skip
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    help=f"Ask a checkpoint for so many answers to each task. Default: {exam.SAMPLES}.",
)
@click.option(
    "--shown",
    type=click.IntRange(min=0),
    help="Then ask for so many more, with two of its own kernels and their speeds in the prompt. "
    "Default: 0.",
)
@click.option(
    "--dialect", help="Ask checkpoints for kernels in it. Default: cpp on a CPU, else triton."
)
@click.option(
    "--max-tokens",
    type=click.IntRange(min=1),
    help=f"Cut a checkpoint's answer after so many. Default: {exam.MAX_TOKENS}.",
)
@click.option(
    "--hipify",
    type=click.Path(path_type=Path),
    help="Run this hipify-perl too, to compare. Default: ours alone.",
)
@click.option(
    "--arch",
    metavar="LIST",
    help="Compile port's programs for these AMD targets. Default: all that are known.",
)
@JSON
def command(name: str, as_json: bool, **options: Any) -> Answer:
    """Search every task of a suite, examine checkpoints on it, or run the bench of `port`.

    builtin, kernelbench, folder: one search per task, each in a process of its own. What the
    archive holds is not searched again, so the same command goes on where it stopped. A table, a
    report page and a JSON file give means, quartiles and fast_p by level; where the library stays
    best or a search fails a task counts 1.

    With --policy nothing is searched: each checkpoint answers every task some times, all answers
    are judged, and a table gives shares right and faster than the strongest library setting, means
    and the best of N, with intervals. Answers and verdicts are kept in the archive too.

    port: how many programs our translator, and hipify-perl where it is given, brings to compile
    for AMD targets, to run right at 32 and 64 lanes a wave, and to run on an NVIDIA GPU if there is
    one.
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
    keys = ("device", "budget_s", "archive", "out")
    settings = load_settings(Path.cwd(), **{k: given[k] for k in keys if k in given})
    require_place(results.page_place(name, settings, is_exam="policies" in given))
    entries = suite_entries(
        name, device=settings.device, path=given.get("path"),
        levels=given.get("levels", ()), problems=given.get("problems", ()),
        every=given.get("every", 1),
    )  # fmt: skip
    told = {
        "settings": settings,
        "on_done": lambda outcome: click.echo(results.line(outcome), err=True),
    }
    if "policies" in given:
        examined = exam.policies(given["policies"], given.get("samples", exam.SAMPLES))
        asked = {key: given[key] for key in ("dialect", "max_tokens", "shown") if key in given}
        sat = exam.run(entries, examined, jobs=given.get("jobs", 1), **asked, **told)
        return results.answer(name, sat.outcomes, settings, sat.calls)
    outcomes = suite.run(
        entries,
        lanes=lanes(settings.device, gpus=given.get("gpus", "1"), jobs=given.get("jobs")),
        limit_s=parse_seconds(given.get("limit_s", LIMIT)),
        total_s=parse_seconds(given["total_s"]) if "total_s" in given else float("inf"),
        **told,
    )
    return results.answer(name, outcomes, settings)


def _port(given: dict[str, Any]) -> Answer:
    arch = [target.strip() for target in given.get("arch", "").split(",") if target.strip()]
    return port_rates.answer(
        problems=given.get("problems", ()),
        targets=arch,
        hipify=given.get("hipify"),
        jobs=given.get("jobs", 1),
        on_done=lambda text: click.echo(text, err=True),
    )
