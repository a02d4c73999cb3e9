"""The bandit prefers arms with a high reward per cost, and rests failing arms."""

import random
from collections import Counter
from dataclasses import replace

import pytest
from tests.null.swarm.briefs import BRIEF, call, proposal, verdict

from kernelwright.core.call import Outcome, PastCall
from kernelwright.proposers.swarm.bandit import Arm, choose, kind_of, reward

CONTEXT = ("reference", "verdicts")
GOOD, BAD = Arm("hf:good", CONTEXT), Arm("hf:bad", CONTEXT)


def chosen(brief, n=300):
    return Counter(choose(brief, [GOOD, BAD], random.Random(i)) for i in range(n))


def tried(arm, passes, **said):
    """Return calls of an arm with verdicts, one per entry of ``passes``."""
    calls, history = [], []
    for passed in passes:
        text = f"{arm.model} {len(calls)}"
        asked = call(len(calls), id=text, model=arm.model, **said)
        said_then = proposal(text, call=asked.id)
        found = verdict(said_then.candidate, reason="" if passed else "wrong")
        calls.append(asked)
        history.append((said_then, found))
    return calls, history


def brief_of(*trials, **said):
    calls = tuple(c for made, _ in trials for c in made)
    history = tuple(pair for _, judged in trials for pair in judged)
    return replace(BRIEF, calls=calls, history=history, **said)


def test_the_arm_that_passes_is_asked_more():
    counts = chosen(brief_of(tried(GOOD, [True] * 5), tried(BAD, [False] * 5)))
    assert counts[GOOD] > 270


def test_the_cheaper_of_two_equal_arms_is_asked_more():
    cheap = tried(GOOD, [True, False] * 4, took_s=1.0, output_tokens=900)
    dear = tried(BAD, [True, False] * 4, took_s=9.0, output_tokens=100)
    assert chosen(brief_of(cheap, dear))[GOOD] > 270
    assert chosen(brief_of(cheap, dear, budget_tokens=10_000))[BAD] > 270


def test_results_on_tasks_of_the_same_kind_count():
    same, other = "y = torch.tanh(x)", "torch.matmul(x, w)"
    lessons = [PastCall(same, GOOD.model, CONTEXT, True)] * 40
    lessons += [PastCall(other, BAD.model, CONTEXT, True)] * 40
    assert kind_of(BRIEF.task.source) == kind_of(same) != kind_of(other)
    assert chosen(replace(BRIEF, past_calls=tuple(lessons)))[GOOD] > 200


def test_an_arm_that_fails_three_times_rests_until_the_next_run():
    calls, _ = tried(GOOD, [False] * 3, outcome=Outcome.FAILED)
    brief = replace(BRIEF, calls=tuple(calls))
    assert chosen(brief, 50) == {BAD: 50}
    assert choose(brief, [GOOD], random.Random(0)) is None
    assert choose(replace(brief, since="zzz"), [GOOD], random.Random(0)) is GOOD


@pytest.mark.parametrize(("speed", "worth"), [(2.0, 1.0), (1.2, 0.3)])
def test_an_optimisation_is_rewarded_for_an_improvement(speed, worth):
    parent, child = proposal("parent"), proposal("child", call="0001")
    asked = call(1, purpose="optimise", parent=parent.candidate.digest)
    history = ((parent, verdict(parent.candidate, 1.5)), (child, verdict(child.candidate, speed)))
    assert reward(asked, replace(BRIEF, calls=(asked,), history=history)) == worth


def test_a_corrected_answer_rewards_the_first_call():
    first, second = call(1), call(2, purpose="reformat", follows="0001")
    said = proposal(call="0002")
    brief = replace(BRIEF, calls=(first, second), history=((said, verdict(said.candidate)),))
    assert reward(first, brief) == 1.0


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("F.conv2d(x, w)", "convolution"),
        ("self.fc = nn.Linear(3, 4)", "product"),
        ("q @ k", "product"),
        ("x.softmax(-1)", "reduction"),
        ("torch.tanh(x)", "pointwise"),
    ],
)
def test_kinds(source, kind):
    assert kind_of(source) == kind
