"""Prompts of training: those of the swarm, with exemplars from the archive as it is now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernelwright import select
from kernelwright.archive import Archive
from kernelwright.core.candidate import Brief, Exemplar
from kernelwright.core.device import Device
from kernelwright.core.task import Task
from kernelwright.judge import JUDGE_VERSION
from kernelwright.propose.policy import CONTEXT
from kernelwright.propose.swarm import prompt
from kernelwright.propose.swarm.question import Question

Messages = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Asked:
    """A task's prompt, and the kernels that it shows."""

    messages: Messages
    exemplars: tuple[Exemplar, ...]


@dataclass(frozen=True)
class Prompts:
    """Asks for kernels. The exemplars follow the archive: they change as training goes on."""

    archive: Archive
    device: Device
    threads: int
    exemplars: int
    """At most so many scored kernels, from buckets of speed that lie apart."""
    fits: Callable[[Messages], bool] = lambda messages: True
    """Whether a prompt is short enough; one that is not goes without exemplars."""

    def ask(self, task: Task, dialect: str, seed: int) -> Asked:
        """The prompt for a kernel in ``dialect``; another seed may show other exemplars."""
        shown = self._shown(task, dialect, seed) if self.exemplars else ()
        messages = self._messages(task, dialect, shown)
        if shown and not self.fits(messages):
            shown, messages = (), self._messages(task, dialect, ())
        return Asked(messages, shown)

    def _shown(self, task: Task, dialect: str, seed: int) -> tuple[Exemplar, ...]:
        history = self.archive.history(
            task.digest, device=self.device.key, judge_version=JUDGE_VERSION
        )
        mine = [pair for pair in history if pair[0].candidate.dialect == dialect]
        # Which of a step's answers were judged first depends on the clock, and a seed does not.
        mine.sort(key=lambda pair: pair[0].candidate.digest)
        return tuple(select.exemplars(mine, self.exemplars, seed))

    def _messages(self, task: Task, dialect: str, shown: tuple[Exemplar, ...]) -> Messages:
        brief = Brief(
            task=task, device=self.device, dialects=(dialect,), exemplars=shown,
            threads=self.threads,
        )  # fmt: skip
        return prompt.generator(brief, Question("write", dialect), CONTEXT)
