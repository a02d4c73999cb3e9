"""One round: asks all chosen questions at once, and has answers of a wrong form corrected once."""

from __future__ import annotations

import math
import queue
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from kernelwright.core.call import Call, Outcome
from kernelwright.core.candidate import Brief, Candidate, Proposal
from kernelwright.core.ids import new_id
from kernelwright.llm.attached import is_picture
from kernelwright.llm.endpoint import Messages
from kernelwright.llm.ledger import Ledger
from kernelwright.llm.opening import open_endpoint
from kernelwright.proposers.swarm import prompt
from kernelwright.proposers.swarm.answer import read
from kernelwright.proposers.swarm.bandit import GENERATES, Arm, choose
from kernelwright.proposers.swarm.concurrency import width
from kernelwright.proposers.swarm.context import ATTACHED, DEFAULT, advice_on, parse_contexts
from kernelwright.proposers.swarm.question import Question, next_question

NAME = "swarm"

Item = Proposal | Call


class Assignment(NamedTuple):
    """A question with the arm that answers it and the seed of its calls."""

    arm: Arm
    question: Question
    seed: int


def unjudged(brief: Brief) -> Iterator[Proposal]:
    """Yield the proposals of stored answers without a verdict, because a run was cut off."""
    judged = {p.candidate.digest for p, _ in brief.history}
    for call in brief.calls:
        proposal = proposed(call, brief.calls)
        if proposal is not None and proposal.candidate.digest not in judged:
            yield proposal


def proposed(call: Call, calls: tuple[Call, ...] = ()) -> Proposal | None:
    """Return the proposal in a call's answer; None if it contains no usable code."""
    code = read(call.answer, call.dialect).code if call.purpose != "advise" else ""
    if not code:
        return None
    paid = [call, *(earlier for earlier in calls if earlier.id == call.follows)]
    costs = [each.cost_usd for each in paid if each.cost_usd is not None]
    return Proposal(
        candidate=Candidate(code, call.dialect),
        proposer=NAME,
        lineage=(call.model,),
        parent=call.parent,
        note=f"{call.model}, {paid[-1].purpose}",
        input_tokens=sum(each.input_tokens for each in paid),
        output_tokens=sum(each.output_tokens for each in paid),
        cost_usd=math.fsum(costs) if len(costs) == len(paid) else None,
        call=call.id,
    )


@dataclass
class Round:
    """Asks the questions that follow from a brief, as many at once as the budget allows."""

    brief: Brief

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.brief)
        self._items: queue.SimpleQueue[Item | Exception | None] = queue.SimpleQueue()
        self._advising = threading.Lock()
        self._advice: dict[str, Call | None] = {}

    def items(self) -> Iterator[Item]:
        """Yield each call as it ends, followed by its proposal, until all calls have ended.

        Raises:
            ProposerError: a model cannot be asked at all.
        """
        assignments = self._assign()
        for each in assignments:
            threading.Thread(target=self._work, args=(each,), daemon=True, name=NAME).start()
        running, error = len(assignments), None
        while running:
            item = self._items.get()
            if item is None:
                running -= 1
            elif isinstance(item, Exception):
                error = error or item  # raised after the other calls, which are already paid for
            else:
                yield item
        if error is not None:
            raise error

    def _assign(self) -> list[Assignment]:
        """Choose the questions of this round and the arm for each of them."""
        brief = self.brief
        asked = sum(call.purpose in GENERATES for call in brief.calls)
        draw = random.Random(f"{brief.seed} {asked}")
        contexts = parse_contexts(brief.contexts) or DEFAULT
        arms = [Arm(model, context) for model in brief.models for context in contexts]
        found = []
        for number in range(asked, asked + width(brief)):
            arm = choose(brief, arms, draw)
            question = next_question(brief, number, draw)
            if arm is not None and question is not None:
                found.append(Assignment(arm, question, draw.getrandbits(31)))
        return found

    def _work(self, assigned: Assignment) -> None:
        """Ask one question, and put its calls and its proposal on the queue."""
        try:
            for item in self._answers(assigned):
                self._items.put(item)
        except Exception as error:  # the edge of the thread: raised again in the reading thread
            self._items.put(error)
        finally:
            self._items.put(None)

    def _answers(self, assigned: Assignment) -> Iterator[Item]:
        """Call the analyst if needed, then the generator, and once more if the form is wrong."""
        brief, (arm, question, _) = self.brief, assigned
        if "advice" in arm.context and question.purpose == "optimise":
            with self._advising:
                advice, is_new = self._advised(assigned)
            if is_new and advice is not None:
                yield advice
            if advice is not None:
                brief = replace(brief, calls=(*brief.calls, advice))
        messages = prompt.generator(brief, question, arm.context)
        call = self._call(assigned, question.purpose, messages, prompt.GENERATOR)
        if call is None:
            return
        yield call
        proposal = proposed(call)
        if proposal is None and call.outcome is Outcome.ANSWERED:
            fault = read(call.answer, call.dialect).fault
            again = self._call(
                assigned,
                "reformat",
                prompt.reformat(call, fault),
                prompt.REFORMAT,
                follows=call.id,
            )
            if again is not None:
                yield again
                proposal = proposed(again, (call,))
        if proposal is not None:
            yield proposal

    def _advised(self, assigned: Assignment) -> tuple[Call | None, bool]:
        """Return the analyst's call about a question's parent, and whether it is new.

        The analyst is asked once about each parent.
        """
        _, question, _ = assigned
        key = question.parent[0].candidate.digest if question.parent else ""
        is_new = key not in self._advice and advice_on(self.brief, question) is None
        if is_new:
            messages = prompt.analyst(self.brief, question, assigned.arm.context)
            self._advice[key] = self._call(assigned, "advise", messages, prompt.ANALYST)
        return self._advice.get(key) or advice_on(self.brief, question), is_new

    def _call(
        self,
        assigned: Assignment,
        purpose: str,
        messages: Messages,
        template: str,
        *,
        follows: str | None = None,
    ) -> Call | None:
        """Make one call and account for its cost; None if the budget does not allow it."""
        endpoint = open_endpoint(assigned.arm.model)
        parameters = dict(endpoint.parameters(assigned.seed))
        is_shown = ATTACHED in assigned.arm.context and endpoint.sees and purpose != "reformat"
        pictures = [name for name in self.brief.attached if is_shown and is_picture(name)]
        if pictures:
            parameters["pictures"] = pictures
        limit = parameters["max_output_tokens"]
        most = self.ledger.reserve(endpoint.name, messages, limit, n_pictures=len(pictures))
        if most is None:
            return None
        began = time.monotonic()
        limits_s = self.ledger.timeout_s(), self.ledger.patience_s()
        reply = endpoint.ask(messages, parameters, *limits_s)
        spent = self.ledger.settle(endpoint.name, most, reply)
        parent = assigned.question.parent
        return Call(
            id=new_id(after=self.brief.since),
            model=endpoint.name,
            purpose=purpose,
            context=assigned.arm.context,
            template=template,
            dialect=assigned.question.dialect,
            parameters=parameters,
            messages=tuple(messages),
            answer=reply.answer,
            outcome=reply.outcome,
            detail=reply.detail,
            parent=parent[0].candidate.digest if parent else None,
            follows=follows,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cost_usd=spent.cost_usd,
            took_s=time.monotonic() - began,
        )
