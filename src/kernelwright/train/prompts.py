"""Prompts of training: those of the swarm, with exemplars from the archive as it is now."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kernelwright.archive import Archive, ranking
from kernelwright.core.candidate import Brief, Candidate, Exemplar, Proposal
from kernelwright.core.device import Device
from kernelwright.core.outcome import Status
from kernelwright.core.task import Task
from kernelwright.judge import JUDGE_VERSION
from kernelwright.proposers.policy import CONTEXT
from kernelwright.proposers.swarm import prompt
from kernelwright.proposers.swarm.answer import read
from kernelwright.proposers.swarm.question import Question
from kernelwright.train.reward import Judged

Messages = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Asked:
    """A prompt for a kernel, and what it shows."""

    task: Task
    dialect: str
    messages: Messages
    exemplars: tuple[Exemplar, ...] = ()
    """Kernels of the archive."""
    earlier: tuple[str, ...] = ()
    """Kernels of the same conversation, the last of which it shows: their ``Candidate.normal``."""
    parent: str | None = None
    """The archive's candidate that it shows of the conversation."""


@dataclass(frozen=True)
class Prompts:
    """Asks for kernels. The exemplars follow the archive: they change as training goes on."""

    archive: Archive
    device: Device
    threads: int
    exemplars: int
    """At most so many scored kernels, from buckets of speed that lie apart."""
    bare: float = 0.0
    """The share of prompts that go without them all the same."""
    fits: Callable[[Messages], bool] = lambda messages: True
    """Whether a prompt is short enough; one that is not goes without exemplars."""
    among: frozenset[str] | None = None
    """Those that may be shown, as ``Candidate.normal``; None: all of the archive."""

    def ask(self, task: Task, dialect: str, seed: int) -> Asked:
        """The prompt for a kernel in ``dialect``; another seed may show other exemplars."""
        is_bare = random.Random(f"{task.digest} {seed}").random() < self.bare
        shown = self._shown(task, dialect, seed) if self.exemplars and not is_bare else ()
        asked = self._asked(task, Question("write", dialect), CONTEXT, shown)
        if shown and not self.fits(asked.messages):
            return self._asked(task, Question("write", dialect), CONTEXT, ())
        return asked

    def follow(self, asked: Asked, answer: str, judged: Judged) -> Asked:
        """The prompt after an answer: its kernel with the judge's verdict, to be repaired or made
        faster; without a kernel, the answer with what is wrong with its form.

        Where the machine or the task was to blame, or the prompt would be too long, the same is
        asked again.
        """
        code, found = read(answer, asked.dialect), judged.again or judged.evaluation
        if judged.fault is not None:
            return asked
        if found is None:
            messages = prompt.in_form(asked.messages, answer, code.fault)
            return replace(asked, messages=messages) if self.fits(messages) else asked
        if found.status is Status.INFRA_ERROR:
            return asked
        candidate = Candidate(code.code, asked.dialect)
        parent = (Proposal(candidate, "policy"), found)
        question = Question("optimise" if found.passed else "repair", asked.dialect, parent)
        earlier = (*asked.earlier, candidate.normal)
        for shown in (asked.exemplars, ()):
            after = self._asked(asked.task, question, (*CONTEXT, "verdicts"), shown)
            if self.fits(after.messages):
                return replace(after, earlier=earlier, parent=found.candidate)
        return asked

    def _shown(self, task: Task, dialect: str, seed: int) -> tuple[Exemplar, ...]:
        history = self.archive.history(
            task.digest, device=self.device.key, judge_version=JUDGE_VERSION
        )
        mine = [pair for pair in history if pair[0].candidate.dialect == dialect]
        if self.among is not None:
            mine = [pair for pair in mine if pair[0].candidate.normal in self.among]
        # Which of a step's answers were judged first depends on the clock, and a seed does not.
        mine.sort(key=lambda pair: pair[0].candidate.digest)
        return tuple(ranking.exemplars(mine, self.exemplars, seed))

    def _asked(
        self, task: Task, question: Question, parts: Sequence[str], shown: tuple[Exemplar, ...]
    ) -> Asked:
        brief = Brief(
            task=task, device=self.device, dialects=(question.dialect,), exemplars=shown,
            threads=self.threads,
        )  # fmt: skip
        return Asked(task, question.dialect, prompt.generator(brief, question, parts), shown)
