"""Reinforcement: TRL's GRPO with prompts that change during training and the judge's reward.

The self-supervised and the contrastive stage run this with two recipes: the first rewards
correctness with 0 or 1 and shows no exemplars, the second rewards speed and shows exemplars.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from kernelwright.archive import Archive
from kernelwright.core.errors import UsageError
from kernelwright.core.task import Task
from kernelwright.judge.devices.environment import resolve_threads
from kernelwright.llm.chat import ends
from kernelwright.train.model import adapter, alone, open_model, open_tokenizer, settings
from kernelwright.train.prompts import Messages, Prompts
from kernelwright.train.recipes import COLOCATE, Recipe
from kernelwright.train.reward import SCALED
from kernelwright.train.reward_pool import RewardPool
from kernelwright.train.rollouts import Rollouts, prompt_ids
from kernelwright.train.watch import Curve, Deadline, Sound

UNBOUNDED = 1_000_000
"""Number of steps of a stage that its deadline ends; TRL requires a number."""


def trainer(
    recipe: Recipe,
    tasks: Sequence[Task],
    dialects: Sequence[str],
    pool: RewardPool,
    archive: Archive,
) -> Any:
    """Return TRL's trainer, ready to run.

    Raises:
        UsageError: there is no such model, or no task with a prompt that is short enough.
    """
    from datasets import Dataset
    from trl import GRPOTrainer

    tokenizer = open_tokenizer(recipe.model)

    def fits(messages: Messages) -> bool:
        return len(prompt_ids(tokenizer, messages)) <= recipe.max_prompt_tokens

    threads = resolve_threads(recipe.threads)
    prompts = Prompts(
        archive,
        pool.device,
        threads,
        recipe.exemplars,
        recipe.bare,
        fits,
        contrast=recipe.contrast,
        shuffled=recipe.shuffled,
    )
    short = [t for t in tasks if fits(prompts.ask(t, dialects[0], recipe.seed).messages)]
    if not short:
        raise UsageError(
            "there is no task to train on",
            seen=f"{len(tasks)} tasks, none with a prompt of at most "
            f"{recipe.max_prompt_tokens} tokens",
            do="kernelwright dataset build and --dataset, or an --archive that holds tasks",
        )
    rollouts = Rollouts(recipe, {t.digest: t for t in short}, dialects, pool, prompts)
    model = open_model(recipe.model, tokenizer, is_frozen=recipe.rank > 0)
    return GRPOTrainer(
        model=model,
        reward_funcs=rollouts.earn,
        args=alone(_grpo(recipe, len(short), ends(tokenizer, model))),
        train_dataset=Dataset.from_dict({"prompt": list(rollouts.tasks)}),
        processing_class=tokenizer,
        peft_config=adapter(recipe),
        rollout_func=rollouts.sample,
        callbacks=[Sound(), Deadline(recipe), Curve(recipe, archive)],
    )


def _grpo(recipe: Recipe, n_tasks: int, stops: Sequence[int]) -> Any:
    from trl import GRPOConfig

    group = recipe.group * recipe.turns
    # TRL needs the same number of tasks for every process.
    n_each = min(recipe.tasks, n_tasks // int(os.environ.get("WORLD_SIZE", "1")))
    if not n_each:
        raise UsageError(
            "there are fewer tasks than training processes",
            seen=f"{n_tasks} tasks with a prompt that is short enough",
            do="start fewer processes, or give more tasks",
        )
    answers = n_each * group
    # The number of answers on the device at a time must divide the number that a step compares.
    batch = next(b for b in range(min(recipe.batch, answers), 0, -1) if answers % b == 0)
    return GRPOConfig(
        **settings(recipe),
        **_vllm(recipe, stops),
        per_device_train_batch_size=batch,
        gradient_accumulation_steps=answers // batch,
        num_generations=group,
        num_iterations=recipe.updates,
        max_completion_length=recipe.max_tokens,
        temperature=recipe.temperature,
        max_steps=recipe.steps or UNBOUNDED,
        lr_scheduler_type="constant",
        scale_rewards="group" if recipe.advantage == SCALED else "none",
        epsilon_high=recipe.clip_high,
        beta=0.0,
    )


def _vllm(recipe: Recipe, stops: Sequence[int]) -> dict[str, Any]:
    """Return TRL's settings for vLLM; empty if vLLM does not generate the answers."""
    if not recipe.vllm:
        return {}
    options = {"use_vllm": True, "generation_kwargs": {"stop_token_ids": list(stops)}}
    if recipe.vllm == COLOCATE:
        return options | {"vllm_mode": "colocate"}
    return options | {"vllm_mode": "server", "vllm_server_base_url": recipe.vllm}
