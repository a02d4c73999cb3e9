"""What watches the trainer: a deadline, and the curve that a stage leaves behind."""

from __future__ import annotations

import dataclasses
import json
import math
import time
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from kernelwright.archive import Archive, Step
from kernelwright.train.recipes import Recipe

CURVE = "curve.jsonl"
LOGGED = ("loss", "earned")  # by every step; what is logged at the end of all is none


class Deadline(TrainerCallback):
    """Stops after the step in which the budget ended, and saves: the same command goes on."""

    def __init__(self, budget_s: float) -> None:
        self.ends = time.monotonic() + budget_s

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.ends

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.is_over:
            control.should_training_stop = control.should_save = True


class Curve(TrainerCallback):
    """Writes what was logged, a line for each step, whenever a checkpoint is: they agree.

    The archive has each step at once; one that is done again after a kill is there twice, and the
    last counts.
    """

    def __init__(self, recipe: Recipe, archive: Archive | None) -> None:
        self.path = recipe.folder / CURVE
        self._recipe, self._archive = recipe, archive

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        facts = {n: v for n, v in (logs or {}).items() if _is_finite(v)}
        is_step = any(name in facts for name in LOGGED)
        if is_step and state.is_world_process_zero and self._archive is not None:
            told = dataclasses.asdict(self._recipe)
            stage = str(self._recipe.folder.resolve())
            self._archive.add_step(Step(stage, state.global_step, told, facts))

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._write(state)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._write(state)

    def _write(self, state: Any) -> None:
        if state.is_world_process_zero:
            partial = self.path.with_suffix(".part")
            partial.write_text("".join(json.dumps(line) + "\n" for line in state.log_history))
            partial.replace(self.path)


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def read_curve(folder: Path) -> list[dict[str, Any]]:
    """The logged steps of a stage, oldest first; empty where none was saved yet."""
    path = folder / CURVE
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
