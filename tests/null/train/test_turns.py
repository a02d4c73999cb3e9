"""Conversations: the prompt after an answer, and the return of each turn."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.null.swarm.briefs import CODE, TASK, answer, verdict

from kernelwright.core.candidate import Candidate
from kernelwright.core.device import Device
from kernelwright.core.outcome import Status
from kernelwright.train import reward
from kernelwright.train.prompts import Prompts
from kernelwright.train.reward import Judged

KERNEL = answer()
CANDIDATE = Candidate(CODE, "cpp")
rewards = st.lists(st.one_of(st.none(), st.floats(-3, 3)), max_size=6)


@pytest.fixture
def prompts():
    return Prompts(None, Device.parse("cpu"), 1, exemplars=0)


def followed(prompts, said, judged):
    """Return the first prompt, the one that follows, and the new text in it."""
    first = prompts.ask(TASK, "cpp", 0)
    after = prompts.follow(first, said, judged)
    return first, after, after.messages[-1][1]


def test_a_wrong_kernel_is_shown_with_its_reasons_for_repair(prompts):
    found = verdict(CANDIDATE, reason="y[3] is 7 and should be 8")
    _, after, text = followed(prompts, KERNEL, Judged(found))
    assert CANDIDATE.source.strip() in text
    assert "y[3] is 7 and should be 8" in text and "repaired" in text
    assert (after.earlier, after.parent) == ((CANDIDATE.normal,), found.candidate)


def test_a_correct_kernel_is_shown_with_its_speed_for_optimisation(prompts):
    _, _, text = followed(prompts, KERNEL, Judged(verdict(CANDIDATE, 1.25)))
    assert "1.25" in text and "Make it faster" in text


def test_an_answer_without_a_kernel_gets_the_fault_of_its_form(prompts):
    first, after, text = followed(prompts, "I would use tiles.", Judged(None))
    assert after.messages[:-1] == (*first.messages, ("assistant", "I would use tiles."))
    assert "it has no code" in text and after.earlier == ()


def test_the_same_prompt_is_repeated_if_nothing_can_be_said(prompts):
    broken = replace(verdict(CANDIDATE, reason="the device is gone"), status=Status.INFRA_ERROR)
    first, after, _ = followed(prompts, KERNEL, Judged(broken))
    assert after == first
    wrong = Judged(verdict(CANDIDATE, reason="no"))
    assert followed(replace(prompts, fits=lambda messages: False), KERNEL, wrong)[1] == first


@given(rewards)
def test_a_turns_return_includes_discounted_later_rewards(earned):
    worth = reward.returns(earned)
    assert [w is None for w in worth] == [e is None for e in earned]
    for at, own in enumerate(worth):
        later = [(e or 0.0) * 0.4**k for k, e in enumerate(earned[at:])]
        assert own is None or own == pytest.approx(sum(later))
