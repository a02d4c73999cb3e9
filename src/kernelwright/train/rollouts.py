"""Rollouts: batches of conversations, judged while they are generated, and their rewards."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernelwright.core.task import Task
from kernelwright.llm.chat import chat_text
from kernelwright.train import reward, sampling
from kernelwright.train.prompts import Asked, Messages, Prompts
from kernelwright.train.recipes import FAST, Recipe
from kernelwright.train.reward import Judged
from kernelwright.train.reward_pool import RewardPool
from kernelwright.train.reward_worker import PolicyAnswer


@dataclass(frozen=True)
class Turn:
    """One answer of a conversation."""

    asked: Asked
    prompt: list[int]
    """Tokens of the prompt."""
    said: list[int]
    """Tokens of the answer."""
    likely: list[float] | None
    """Log probability of each token of the answer according to vLLM; None if vLLM is not used."""
    text: str
    judged: Judged


@dataclass
class Rollouts:
    """Both hooks of TRL's trainer: ``sample`` is its rollout function, ``earn`` its reward.

    An answer is built and checked as soon as it is complete. It is timed when all answers are
    complete, or at once if it runs on a GPU that no trainer uses.

    The prompt column of TRL's dataset holds a task's digest. The actual prompt is made at sampling
    time, so that it shows the archive's current content. All conversations of a group begin with
    the same prompt. TRL accepts any prompt for a row, so each turn has its own row, and the turns
    of a conversation are adjacent.
    """

    recipe: Recipe
    tasks: dict[str, Task]
    dialects: Sequence[str]
    pool: RewardPool
    prompts: Prompts
    _n_judged: int = 0
    _sampled_s: float = 0.0
    _waited_s: float = 0.0
    _began_s: float = field(default_factory=time.monotonic)
    _faulty: set[str] = field(default_factory=set)
    """Digests of the tasks that cannot be run."""

    def sample(self, digests: list[str], trainer: Any) -> dict[str, Any]:
        """Generate and judge the conversations; return one row for each turn."""
        self._n_judged, self._sampled_s, self._waited_s = self.pool.n_judged, 0.0, 0.0
        batch = trainer.state.global_step // self.recipe.updates
        dialect = self.dialects[batch % len(self.dialects)]
        first = {
            digest: self.prompts.ask(self.tasks[digest], dialect, self.recipe.seed + batch)
            for digest in dict.fromkeys(digests)
        }
        by_turn = [self._turn([first[d] for d in digests[:: self.recipe.turns]], trainer)]
        while len(by_turn) < self.recipe.turns:
            asked = [self.prompts.follow(t.asked, t.text, t.judged) for t in by_turn[-1]]
            by_turn.append(self._turn(asked, trainer))
        turns = [turn for conversation in zip(*by_turn, strict=True) for turn in conversation]
        likely = [turn.likely for turn in turns]
        return {
            "prompt_ids": [turn.prompt for turn in turns],
            "completion_ids": [turn.said for turn in turns],
            "logprobs": None if None in likely else likely,  # TRL computes them if None
            "judged": [turn.judged for turn in turns],
        }

    def earn(
        self, judged: list[Judged], log_metric: Callable[[str, float], None], **_: Any
    ) -> list[float | None]:
        """Return what each answer of a batch earned; None where the machine was at fault."""
        earned = [reward.find(self.recipe.reward)(each) for each in judged]
        self._log(judged, earned, log_metric)
        n_turns, size = self.recipe.turns, self.recipe.group * self.recipe.turns
        groups = range(0, len(judged), size)
        if self.recipe.advantage == reward.PARTS:
            earned = [e for at in groups for e in reward.in_parts(judged[at : at + size])]
        for at in range(0, len(earned), n_turns):
            earned[at : at + n_turns] = reward.returns(earned[at : at + n_turns])
        if self.recipe.advantage != reward.CLIPPED:
            return earned
        return [e for at in groups for e in reward.smoothed(earned[at : at + size])]

    def _turn(self, asked: Sequence[Asked], trainer: Any) -> list[Turn]:
        """Generate one answer to each prompt and judge it."""
        began = time.monotonic()
        tokenizer = trainer.processing_class
        read = {
            messages: prompt_ids(tokenizer, messages) for messages in {a.messages for a in asked}
        }
        prompts = [read[each.messages] for each in asked]
        is_apart = self._is_apart(trainer.accelerator)

        def answers(said: Mapping[int, list[int]]) -> list[PolicyAnswer]:
            return [
                # TRL too leaves out special tokens when it decodes answers for rewards.
                self._answer(asked[number], tokenizer.decode(row, skip_special_tokens=True))
                for number, row in said.items()
            ]

        def begin(ended: Mapping[int, list[int]]) -> None:
            self.pool.begin(answers(ended), may_time=is_apart)

        n_alike = self.recipe.group if self.recipe.turns == 1 else 1
        said, likely = sampling.sample(trainer, prompts, begin, n_alike=n_alike)
        # Another process may still generate on the device that this pool judges on.
        trainer.accelerator.wait_for_everyone()
        self._sampled_s += time.monotonic() - began
        began = time.monotonic()
        answered = answers(dict(enumerate(said)))
        judged = self.pool.judge(answered)
        self._warn(answered, judged)
        # Another process may still time candidates on the device that this process generates on.
        trainer.accelerator.wait_for_everyone()
        self._waited_s += time.monotonic() - began
        how_likely = likely or [None] * len(said)
        texts = [answer.text for answer in answered]
        rows = zip(asked, prompts, said, how_likely, texts, judged, strict=True)
        return [Turn(*row) for row in rows]

    def _warn(self, answers: Sequence[PolicyAnswer], judged: Sequence[Judged]) -> None:
        """Warn once about each task that cannot be run: its answers earn no reward."""
        for answer, each in zip(answers, judged, strict=True):
            if each.fault is not None and answer.task.digest not in self._faulty:
                self._faulty.add(answer.task.digest)
                warnings.warn(f"{answer.task.name} cannot be run: {each.fault}", stacklevel=2)

    def _answer(self, asked: Asked, text: str) -> PolicyAnswer:
        return PolicyAnswer(
            asked.task,
            asked.dialect,
            text,
            exemplars=asked.exemplars,
            earlier=asked.earlier,
            parent=asked.parent,
            model=self.recipe.model,
        )

    def _is_apart(self, accelerator: Any) -> bool:
        """Whether candidates run on a GPU that no trainer uses. A CPU is always shared."""
        n, own, device = accelerator.num_processes, accelerator.device, self.pool.device
        taken = [own.index or 0] if n == 1 else range(n)
        return device.kind != "cpu" and (own.type == "cpu" or device.index not in taken)

    def _log(
        self,
        judged: Sequence[Judged],
        earned: Sequence[float | None],
        log_metric: Callable[[str, float], None],
    ) -> None:
        """Log the batch's metrics: shares of all answers, rewards, and the use of time."""
        found = [each.evaluation for each in judged]
        n, n_turns = len(judged), self.recipe.turns
        lows = [f.speedup.low for f in found if f is not None and f.speedup is not None]
        refused = [f for f in found if f is not None and f.status in reward.REFUSED]
        is_right = [f is not None and f.passed for f in found]
        log_metric("share/with_code", sum(f is not None for f in found) / n)
        log_metric("share/right", sum(is_right) / n)
        if n_turns > 1:
            log_metric("share/right_first", statistics.fmean(is_right[::n_turns]))
            log_metric("share/right_last", statistics.fmean(is_right[n_turns - 1 :: n_turns]))
        log_metric("share/faster", sum(low > 1 for low in lows) / n)
        log_metric("share/cheats", len(refused) / n)
        log_metric("share/copies", sum(each.is_copy for each in judged) / n)
        audited = [each for each in judged if each.audit is not None]
        if self.recipe.judge == FAST:
            log_metric("audit/answers", len(audited))
            log_metric("audit/disputed", sum(each.is_disputed for each in audited))
        log_metric("earned", statistics.fmean([e for e in earned if e is not None] or [0.0]))
        n_judged, spent_s = self.pool.n_judged - self._n_judged, self._sampled_s + self._waited_s
        log_metric("judge/candidates", n_judged)
        log_metric("judge/candidates_per_s", n_judged / max(spent_s, 1e-9))
        since_s = time.monotonic() - self._began_s
        self._began_s = time.monotonic()
        log_metric("time/judging_share", self._waited_s / since_s)
        log_metric("time/sampling_share", self._sampled_s / since_s)


def prompt_ids(tokenizer: Any, messages: Messages) -> list[int]:
    """Return a prompt's tokens, tokenised as in sft."""
    return tokenizer(chat_text(tokenizer, messages), add_special_tokens=False)["input_ids"]
