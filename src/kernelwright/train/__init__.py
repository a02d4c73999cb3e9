"""Training: a language model learns to write better kernels from the judge's verdicts.

``train(recipe, pairs)`` runs or resumes one stage: supervised fine-tuning ('sft'), preferences
between archived answers ('prefer'), then reinforcement learning on correctness ('selfsup') and on
speed with scored exemplars ('contrastive').
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.dataset.pairs import Pair
from kernelwright.train.recipes import PRESETS, STAGES, SUPERVISED, Recipe, recipe

__all__ = ["PRESETS", "STAGES", "SUPERVISED", "Recipe", "Trained", "leave", "recipe", "train"]


@dataclass(frozen=True)
class Trained:
    """The result of a stage."""

    model: Path | None
    """The checkpoint, for ``--proposer policy --model`` or for a server. None if the budget ended
    before the requested steps were done; the same command resumes the stage."""
    steps: int
    curve: Sequence[Mapping[str, Any]]


def train(recipe: Recipe, pairs: Sequence[Pair] = ()) -> Trained:
    """Run a stage, from its last checkpoint if there is one.

    ``pairs`` come from a dataset. The sft and the prefer stage learn from them; the other stages
    take their tasks from them, or from the archive if there are no pairs. Only the train split is
    used.

    Raises:
        UsageError: the model does not exist, there is nothing to learn from, the stage was begun
            with another recipe, or a package is missing.
        DeviceError: the machine failed.
    """
    from kernelwright.train.stage import run

    return run(recipe, pairs)


def leave() -> None:
    """Leave the process group of the stage before this process exits.

    A process that exits with open connections may be aborted by the communication backend.
    """
    from accelerate import PartialState

    PartialState().destroy_process_group()
