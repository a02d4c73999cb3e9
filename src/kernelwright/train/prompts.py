"""Training prompts: the swarm's prompts, with exemplars from the archive's current content."""

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
    """A prompt for a kernel, with the kernels that it shows."""

    task: Task
    dialect: str
    messages: Messages
    exemplars: tuple[Exemplar, ...] = ()
    """Archived kernels that the prompt shows."""
    earlier: tuple[str, ...] = ()
    """The ``Candidate.normal`` of the conversation's kernels; the prompt shows the last one."""
    parent: str | None = None
    """Digest of the conversation's last kernel in the archive, which the prompt shows."""


@dataclass(frozen=True)
class Prompts:
    """Makes prompts for kernels. Exemplars come from the archive and change during training."""

    archive: Archive
    device: Device
    threads: int
    exemplars: int
    """Maximum number of scored kernels in a prompt, drawn from distinct ranges of speed."""
    bare: float = 0.0
    """Share of prompts that show no exemplars although there are some."""
    fits: Callable[[Messages], bool] = lambda messages: True
    """Whether a prompt is short enough. A prompt that is too long loses its exemplars."""
    contrast: float = ranking.CONTRAST
    """Smallest ratio of the speeds of two kernels that a prompt shows."""
    shuffled: bool = False
    """Whether the kernels of a prompt show one another's verdicts, as a control."""
    among: frozenset[str] | None = None
    """The kernels that may be shown, by ``Candidate.normal``; None allows the whole archive."""

    def ask(self, task: Task, dialect: str, seed: int) -> Asked:
        """Return the prompt for a kernel in ``dialect``; the seed selects the exemplars."""
        is_bare = random.Random(f"{task.digest} {seed}").random() < self.bare
        shown = self._shown(task, dialect, seed) if self.exemplars and not is_bare else ()
        asked = self._asked(task, Question("write", dialect), CONTEXT, shown)
        if shown and not self.fits(asked.messages):
            return self._asked(task, Question("write", dialect), CONTEXT, ())
        return asked

    def follow(self, asked: Asked, answer: str, judged: Judged) -> Asked:
        """Return the prompt that follows an answer.

        It shows the answer's kernel with the judge's verdict and asks for a repair or a faster
        kernel. If the answer contains no kernel, it says what is wrong with the answer's form.
        The same prompt is repeated if the machine or the task was at fault, or if the new prompt
        would be too long.
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
        # The order in which answers were judged depends on timing; sorting makes the seed decide.
        mine.sort(key=lambda pair: pair[0].candidate.digest)
        shown = ranking.exemplars(mine, self.exemplars, seed, self.contrast)
        return tuple(ranking.shuffled(shown, seed) if self.shuffled else shown)

    def _asked(
        self, task: Task, question: Question, parts: Sequence[str], shown: tuple[Exemplar, ...]
    ) -> Asked:
        brief = Brief(
            task=task,
            device=self.device,
            dialects=(question.dialect,),
            exemplars=shown,
            threads=self.threads,
        )
        return Asked(task, question.dialect, prompt.generator(brief, question, parts), shown)
