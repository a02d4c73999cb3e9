"""The conformance suite of proposers.

Subclass ``ProposerContract`` in a test file of yours; pytest runs every ``test_`` method of it::

    class TestMine(ProposerContract):
        proposer = MyProposer()

        def brief(self):
            return Brief(kw.load("task.py"), Device.parse("cpu"), dialects=("torch",))
"""

from __future__ import annotations

import ast
import copy
import json
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from kernelwright.core.call import Call
from kernelwright.core.candidate import Brief, Exemplar, Proposal
from kernelwright.core.errors import KernelwrightError
from kernelwright.core.evaluation import Environment, Evaluation
from kernelwright.core.outcome import Reason, ReasonCode, Status
from kernelwright.proposers.base import Proposer, WaitingProposer
from kernelwright.testing.contract import (
    ContractError,
    require,
    require_clear,
    require_registered,
)

GROUP = "kernelwright.proposers"
BROKEN = "raise RuntimeError('this task cannot be opened')\n"


@dataclass
class Said:
    """What a proposer yielded for one brief."""

    proposals: list[Proposal] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    others: list[Any] = field(default_factory=list)
    ending: Any = None
    """What its generator returned."""
    error: KernelwrightError | None = None

    @property
    def digests(self) -> list[str]:
        return [proposal.candidate.digest for proposal in self.proposals]


