"""One training stage, from its recipe to its checkpoint; an interrupted stage is resumed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from kernelwright.archive import Archive
from kernelwright.core import plugins
from kernelwright.core.device import Device
from kernelwright.core.errors import DeviceError, UsageError
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.dataset.pairs import Pair
from kernelwright.train import Trained, model
from kernelwright.train.recipes import FAST, Recipe, keep, require_same
from kernelwright.tuner import admission
from kernelwright.workers.asked import WorkersAsked
from kernelwright.workers.opening import workers_for
from kernelwright.workers.workers import Workers

DIALECTS = "kernelwright.dialects"
TRAIN = "train"
ORIGIN = "dataset"
JOBS = 4
"""Default number of tasks whose answers are judged side by side on one machine."""


def run(recipe: Recipe, pairs: Sequence[Pair]) -> Trained:
    """Train, and write the checkpoint if the stage is complete."""
    model.need_packages(recipe)
    require_same(recipe, pairs)
    from kernelwright.train.watch import read_curve

    done = recipe.folder / "model"
    curve = read_curve(recipe.folder)
    if done.exists() and (not recipe.steps or last_step(curve) >= recipe.steps):
        return Trained(done, last_step(curve), curve)
    with ExitStack() as stack:
        trainer = _trainer(recipe, pairs, stack)
        keep(recipe, pairs)  # not earlier: a recipe that cannot be trained may still be changed
        _train(trainer, recipe)
        n_steps = trainer.state.global_step
        is_whole = not recipe.steps or n_steps >= recipe.steps
        if is_whole and trainer.is_world_process_zero():
            tokenizer = trainer.processing_class
            bare = trainer.accelerator.unwrap_model(trainer.model)
            model.write(bare, tokenizer, done, recipe.folder / "adapter")
        trainer.accelerator.wait_for_everyone()  # no process goes on before the checkpoint exists
    return Trained(done if is_whole else None, n_steps, read_curve(recipe.folder))


def _train(trainer: Any, recipe: Recipe) -> None:
    """Train from the last checkpoint, if there is one.

    Raises:
        DeviceError: the GPU has too little memory.
    """
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    # cuDNN's attention is excluded: its backward pass gives NaN on an H100 or H200 if masked
    # sequences have 64 tokens more than a multiple of 128 (pytorch/pytorch issue 196678, torch 2.11
    # and later).
    sound = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
    try:
        with sdpa_kernel(sound):
            trainer.train(resume_from_checkpoint=_last_checkpoint(recipe))
    except torch.OutOfMemoryError as error:
        less = "" if recipe.recompute else "leave out --no-recompute, which resumes from here, or "
        raise DeviceError(
            "the GPU has too little memory for this recipe",
            seen=str(error).partition(" Including")[0],
            do=f"{less}give a smaller --batch or --max-tokens with another --out",
        ) from error


def last_step(curve: Sequence[Mapping[str, Any]]) -> int:
    """Return the last step of a curve; 0 if it is empty."""
    return max((line["step"] for line in curve), default=0)


def tasks_of(pairs: Sequence[Pair], archive: Archive) -> list[Task]:
    """Return the tasks of the train split, each once.

    Without pairs the tasks are the archive's, except those that a checkpoint was examined on.
    """
    if not pairs:
        return [task for task in archive.tasks() if not archive.is_examined(task.digest)]
    found = {p.task_digest: p for p in pairs if p.split == TRAIN}
    return [Task(pair.task_name, ORIGIN, pair.task_source) for pair in found.values()]


def _trainer(recipe: Recipe, pairs: Sequence[Pair], stack: ExitStack) -> Any:
    from kernelwright.train import prefer, reinforce, sft
    from kernelwright.train.fast_judge import Fast
    from kernelwright.train.reward_pool import RewardPool

    archive = stack.enter_context(Archive(recipe.archive)) if recipe.archive else None
    if recipe.stage == "sft":
        return sft.trainer(recipe, pairs, archive)
    if recipe.stage == "prefer":
        return prefer.trainer(recipe, pairs, archive)
    if archive is None:
        raise UsageError(
            "reinforcement needs an archive for its verdicts",
            seen="no archive",
            do="give --archive",
        )
    workers = stack.enter_context(_workers(recipe))
    settings = Settings(
        device=recipe.device, threads=recipe.threads, archive=recipe.archive, seed=recipe.seed
    )
    device = workers.target(settings).device
    usable = _dialects(recipe, device)
    fast = Fast(recipe.audit) if recipe.judge == FAST else None
    pool = stack.enter_context(RewardPool(settings, device, workers, fast=fast))
    tasks = tasks_of(pairs, archive)
    return reinforce.trainer(recipe, tasks, usable, pool, archive)


def _workers(recipe: Recipe) -> Workers:
    """Return the workers that judge answers."""
    asked = WorkersAsked(
        jobs=recipe.jobs or None, cluster=recipe.cluster, gpu_model=recipe.gpu_model
    )
    return workers_for(recipe.device, asked, usual=JOBS)


def _dialects(recipe: Recipe, device: Device) -> Sequence[str]:
    """Return the recipe's dialects, or by default all but torch that can be timed on the device.

    Raises:
        UsageError: a dialect of the recipe, or every dialect, cannot be used on the device, or by
            the fast judge.
    """
    names = recipe.dialects or [n for n in plugins.names(DIALECTS) if n != "torch"]
    reasons = {name: _why_unusable(name, recipe, device) for name in names}
    usable = [name for name, why in reasons.items() if not why]
    if not usable or (recipe.dialects and len(usable) < len(names)):
        raise UsageError(
            f"kernels cannot be judged on {device}",
            seen="; ".join(f"{name}: {why}" for name, why in reasons.items() if why),
            do="choose another --dialect, --device or --judge",
        )
    return usable


def _why_unusable(name: str, recipe: Recipe, device: Device) -> str:
    """Return why a recipe's answers cannot be judged in a dialect; empty if they can."""
    dialect = plugins.find(DIALECTS, name)
    if why := dialect.missing(device):
        return str(why)
    if not dialect.is_timed(device):
        return "its kernels cannot be timed there"
    is_refused = recipe.judge == FAST and name not in admission.DIALECTS
    return "the fast judge admits no text in it" if is_refused else ""


def _last_checkpoint(recipe: Recipe) -> str | None:
    """Return the newest complete checkpoint; the trainer may have been killed while writing one."""
    states = (recipe.folder / "checkpoints").glob("checkpoint-*/trainer_state.json")
    whole = [state.parent for state in states if _is_whole(state)]
    newest = max(whole, key=lambda folder: int(folder.name.rpartition("-")[2]), default=None)
    return None if newest is None else str(newest)


def _is_whole(state: Path) -> bool:
    """Whether a checkpoint is complete: its state file is written last."""
    try:
        return bool(json.loads(state.read_text()))
    except ValueError:
        return False
