"""Reinforcement: TRL's GRPO with our prompts, which change, and the judge's reward.

The self-supervised stage and the contrastive one are this with two recipes: rewards of 0 and 1
without exemplars, and rewards by speed with them.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernelwright.archive import Archive
from kernelwright.core.errors import UsageError
from kernelwright.core.task import Task
from kernelwright.propose.swarm.chat import chat_text, ends
from kernelwright.train import reward, sampling
from kernelwright.train.court import Court
from kernelwright.train.courtroom import Answer
from kernelwright.train.model import adapter, alone, open_model, open_tokenizer, settings
from kernelwright.train.prompts import Asked, Messages, Prompts
from kernelwright.train.recipes import COLOCATE, Recipe
from kernelwright.train.watch import Curve, Deadline

UNBOUNDED = 1_000_000  # steps; the deadline ends the stage
BARE = {"skip_special_tokens": True}  # as TRL decodes what it gives to rewards


@dataclass
class Rollouts:
    """Both hooks of TRL's trainer: ``sample`` is its rollout function, ``earn`` its reward.

    An answer is built and checked as soon as it has come to its end, and timed when all are
    written, or at once on a GPU on which no trainer works.

    A row of TRL's dataset holds a task's digest for a prompt; what is asked is made when it is
    sampled, so that it shows what the archive holds by then. All answers of a group get the same.
    """

    recipe: Recipe
    tasks: dict[str, Task]
    dialects: Sequence[str]
    court: Court
    prompts: Prompts
    _sampled_s: float = 0.0
    _began_s: float = field(default_factory=time.monotonic)

    def sample(self, digests: list[str], trainer: Any) -> dict[str, Any]:
        """Answers to the tasks' prompts of this step, with the exemplars that each was shown."""
        began = time.monotonic()
        tokenizer, step = trainer.processing_class, trainer.state.global_step
        dialect = self.dialects[step % len(self.dialects)]
        asked = {
            digest: self.prompts.ask(self.tasks[digest], dialect, self.recipe.seed + step)
            for digest in dict.fromkeys(digests)
        }
        read = {digest: prompt_ids(tokenizer, each.messages) for digest, each in asked.items()}
        prompts = [read[digest] for digest in digests]
        is_apart = self._is_apart(trainer.accelerator)

        def begin(ended: Mapping[int, list[int]]) -> None:
            told = [
                self._answer(digests[n], dialect, asked[digests[n]], tokenizer.decode(row, **BARE))
                for n, row in ended.items()
            ]
            self.court.begin(told, may_time=is_apart)

        said, likely = sampling.sample(trainer, prompts, begin)
        self._sampled_s = time.monotonic() - began
        return {
            "prompt_ids": prompts,
            "completion_ids": said,
            "logprobs": likely,  # where there are none, TRL computes what it needs
            "asked": [asked[digest] for digest in digests],
            "dialect": [dialect] * len(digests),
        }

    def earn(
        self,
        prompts: list[str],
        completions: list[str],
        asked: list[Asked],
        dialect: list[str],
        log_metric: Callable[[str, float], None],
        **_: Any,
    ) -> list[float | None]:
        """The rewards of a step's answers; None where the machine was to blame."""
        answers = [
            self._answer(*each) for each in zip(prompts, dialect, asked, completions, strict=True)
        ]
        began, n_before = time.monotonic(), self.court.n_judged
        judged = self.court.judge(answers)
        waited_s = time.monotonic() - began
        earned = [reward.find(self.recipe.reward)(each) for each in judged]
        self._tell(judged, earned, log_metric)
        since_s = time.monotonic() - self._began_s
        self._began_s = time.monotonic()
        n_judged = self.court.n_judged - n_before
        log_metric("judge/candidates", n_judged)
        log_metric("judge/candidates_per_s", n_judged / max(self._sampled_s + waited_s, 1e-9))
        log_metric("time/judging_share", waited_s / since_s)
        log_metric("time/sampling_share", self._sampled_s / since_s)
        if not self.recipe.smooth:
            return earned
        size = self.recipe.group
        groups = [earned[at : at + size] for at in range(0, len(earned), size)]
        return [each for group in groups for each in reward.smoothed(group)]

    def _answer(self, digest: str, dialect: str, asked: Asked, text: str) -> Answer:
        return Answer(self.tasks[digest], dialect, text, asked.exemplars, self.recipe.model)

    def _is_apart(self, accelerator: Any) -> bool:
        """Whether candidates run on a GPU on which no trainer works; a CPU's cores are shared."""
        n, own, device = accelerator.num_processes, accelerator.device, self.court.device
        taken = [own.index or 0] if n == 1 else range(n)
        return device.kind != "cpu" and (own.type == "cpu" or device.index not in taken)

    def _tell(
        self,
        judged: Sequence[reward.Judged],
        earned: Sequence[float | None],
        log_metric: Callable[[str, float], None],
    ) -> None:
        """The step's curve: shares of all answers, and what they earned before smoothing."""
        found = [each.evaluation for each in judged]
        n = len(judged)
        lows = [f.speedup.low for f in found if f is not None and f.speedup is not None]
        refused = [f for f in found if f is not None and f.status in reward.REFUSED]
        log_metric("share/with_code", sum(f is not None for f in found) / n)
        log_metric("share/right", sum(f is not None and f.passed for f in found) / n)
        log_metric("share/faster", sum(low > 1 for low in lows) / n)
        log_metric("share/cheats", len(refused) / n)
        log_metric("share/copies", sum(each.is_copy for each in judged) / n)
        log_metric("earned", statistics.fmean([e for e in earned if e is not None] or [0.0]))


