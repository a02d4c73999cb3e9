"""A round against a real server: its calls, its proposals and its end."""

import threading
from dataclasses import replace

import pytest
from tests.null.swarm.briefs import BRIEF, CODE, answer, call, proposal, verdict
from tests.null.swarm.scripted import fail, half, say

from kernelwright.core.call import Call, Outcome
from kernelwright.core.candidate import Proposal
from kernelwright.core.errors import ProposerError
from kernelwright.proposers.feed import Feed
from kernelwright.proposers.swarm import SwarmProposer

LEAN = "reference,verdicts"


@pytest.fixture
def brief(scripted, at_once):
    return replace(BRIEF, models=(scripted.model,), contexts=(LEAN,))


def propose(brief):
    said = list(SwarmProposer().propose(brief))
    calls = [item for item in said if isinstance(item, Call)]
    return calls, [item for item in said if isinstance(item, Proposal)]


def feed(brief, takes_turns=False):
    """Collect all items of a feed while every candidate is judged wrong at once."""
    calls, judged = list(brief.calls), []
    tokens = brief.budget_tokens

    def now():
        left = None if tokens is None else tokens - sum(c.tokens for c in calls)
        return replace(brief, calls=tuple(calls), history=tuple(judged), budget_tokens=left)

    with Feed(SwarmProposer(), now, calls.append, takes_turns=takes_turns) as opened:
        for item, _ in opened:
            if isinstance(item, Proposal):
                judged.append((item, verdict(item.candidate, reason="off by one")))
    return calls, judged


def test_an_answer_becomes_a_call_and_then_a_proposal(scripted, brief):
    scripted.script = [say(answer(), reads=11, writes=7)]
    ((asked,), (said,)) = propose(brief)
    assert said.candidate.source == CODE and said.candidate.dialect == "cpp"
    assert (said.call, said.input_tokens, said.output_tokens) == (asked.id, 11, 7)
    assert asked.outcome is Outcome.ANSWERED and asked.template == "generator-3"
    assert asked.context == ("reference", "verdicts") and asked.cost_usd == 0.0
    sent = [(m["role"], m["content"]) for m in scripted.requests[0]["messages"]]
    assert list(asked.messages) == sent and "torch.relu" in sent[-1][1]


@pytest.mark.parametrize("second", [answer(), "still no code"])
def test_a_wrong_form_is_corrected_once(scripted, brief, second):
    scripted.script = [say("no code"), say(second)]
    calls, proposals = propose(brief)
    assert [asked.purpose for asked in calls] == ["write", "reformat"]
    assert calls[1].follows == calls[0].id
    assert "it has no code" in scripted.requests[1]["messages"][-1]["content"]
    assert [said.input_tokens for said in proposals] == [200] * (second != "still no code")


def test_a_broken_stream_gives_no_candidate_and_is_not_repeated(scripted, brief):
    scripted.script = [half(answer()[:-20])]
    ((asked,), proposals) = propose(brief)
    assert asked.outcome is Outcome.CUT and not proposals
    assert asked.tokens >= len(answer()[:-20])  # nobody counted: the most that they can be


def test_an_analyst_advises_before_an_optimisation(scripted, brief):
    right = proposal()
    brief = replace(
        brief,
        contexts=("reference,advice",),
        history=((right, verdict(right.candidate, 1.5)),),
    )
    scripted.script = [say("Use wider vectors."), say(answer())]
    calls, _ = propose(brief)
    assert [asked.purpose for asked in calls] == ["advise", "optimise"]
    assert {asked.parent for asked in calls} == {right.candidate.digest}
    assert "Use wider vectors." in scripted.requests[1]["messages"][-1]["content"]
    again, _ = propose(replace(brief, calls=tuple(calls)))
    assert [asked.purpose for asked in again] == ["optimise"]  # the advice is still known


def test_a_stored_answer_is_proposed_without_another_call(scripted, brief):
    known = call(1, answer=answer())
    _, proposals = propose(replace(brief, calls=(known,), since="0002", budget_s=0.0))
    assert [said.call for said in proposals] == [known.id] and not scripted.requests
    judged = (proposals[0], verdict(proposals[0].candidate, reason="wrong"))
    brief = replace(brief, calls=(known,), since="0002", budget_s=0.0, history=(judged,))
    assert propose(brief) == ([], [])


def test_a_call_belongs_to_its_run_even_if_the_clock_was_set_back(scripted, brief):
    scripted.script = [say(answer())]
    began = f"{2**44:012x}ff"  # five hundred years from now: its tokens must count all the same
    (asked,), _ = propose(replace(brief, since=began))
    assert asked.id >= began


def test_calls_run_side_by_side(scripted, brief, at_once):
    at_once(8)
    all_are_in = threading.Barrier(8, timeout=20)

    def answer_when_all_are_in(handler):
        all_are_in.wait()
        say(answer())(handler)

    scripted.script = [answer_when_all_are_in]
    calls, _ = propose(brief)
    assert [asked.outcome for asked in calls] == [Outcome.ANSWERED] * 8


@pytest.mark.parametrize("takes_turns", [True, False])
def test_a_feed_ends_at_most_one_call_after_the_token_budget(scripted, brief, takes_turns):
    scripted.script = [say(answer(CODE.replace("x)", f"x{i})"))) for i in range(20)]
    calls, judged = feed(replace(brief, budget_tokens=301), takes_turns)
    assert len(calls) == 3 and len(judged) == 3


def test_a_feed_ends_when_the_only_endpoint_died(scripted, brief):
    scripted.script = [say(answer()), fail(500, "out of memory")]
    calls, judged = feed(brief)
    assert len(judged) == 1
    assert [asked.outcome for asked in calls[1:]] == [Outcome.FAILED] * 3


def test_a_wrong_key_is_raised_after_the_other_calls_have_ended(scripted, brief, at_once):
    scripted.script = [fail(401, "bad key"), say(answer())]
    at_once(2)
    calls = []
    with (
        pytest.raises(ProposerError, match="refuses the key"),
        Feed(SwarmProposer(), lambda: brief, calls.append, takes_turns=False) as opened,
    ):
        list(opened)
    assert [asked.outcome for asked in calls] == [Outcome.ANSWERED]
