"""``kernelwright judge``: a verdict on a file, or the repetition of a receipt."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import click

from kernelwright import answers, api
from kernelwright.core.errors import TaskError, UsageError
from kernelwright.load import load
from kernelwright.options import INPUTS, JSON, MACHINE, RECEIPT, init_of
from kernelwright.receipt import Receipt
from kernelwright.terminal import Answer


@click.command("judge")
@click.argument("words", nargs=-1, metavar="[TASK] [CANDIDATE]")
@click.option("--entry", default="ModelNew", show_default=True, help="The class in CANDIDATE.")
@INPUTS
@MACHINE
@RECEIPT
@click.option(
    "--repeat",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Judge again what a receipt is about.",
)
@JSON
def judge_command(
    words: tuple[str, ...],
    entry: str,
    inputs: tuple[str, ...],
    init: str | None,
    receipt: Path | None,
    repeat: Path | None,
    as_json: bool,
    **settings: Any,
) -> Answer:
    """One verdict on the kernel in the file CANDIDATE, by whomever it was written.

    With --repeat the task and the candidate are those of the receipt, and the exit code is 0 if
    it stands, 1 if not; name TASK as well to be sure that it is about that task.
    """
    given = {key: value for key, value in settings.items() if value is not None}
    made = {"inputs": list(inputs) or None, "init": init_of(init)}
    if repeat is not None:
        return answers.repetition(_repeat(repeat, words, made, given))
    if len(words) != 2:
        raise UsageError(
            "which task, and which candidate?",
            seen=" ".join(words) or "neither",
            do="kernelwright judge TASK CANDIDATE; see kernelwright judge --help",
        )
    read = dataclasses.replace(api.read_candidate(Path(words[1])), entry=entry)
    evaluation = api.judge(words[0], read, receipt=receipt, **made, **given)
    return answers.verdict(evaluation, read, receipt)


def _repeat(
    path: Path, words: tuple[str, ...], made: dict[str, Any], given: dict[str, Any]
) -> api.Repetition:
    """The repetition of a receipt, which must be about the task named, if one is.

    Raises:
        UsageError: a candidate was named beside the receipt, which has its own.
        TaskError: it is about another task.
    """
    if len(words) > 1:
        raise UsageError(
            "a receipt has its own candidate",
            seen=" ".join(words),
            do=f"leave {words[1]} out, or judge it without --repeat",
        )
    receipt = Receipt.read(path)
    if words and load(words[0], **made).digest != receipt.task.digest:
        raise TaskError(
            f"{path} is not about {words[0]}",
            seen=f"a receipt about {receipt.task.name} ({receipt.task.digest})",
            do="name the task's file as it was judged, or leave it out",
        )
    return api.repeat(receipt, **given)
