"""A receipt's judgement once more: with fresh seeds, and on the software of today."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelwright.archive.receipt import Receipt
from kernelwright.archive.repetition import Repetition
from kernelwright.core.candidate import Candidate
from kernelwright.core.cores import fitting_threads
from kernelwright.core.settings import load_settings
from kernelwright.search import loop


def judge_again(receipt: Receipt, candidate: Candidate, overrides: Mapping[str, Any]) -> Repetition:
    """Judge a candidate for the receipt's task, with its settings under ``overrides``.

    The receipt's task runs in this process, like any task's file.

    Raises:
        KernelwrightError: this machine cannot do it, or not with as many threads.
    """
    if "threads" not in overrides:
        fitting_threads(receipt.settings.get("threads", 0), "the threads of the receipt's verdict")
    same = {"precision": receipt.task.precision, "mode": receipt.task.mode}  # of the task's text
    settings = load_settings(Path.cwd(), **{**receipt.settings, **overrides, **same})
    return Repetition(receipt, loop.judge(receipt.task, candidate, settings=settings))
