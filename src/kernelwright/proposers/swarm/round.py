"""One round: the bandit's choices asked at once, answers read and, once, sent back to be mended."""

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
from kernelwright.llm.endpoint import Messages, open_endpoint
from kernelwright.llm.ledger import Ledger
from kernelwright.proposers.swarm import prompt
from kernelwright.proposers.swarm.answer import read
from kernelwright.proposers.swarm.bandit import GENERATES, Arm, choose
from kernelwright.proposers.swarm.concurrency import width
from kernelwright.proposers.swarm.context import ATTACHED, DEFAULT, advice_on, parse_contexts
from kernelwright.proposers.swarm.question import Question, next_question

NAME = "swarm"

Item = Proposal | Call


class Told(NamedTuple):
    """What is the same for all calls about one question."""

    arm: Arm
    question: Question
    seed: int


def unjudged(brief: Brief) -> Iterator[Proposal]:
    """What stored answers propose that has no verdict: a run was cut off before it."""
    judged = {p.candidate.digest for p, _ in brief.history}
    for call in brief.calls:
        proposal = proposed(call, brief.calls)
        if proposal is not None and proposal.candidate.digest not in judged:
            yield proposal


def proposed(call: Call, calls: tuple[Call, ...] = ()) -> Proposal | None:
    """What a call's answer proposes; None where it has no code that can be used."""
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
    """What a brief leads to: as many questions as the budget allows at once."""

    brief: Brief

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.brief)
        self._said: queue.SimpleQueue[Item | Exception | None] = queue.SimpleQueue()
        self._advising = threading.Lock()
        self._advice: dict[str, Call | None] = {}

    def items(self) -> Iterator[Item]:
        """Calls as they end, proposals after theirs. Ends when all calls have.

        Raises:
            ProposerError: a model cannot be asked at all.
        """
        told = self._tell()
        for each in told:
            threading.Thread(target=self._work, args=(each,), daemon=True, name=NAME).start()
        running, error = len(told), None
        while running:
            item = self._said.get()
            if item is None:
                running -= 1
            elif isinstance(item, Exception):
                error = error or item  # raised when what the others are paid for has come
            else:
                yield item
        if error is not None:
            raise error

    def _tell(self) -> list[Told]:
        """The questions of this round, each with the arm that answers it."""
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
                found.append(Told(arm, question, draw.getrandbits(31)))
        return found

    def _work(self, told: Told) -> None:
        """Ask one question, and put what comes of it on the queue."""
        try:
            for item in self._answers(told):
                self._said.put(item)
        except Exception as error:  # the edge of the thread: raised again where it is read
            self._said.put(error)
        finally:
            self._said.put(None)

    def _answers(self, told: Told) -> Iterator[Item]:
        """The analyst's call where there is one to make, the generator's, and one to mend it."""
        brief, (arm, question, _) = self.brief, told
        if "advice" in arm.context and question.purpose == "optimise":
            with self._advising:
                advice, is_new = self._advised(told)
            if is_new and advice is not None:
                yield advice
            if advice is not None:
                brief = replace(brief, calls=(*brief.calls, advice))
        messages = prompt.generator(brief, question, arm.context)
        call = self._call(told, question.purpose, messages, prompt.GENERATOR)
        if call is None:
            return
        yield call
        proposal = proposed(call)
        if proposal is None and call.outcome is Outcome.ANSWERED:
            fault = read(call.answer, call.dialect).fault
            again = self._call(
                told, "reformat", prompt.reformat(call, fault), prompt.REFORMAT, follows=call.id
            )
            if again is not None:
                yield again
                proposal = proposed(again, (call,))
        if proposal is not None:
            yield proposal

    def _advised(self, told: Told) -> tuple[Call | None, bool]:
        """The analyst's call about a question's parent, and whether it was made just now; each
        parent is advised on once."""
        _, question, _ = told
        key = question.parent[0].candidate.digest if question.parent else ""
        is_new = key not in self._advice and advice_on(self.brief, question) is None
        if is_new:
            messages = prompt.analyst(self.brief, question, told.arm.context)
            self._advice[key] = self._call(told, "advise", messages, prompt.ANALYST)
        return self._advice.get(key) or advice_on(self.brief, question), is_new

    def _call(
        self,
        told: Told,
        purpose: str,
        messages: Messages,
        template: str,
        *,
        follows: str | None = None,
    ) -> Call | None:
        """One call, paid for and written down; None where the budget does not allow it."""
        endpoint = open_endpoint(told.arm.model)
        parameters = dict(endpoint.parameters(told.seed))
        is_shown = ATTACHED in told.arm.context and endpoint.sees and purpose != "reformat"
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
        parent = told.question.parent
        return Call(
            id=new_id(after=self.brief.since),
            model=endpoint.name,
            purpose=purpose,
            context=told.arm.context,
            template=template,
            dialect=told.question.dialect,
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
