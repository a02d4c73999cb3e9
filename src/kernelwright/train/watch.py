"""Callbacks of the trainer: a deadline, a guard against bad gradients, and the training curve."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accelerate.utils import broadcast_object_list
from transformers import TrainerCallback

from kernelwright.archive import Archive, Step
from kernelwright.core.errors import DeviceError
from kernelwright.train.recipes import Recipe

CURVE = "curve.jsonl"
USED = "time/used_s"
SKIPPED = "steps/skipped"
MOST_UNSOUND = 10
"""Number of consecutive steps without a finite gradient after which training is stopped."""
LOGGED = ("loss", "earned")
"""Metrics that every step logs one of; the summary at the end of training logs neither."""


class Deadline(TrainerCallback):
    """Stops and saves after the step in which the budget ends.

    For a stage with a given number of steps the budget applies to each run, and the same command
    resumes the stage. For any other stage it applies to all runs together and ends the stage. In
    that case the learning rate follows the elapsed time wherever that is ahead of the steps, so
    that a stage cut short by time ends with a small rate too.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._budget_s, self._ends_stage = recipe.budget_s, not recipe.steps
        self._began_s = time.monotonic()
        self.share = 0.0
        """Share of the budget that is used up; the same in all processes."""

    def on_train_begin(
        self, args: Any, state: Any, control: Any, lr_scheduler: Any = None, **_: Any
    ) -> None:
        used_s = max((line.get(USED, 0.0) for line in state.log_history), default=0.0)
        self._began_s -= used_s
        if not self._ends_stage:
            self._budget_s += used_s  # the budget is for this run alone
            return
        self._look()
        rules = lr_scheduler.lr_lambdas
        lr_scheduler.lr_lambdas = [self._falling(rule, state.max_steps) for rule in rules]

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._look()
        if self.share >= 1.0:
            control.should_training_stop = control.should_save = True

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        state.log_history[-1][USED] = logs[USED] = round(time.monotonic() - self._began_s, 3)

    def _look(self) -> None:
        """Read the first process's clock: if one process stopped alone, the others would hang."""
        shares = [(time.monotonic() - self._began_s) / self._budget_s]
        self.share = broadcast_object_list(shares)[0]

    def _falling(self, rule: Callable[[float], float], n_steps: int) -> Callable[[float], float]:
        # The lower of the two rates, so that a late start keeps its warm-up.
        return lambda step: min(rule(step), rule(max(step, self.share * n_steps)))


class Sound(TrainerCallback):
    """Skips a step whose gradient is not finite, since one such step makes every weight NaN.

    This was seen with cuDNN's attention for batches of some lengths (see ``stage``); the loss was 0
    from then on.

    Raises:
        DeviceError: MOST_UNSOUND steps in a row had no finite gradient.
    """

    def __init__(self) -> None:
        self.n_skipped = 0
        self._in_a_row = 0

    def on_pre_optimizer_step(
        self, args: Any, state: Any, control: Any, model: Any = None, **_: Any
    ) -> None:
        # All processes have the same gradients at this point, so all of them skip the step.
        taught = [weight for weight in model.parameters() if weight.grad is not None]
        if math.isfinite(float(sum(weight.grad.float().sum() for weight in taught))):
            self._in_a_row = 0
            return
        for weight in taught:
            weight.grad = None  # optimizers skip such weights and leave their momenta alone
        self.n_skipped += 1
        self._in_a_row += 1
        if self._in_a_row >= MOST_UNSOUND:
            raise DeviceError(
                "training no longer produces finite gradients",
                seen=f"{self._in_a_row} steps in a row, the last is step {state.global_step}",
                do="give a smaller --learning-rate; the same command resumes from the checkpoint",
            )

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        state.log_history[-1][SKIPPED] = logs[SKIPPED] = self.n_skipped


class Curve(TrainerCallback):
    """Writes the logged metrics, one line a step, with every checkpoint, so that the two agree.

    The archive gets each step at once. A step that is repeated after a kill is in the archive
    twice, and the last one counts.
    """

    def __init__(self, recipe: Recipe, archive: Archive | None) -> None:
        self.path = recipe.folder / CURVE
        self._recipe, self._archive = recipe, archive

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        facts = {n: v for n, v in (logs or {}).items() if _is_finite(v)}
        is_step = any(name in facts for name in LOGGED)
        if is_step and state.is_world_process_zero and self._archive is not None:
            stage = str(self._recipe.folder.resolve())
            self._archive.add_step(Step(stage, state.global_step, self._recipe.storable, facts))

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
    """Return the logged steps of a stage, oldest first; empty if none was saved yet."""
    path = folder / CURVE
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