def prompt_ids(tokenizer: Any, messages: Messages) -> list[int]:
    """A prompt's tokens, as in sft."""
    return tokenizer(chat_text(tokenizer, messages), add_special_tokens=False)["input_ids"]


def trainer(
    recipe: Recipe, tasks: Sequence[Task], dialects: Sequence[str], court: Court, archive: Archive
) -> Any:
    """TRL's trainer, ready to run.

    Raises:
        UsageError: no such model, no tasks, or none whose prompt is short enough.
    """
    from datasets import Dataset
    from trl import GRPOTrainer

    tokenizer = open_tokenizer(recipe.model)

    def fits(messages: Messages) -> bool:
        return len(prompt_ids(tokenizer, messages)) <= recipe.max_prompt_tokens

    prompts = Prompts(archive, court.device, recipe.threads, recipe.exemplars, fits)
    short = [t for t in tasks if fits(prompts.ask(t, dialects[0], recipe.seed).messages)]
    if not short:
        raise UsageError(
            "there is no task to train on",
            seen=f"{len(tasks)} tasks, none with a prompt of at most "
            f"{recipe.max_prompt_tokens} tokens",
            do="kernelwright dataset build and --dataset, or an --archive that holds tasks",
        )
    rollouts = Rollouts(recipe, {t.digest: t for t in short}, dialects, court, prompts)
    model = open_model(recipe.model, tokenizer)
    return GRPOTrainer(
        model=model,
        reward_funcs=rollouts.earn,
        args=alone(_grpo(recipe, len(short), ends(tokenizer, model))),
        train_dataset=Dataset.from_dict({"prompt": list(rollouts.tasks)}),
        processing_class=tokenizer,
        peft_config=adapter(recipe),
        rollout_func=rollouts.sample,
        callbacks=[Deadline(recipe), Curve(recipe, archive)],
    )


def _grpo(recipe: Recipe, n_tasks: int, stops: Sequence[int]) -> Any:
    from trl import GRPOConfig

    answers = min(recipe.tasks, n_tasks) * recipe.group
    # What the device holds at a time must divide what a step compares.
    batch = next(b for b in range(min(recipe.batch, answers), 0, -1) if answers % b == 0)
    return GRPOConfig(
        **settings(recipe),
        **_vllm(recipe, stops),
        per_device_train_batch_size=batch,
        gradient_accumulation_steps=answers // batch,
        num_generations=recipe.group,
        max_completion_length=recipe.max_tokens,
        temperature=recipe.temperature,
        max_steps=recipe.steps or UNBOUNDED,
        lr_scheduler_type="constant",
        scale_rewards="none" if recipe.smooth else "group",
        beta=0.0,
    )


def _vllm(recipe: Recipe, stops: Sequence[int]) -> dict[str, Any]:
    """TRL's own settings for vLLM, where answers are to come from it."""
    if not recipe.vllm:
        return {}
    told = {"use_vllm": True, "generation_kwargs": {"stop_token_ids": list(stops)}}
    if recipe.vllm == COLOCATE:
        return told | {"vllm_mode": "colocate"}
    return told | {"vllm_mode": "server", "vllm_server_base_url": recipe.vllm}