class ProposerContract:
    """What the search relies on in every proposer."""

    proposer: ClassVar[Proposer | WaitingProposer]
    max_time_s: ClassVar[float] = 60.0
    """Seconds that it may take for a brief in which no time is left."""

    def brief(self) -> Brief:
        """A brief for which the proposer has something to propose."""
        raise NotImplementedError("return a kernelwright.Brief for a task that it can improve")

    def test_it_is_registered_under_its_name(self) -> None:
        require_registered(self.proposer, GROUP)

    def test_a_brief_gives_candidates_in_its_dialects(self) -> None:
        brief = self.brief()
        said = self._said(brief)
        if said.error is not None:
            raise said.error
        self._require_proposals(said, brief)
        require(
            bool(said.proposals),
            "it proposes nothing for the brief of this suite",
            seen=f"it ended with {said.ending!r}",
            do="return a brief() for which it has something to propose",
        )

    def test_the_brief_stays_as_it_was(self) -> None:
        brief = self.brief()
        before = copy.deepcopy(brief)
        self._said(brief)
        require(
            brief == before,
            "the brief has changed",
            seen=brief,
            do="only read it: several proposers are given the same one",
        )

    def test_the_same_brief_gives_the_same_proposals(self) -> None:
        """Whoever asks a model is left out: its answers may differ."""
        if isinstance(self.proposer, WaitingProposer):
            return
        brief = self.brief()
        first, again = self._said(brief).digests, self._said(brief).digests
        other = self._said(brief, type(self.proposer)()).digests
        require(
            first == again == other,
            "the same brief gives other proposals the second time",
            seen=f"{len(first)}, {len(again)} and, of a new instance, {len(other)} proposals",
            do="keep no state, and draw numbers from random.Random(brief.seed) only",
        )

    def test_it_may_be_abandoned(self) -> None:
        brief, n_threads = self.brief(), threading.active_count()
        items = iter(self.proposer.propose(brief))
        next(items, None)
        if isinstance(items, Generator):
            items.close()
        deadline_s = time.monotonic() + self.max_time_s
        while threading.active_count() > n_threads and time.monotonic() < deadline_s:
            time.sleep(0.05)
        require(
            threading.active_count() <= n_threads,
            "threads of it go on after it was abandoned",
            seen=[thread.name for thread in threading.enumerate()],
            do="end what was begun in a finally around the yield",
        )

    def test_it_uses_no_dialect_that_the_brief_leaves_out(self) -> None:
        brief = replace(self.brief(), dialects=())
        self._require_proposals(self._said(brief), brief)

    def test_it_ends_where_no_time_is_left(self) -> None:
        start_s = time.monotonic()
        self._said(replace(self.brief(), budget_s=0.0))
        took_s = time.monotonic() - start_s
        require(
            took_s <= self.max_time_s,
            "it goes on where the brief leaves no time",
            seen=f"{took_s:.0f} s, and max_time_s is {self.max_time_s:.0f}",
            do="look at brief.budget_s before anything that takes long",
        )

    def test_it_asks_no_model_where_no_token_is_left(self) -> None:
        calls = self._said(replace(self.brief(), budget_tokens=0)).calls
        require(
            not calls,
            "it asks a model where no token is left",
            seen=[call.model for call in calls],
            do="see what brief.budget_tokens and brief.budget_usd allow before each call",
        )

    def test_it_goes_on_from_what_was_judged(self) -> None:
        """A second round, whose brief shows a right candidate and a wrong one."""
        brief = self.brief()
        judged = self._said(brief).proposals[:2]
        pairs = tuple(
            (proposal, self._verdict(brief, proposal, passed=number == 0))
            for number, proposal in enumerate(judged)
        )
        roles = ("other", "failed")
        exemplars = tuple(
            Exemplar(*pair, role=role) for pair, role in zip(pairs, roles, strict=False)
        )
        later = replace(brief, exemplars=exemplars, history=pairs)
        said = self._said(later)
        if said.error is not None:
            raise said.error
        self._require_proposals(said, later)

    def test_a_task_that_cannot_be_opened_is_a_clear_error_or_no_proposal(self) -> None:
        brief = self.brief()
        broken = replace(brief, task=replace(brief.task, source=BROKEN, payload=None))
        said = self._said(broken)
        if said.error is not None:
            require_clear(said.error, "about a task that cannot be opened")

    def test_whoever_waits_can_be_checked_before_anything_is_paid(self) -> None:
        if not isinstance(self.proposer, WaitingProposer):
            return
        brief = self.brief()
        self.proposer.check(brief)
        shares = self.proposer.shares(brief)
        require(
            isinstance(shares, bool),
            "shares(brief) is not a bool",
            seen=shares,
            do="return whether its models run on the device that candidates are timed on",
        )
        try:
            self.proposer.check(replace(brief, models=()))
        except KernelwrightError as error:
            require_clear(error, "about a brief that names no model")

    def _said(self, brief: Brief, proposer: Any = None) -> Said:
        """All that it yields for a brief."""
        said = Said()
        items = (proposer or self.proposer).propose(brief)
        require(
            isinstance(items, Iterator),
            "propose(brief) does not return an iterator",
            seen=type(items).__name__,
            do="yield proposals one by one",
        )
        try:
            while True:
                item = next(items)
                kept = {Proposal: said.proposals, Call: said.calls}.get(type(item), said.others)
                kept.append(item)
        except StopIteration as end:
            said.ending = end.value
        except KernelwrightError as error:
            said.error = error
        except Exception as error:
            raise ContractError(
                f"propose(brief) raises {type(error).__name__}",
                seen=str(error),
                do="propose nothing, return why, or raise ProposerError(what, seen=..., do=...)",
            ) from error
        return said

    def _require_proposals(self, said: Said, brief: Brief) -> None:
        require(
            not said.others,
            "it yields what is neither a Proposal nor, from whoever asks models, a Call",
            seen=[type(item).__name__ for item in said.others],
            do="yield kernelwright.Proposal(candidate, proposer=self.name)",
        )
        require(
            said.ending is None or isinstance(said.ending, str),
            "its generator returns what is not a text",
            seen=said.ending,
            do="return why it has nothing to propose, or nothing at all",
        )
        for proposal in said.proposals:
            self._require_proposal(proposal, brief)

    def _require_proposal(self, proposal: Proposal, brief: Brief) -> None:
        candidate = proposal.candidate
        require(
            candidate.dialect in brief.dialects,
            "a candidate is in a dialect that the brief leaves out",
            seen=f'"{candidate.dialect}", and the brief allows {brief.dialects}',
            do="propose in brief.dialects only",
        )
        require(
            proposal.proposer == self.proposer.name,
            "a proposal bears another proposer's name",
            seen=proposal.proposer,
            do="pass proposer=self.name",
        )
        require(
            self._defines(candidate.source, candidate.entry),
            f"a candidate's text does not define {candidate.entry}",
            seen=candidate.source[:300],
            do="write one standalone Python file with a class of that name",
        )
        try:
            json.dumps(dict(proposal.schedule))
        except (TypeError, ValueError) as error:
            raise ContractError(
                "a proposal's schedule cannot be kept as JSON",
                seen=str(error),
                do="use numbers, texts, lists and dicts",
            ) from error

    @staticmethod
    def _defines(source: str, entry: str) -> bool:
        """Whether a text is Python and binds ``entry`` at its top level."""
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            return False
        bound = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
        for node in tree.body:
            if isinstance(node, ast.Assign):
                bound |= {target.id for target in node.targets if isinstance(target, ast.Name)}
            elif isinstance(node, ast.ImportFrom):
                bound |= {alias.asname or alias.name for alias in node.names}
        return entry in bound

    @staticmethod
    def _verdict(brief: Brief, proposal: Proposal, *, passed: bool) -> Evaluation:
        return Evaluation(
            task=brief.task.digest,
            workload="contract",
            candidate=proposal.candidate.digest,
            status=Status.PASSED if passed else Status.WRONG_VALUES,
            reasons=() if passed else (Reason(ReasonCode.UNCLASSIFIED, "output 0 is off by 0.5"),),
            environment=Environment(str(brief.device), {}),
            seed=0,
            judge_version=0,
        )
