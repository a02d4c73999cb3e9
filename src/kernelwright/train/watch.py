"""What watches the trainer: a deadline, and the curve that a stage leaves behind."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

CURVE = "curve.jsonl"


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
    """Writes what was logged, a line for each step, whenever a checkpoint is: they agree."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / CURVE

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._write(state)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._write(state)

    def _write(self, state: Any) -> None:
        if state.is_world_process_zero:
            partial = self.path.with_suffix(".part")
            partial.write_text("".join(json.dumps(line) + "\n" for line in state.log_history))
            partial.replace(self.path)


def read_curve(folder: Path) -> list[dict[str, Any]]:
    """The logged steps of a stage, oldest first; empty where none was saved yet."""
    path = folder / CURVE
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
