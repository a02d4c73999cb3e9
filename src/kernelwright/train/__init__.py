"""Training: from a poor writer of kernels to a better one, by what the judge found.

``train(recipe, pairs)`` runs one stage, or goes on with it: supervised ('sft'), then by
reinforcement, on rightness ('selfsup') and on speed with scored exemplars ('contrastive').
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.dataset.pairs import Pair
from kernelwright.train.recipes import PRESETS, STAGES, Recipe, recipe

__all__ = ["PRESETS", "STAGES", "Recipe", "Trained", "leave", "recipe", "train"]


@dataclass(frozen=True)
class Trained:
    """What came of a stage."""

    model: Path | None
    """The checkpoint for ``--proposer policy --model``, or for a server; None where the budget
    ended before the steps that were asked for: the same command goes on."""
    steps: int
    curve: Sequence[Mapping[str, Any]]


def train(recipe: Recipe, pairs: Sequence[Pair] = ()) -> Trained:
    """Run a stage, from its last checkpoint where there is one.

    ``pairs`` are those of a dataset: lessons for sft, tasks for the others, which without any
    take the tasks of the archive. Only those of the train split are used.

    Raises:
        UsageError: no such model, nothing to learn from, another recipe than the stage began
            with, or a package that is missing.
        DeviceError: the machine failed.
    """
    from kernelwright.train.stage import run

    return run(recipe, pairs)


def leave() -> None:
    """Part with the stage's other processes, when this one is about to end: one that ends with
    connections open may be aborted by what serves them."""
    from accelerate import PartialState

    PartialState().destroy_process_group()
