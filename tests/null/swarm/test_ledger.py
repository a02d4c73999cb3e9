"""The spend exceeds the budget by one call at most."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.null.swarm.briefs import BRIEF

from kernelwright.core.call import Outcome
from kernelwright.core.errors import UsageError
from kernelwright.core.settings import DAY_S, parse_budget
from kernelwright.llm.endpoint import Reply
from kernelwright.llm.ledger import Ledger, parse_prices

MODEL = "openai:x"
PRICES = (f"{MODEL}=2/8",)
ASK = (("user", "x" * 100),)
MAX_OUT = 1000


def reply(read, written):
    return Reply("", Outcome.ANSWERED, "", read, written)


@given(
    budget=st.integers(1, 20_000),
    costs=st.lists(st.tuples(st.integers(0, 100), st.integers(0, MAX_OUT)), max_size=40),
    width=st.integers(1, 8),
)
def test_the_token_budget_is_exceeded_by_one_call_at_most(budget, costs, width):
    ledger = Ledger(replace(BRIEF, budget_tokens=budget))
    spent, flying = 0, []
    for read, written in costs:
        most = ledger.reserve(MODEL, ASK, MAX_OUT)
        if most is not None:
            flying.append((most, reply(read, written)))
        while flying and (most is None or len(flying) >= width):
            known, back = flying.pop(0)
            paid = ledger.settle(MODEL, known, back)
            spent += paid.input_tokens + paid.output_tokens
            most = known
    assert spent <= budget + 100 + MAX_OUT


def test_calls_in_flight_count_at_their_maximum_cost():
    ledger = Ledger(replace(BRIEF, budget_usd=0.009, prices=PRICES))
    first = ledger.reserve(MODEL, ASK, MAX_OUT)
    assert first.cost_usd == pytest.approx((100 * 2 + MAX_OUT * 8) / 1e6)
    assert ledger.reserve(MODEL, ASK, MAX_OUT) is not None  # 0.0008 USD are left
    assert ledger.reserve(MODEL, ASK, MAX_OUT) is None
    assert ledger.settle(MODEL, first, reply(10, 10)).cost_usd == pytest.approx(1e-4)
    assert ledger.reserve(MODEL, ASK, MAX_OUT) is not None  # what it did not take is free again


def test_uncounted_tokens_count_at_their_maximum():
    ledger = Ledger(BRIEF)
    most = ledger.reserve(MODEL, ASK, MAX_OUT)
    paid = ledger.settle(MODEL, most, Reply("é" * 10, Outcome.CUT))
    assert (paid.input_tokens, paid.output_tokens, paid.cost_usd) == (100, 20, None)


def test_no_call_begins_when_the_time_is_up():
    assert Ledger(replace(BRIEF, budget_s=0.0)).reserve(MODEL, ASK, 1) is None


@pytest.mark.parametrize("text", ["x", "m=1", "m=1/x", "=1/2", "m=-1/2", "m=nan/1", "m=1/inf"])
def test_a_malformed_price_is_refused(text):
    with pytest.raises(UsageError, match="not a price"):
        parse_prices((text,))


@pytest.mark.parametrize(
    ("texts", "settings"),
    [
        ([], {}),
        (["5m"], {"budget_s": 300.0}),
        (["200ktok"], {"budget_s": DAY_S, "budget_tokens": 200_000}),
        (["90s", "1.5Mtok", "2usd"], {"budget_s": 90, "budget_tokens": 1_500_000, "budget_usd": 2}),
    ],
)
def test_budgets(texts, settings):
    found = parse_budget(texts)
    assert found == settings and all(map(math.isfinite, found.values()))


@pytest.mark.parametrize("texts", [["5 bananas"], ["0usd"], ["5m", "60s"], ["1tok", "2tok"]])
def test_bad_budgets_are_refused(texts):
    with pytest.raises(UsageError):
        parse_budget(texts)
