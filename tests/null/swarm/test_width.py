"""The number of concurrent questions follows the endpoints' pace and the budget."""

from dataclasses import replace

import pytest
from tests.null.swarm.briefs import BRIEF, call, candidate, verdict

from kernelwright.core.call import Outcome
from kernelwright.core.candidate import Proposal
from kernelwright.core.evaluation import Cost
from kernelwright.llm.ledger import MIN_CALL_S
from kernelwright.proposers.swarm.concurrency import (
    FIRST,
    MAX_HOSTED,
    MAX_LOCAL,
    ROUND_SHARE,
    width,
)

LOCAL, HOSTED = "http://localhost:8000/v1#m", "openai:m"


def rounds(*told, model=LOCAL, **said):
    """Return the calls of consecutive rounds, given as (questions, seconds)."""
    now_ms, found = 1_000_000, []
    for n, took_s in told:
        now_ms += round(took_s * 1000)
        found += [
            call(0, **{"id": f"{now_ms:012x}{i:04d}", "took_s": took_s, "model": model} | said)
            for i in range(n)
        ]
        now_ms += 5
    return tuple(found)


def brief(*calls, models=(LOCAL,), **said):
    return replace(BRIEF, **{"models": models, "calls": calls, "budget_s": 1e6} | said)


@pytest.mark.parametrize(
    "told, expected",
    [
        ([], FIRST),
        ([(4, 10)], 8),
        ([(4, 10), (8, 11)], 16),  # answered together
        ([(4, 10), (8, 20)], 4),  # one after the other
        ([(4, 10), (8, 11), (16, 22)], 8),  # together up to eight
        ([(64, 10)], MAX_LOCAL),
    ],
)
def test_a_round_doubles_while_the_last_doubling_paid(told, expected):
    assert width(brief(*rounds(*told))) == expected


def test_hosted_models_are_not_asked_beyond_their_limits():
    calls = rounds((4, 10), (8, 10), model=HOSTED)
    assert width(brief(*calls, models=(HOSTED,))) == MAX_HOSTED
    assert width(brief(*calls, models=(HOSTED, LOCAL))) == MAX_HOSTED


def test_every_model_is_asked_whatever_budget_is_left():
    models = tuple(f"{LOCAL}{n}" for n in range(9))
    assert width(brief(models=models)) == 9
    calls = rounds((9, 10), input_tokens=100)
    assert width(brief(*calls, models=models, budget_tokens=1)) == 9


def test_silent_endpoints_are_not_asked_more():
    calls = rounds((4, 10), outcome=Outcome.FAILED)
    assert width(brief(*calls)) == 1


def test_one_round_without_answers_does_not_hold_later_ones_back():
    """The server may have been loading its model."""
    silent = rounds((4, 10), outcome=Outcome.FAILED)
    later = tuple(
        replace(c, id=f"{int(c.id[:12], 16) + 60_000:012x}{c.id[12:]}") for c in rounds((1, 10))
    )
    assert width(brief(*silent, *later)) == 2


def test_earlier_runs_do_not_count():
    calls = rounds((4, 10), (8, 10))
    assert width(brief(*calls, since="f")) == FIRST


def test_a_round_takes_a_share_of_what_is_left():
    calls = rounds((4, 10), (8, 8), input_tokens=70, output_tokens=30)
    assert width(brief(*calls)) == 16
    assert width(brief(*calls, budget_tokens=1000)) == int(ROUND_SHARE * 1000 / 100)
    assert width(brief(*calls, budget_usd=0.0)) == 16  # nothing was spent


def test_questions_are_limited_by_the_answers_possible_in_time():
    calls = rounds((4, 35))  # a server that a second round of eight would keep for 70 seconds
    assert width(brief(*calls, budget_s=60.0)) == 6
    assert width(brief(*calls, budget_s=1.0)) == int(MIN_CALL_S * 4 / 35)  # so long a call may take


def test_questions_are_limited_by_the_judges_speed():
    calls = rounds((8, 8))
    slow = replace(verdict(candidate()), cost=Cost(build_s=20.0, check_s=10.0, time_s=2.0))
    history = ((Proposal(candidate(), "swarm", call=calls[0].id), slow),)
    # 32 seconds of verdicts for 8 questions
    assert width(brief(*calls, history=history, budget_s=150.0)) == int(ROUND_SHARE * 150 / 4)
