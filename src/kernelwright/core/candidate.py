"""Candidate, Proposal, Exemplar and Brief: what is proposed, by whom, and on what grounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kernelwright.core.call import Call, PastCall
from kernelwright.core.device import Device
from kernelwright.core.digest import digest
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.normal import normal_form
from kernelwright.core.task import Task


@dataclass(frozen=True)
class Candidate:
    """One standalone Python file that defines ``entry`` with the reference's constructor.

    Kernels in other languages stand in the file as text, with the few lines that build and load
    them. Identity is content: the same text proposed twice is one candidate.
    """

    source: str = field(repr=False)
    dialect: str
    """'cpp', 'triton', 'cuda', or 'torch' for a file that only calls the library."""
    entry: str = "ModelNew"

    @cached_property
    def digest(self) -> str:
        """Identity: the source, the dialect and the entry."""
        return digest("candidate", self.source, self.dialect, self.entry)

    @cached_property
    def normal(self) -> str:
        """The digest of its text without layout and comments: the same for a mere rewording."""
        return digest("normal", normal_form(self.source), self.dialect, self.entry)


@dataclass(frozen=True)
class Proposal:
    """A candidate with what its proposer said about it."""

    candidate: Candidate
    proposer: str
    lineage: tuple[str, ...] = ()
    """The names of the rules that made it, in the order in which they were applied."""
    schedule: Mapping[str, Any] = field(default_factory=dict)
    """The choices (tile sizes, threads, unrolling) that a refinement may vary; JSON values."""
    parent: str | None = None
    """The digest of the candidate it refines, if any."""
    note: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    call: str | None = None
    """The id of the model's call that its text came from, if a model wrote it."""

    @property
    def summary(self) -> str:
        """A few words about the proposal: its note, or else its last rule and its schedule."""
        choices = " ".join(f"{name}={value}" for name, value in self.schedule.items())
        return self.note or " ".join((*self.lineage[-1:], choices)) or "judging"


@dataclass(frozen=True)
class Exemplar:
    """An archived proposal with its evaluation, as it is shown in a brief."""

    proposal: Proposal
    evaluation: Evaluation
    role: str
    """'parent', 'better', 'worse', 'failed', or 'other': right, of unknown speed."""


@dataclass(frozen=True)
class Brief:
    """All that a proposer is given. It keeps no state: what it should learn is in here."""

    task: Task
    device: Device
    dialects: tuple[str, ...]
    exemplars: tuple[Exemplar, ...] = ()
    budget_s: float = 60.0
    """Seconds left for the whole run when the brief was written."""
    seed: int = 0
    threads: int = 1
    """CPU threads that candidates will run with."""
    timed: bool = True
    """Whether what is right will be timed, in dialects that can be timed on the device."""
    models: tuple[str, ...] = ()
    """The models that may be asked, as the user named them."""
    contexts: tuple[str, ...] = ()
    """Sets of parts that prompts may draw on, as the user named them: 'reference,verdicts'."""
    attached: tuple[str, ...] = ()
    """Files that prompts may show, as the user named them: texts and pictures."""
    prices: tuple[str, ...] = ()
    """What models cost, as the user stated it: 'MODEL=IN/OUT' in USD per million tokens."""
    budget_tokens: int | None = None
    """Tokens left for the whole run; None: not limited."""
    budget_usd: float | None = None
    """Money left for the whole run; None: not limited."""
    history: tuple[tuple[Proposal, Evaluation], ...] = ()
    """Every verdict on this task so far, oldest first."""
    calls: tuple[Call, ...] = ()
    """Every model's call for this task so far, oldest first."""
    since: str = ""
    """Calls whose ids are not below this one are of the present run."""
    elsewhere: tuple[tuple[Proposal, Evaluation], ...] = ()
    """The best of this task in each dialect on each device, by verdicts that do not count here:
    of other machines, software or judges, or on what older emitters wrote."""
    past_calls: tuple[PastCall, ...] = ()
    """What came of models' calls on other tasks."""
