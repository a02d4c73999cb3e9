"""``kernelwright check``: packaged kernels judged again, here and now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kernelwright.cli.options import JSON, field_options
from kernelwright.console import answers
from kernelwright.console.progress import ShowProgress
from kernelwright.console.terminal import Answer, error_facts
from kernelwright.core.errors import UsageError
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.places import as_text, require_folder
from kernelwright.core.settings import Settings
from kernelwright.report import facts, table
from kernelwright.shipping.check import Checked, check, write_junit


@click.command("check")
@click.argument("paths", nargs=-1, metavar="PATH…", type=click.Path(path_type=Path))
@field_options(Settings, "device", "threads", "cache")
@click.option(
    "--junit",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the results to FILE as JUnit's XML.",
)
@JSON
def command(paths: tuple[Path, ...], junit: Path | None, as_json: bool, **machine: Any) -> Answer:
    """Judge packaged kernels again on this machine and this software.

    A PATH is a package that `kernelwright export` wrote, a receipt, or a candidate's file with its
    receipt in the same folder. What is judged is the kernel as it is there now, with the task and
    the settings of its receipt. The exit code is 0 if every kernel is still right and faster than
    the strongest library setting, and 1 otherwise.
    """
    if not paths:
        raise UsageError("which packages?", seen="no path", do="kernelwright check PATH…")
    if junit is not None:
        require_folder(junit.absolute().parent, wanted=junit)
    overrides = {key: value for key, value in machine.items() if value not in (None, "")}
    done: list[Checked] = []
    with ShowProgress(lambda name, since_s: f"checking {name} · {since_s:.0f} s") as progress:
        for path in paths:
            progress(as_text(path))
            done.append(check(path, overrides))
    if junit is not None:
        write_junit(done, junit)
    stand = all(one.stands for one in done)
    return Answer(
        {"stands": stand, "packages": [_facts(one) for one in done]},
        answers.DONE if stand else answers.NOTHING_PASSED,
        [table.verdict_table([row for one in done for row in _rows(one)])],
    )


def _facts(one: Checked) -> dict[str, Any]:
    before = one.repetition and one.repetition.receipt.evaluation
    return {
        "path": as_text(one.path),
        "stands": one.stands,
        "right": one.rightness,
        "speed": one.speed,
        "why": one.why,
        "notes": list(one.notes),
        "error": error_facts(one.error) if one.error else None,
        "receipt": facts.evaluation_facts(before) if before else None,
        "verdict": facts.evaluation_facts(one.evaluation) if one.evaluation else None,
    }


def _rows(one: Checked) -> list[tuple[str, str]]:
    words = [one.rightness] if one.error else [one.rightness, one.speed]
    if one.repetition is not None:
        was = one.repetition.receipt.evaluation
        words += [f"{said} {_speedup(found)}" for said, found in _verdicts(one.evaluation, was)]
    return [(as_text(one.path), ", ".join(words)), *([("because", one.why)] if one.why else [])]


def _verdicts(now: Evaluation | None, was: Evaluation) -> list[tuple[str, Evaluation]]:
    named = (("now", now), ("was", was))
    return [(said, found) for said, found in named if found is not None and found.timing]


def _speedup(found: Evaluation) -> str:
    return f"{found.speedup} × {found.timing.strongest if found.timing else ''}"
