"""What programs and people are told of a verdict."""

import json

from hypothesis import given
from hypothesis import strategies as st
from tests.null.archive.nouns import proposal, verdict, warned

from kernelwright.core.evaluation import Ratio
from kernelwright.core.outcome import Status
from kernelwright.judge.sandbox.isolation import MEANING
from kernelwright.report import facts


def test_a_verdict_as_json_holds_every_baseline():
    found = verdict(proposal().candidate, kinds=("kernel",), warnings=(warned("w"),))
    told = json.loads(json.dumps(facts.evaluation_facts(found)))
    assert told["passed"] is True and told["status"] == "passed" and told["reasons"] == []
    assert (
        told["kinds"] == ["kernel"]
        and told["warnings"] == [{"code": "unclassified", "detail": "w"}]
        and told["device"] == "cpu"
    )
    assert told["speedup"].keys() == {"eager", "compile"} and told["strongest"] == "compile"
    assert told["speedup"]["eager"]["low"] <= told["speedup"]["eager"]["median"]
    assert told["candidate"] == proposal().candidate.digest


def test_what_was_not_measured_is_absent():
    told = facts.evaluation_facts(verdict(proposal().candidate, Status.TIMEOUT))
    assert "speedup" not in told and told["passed"] is False and told["reasons"]


@given(st.text())
def test_no_text_can_steer_a_terminal(text):
    shown = facts.printable(text)
    assert len(shown) == len(text)
    assert not any((ord(c) < 32 and c not in "\t\n") or 0x7F <= ord(c) < 0xA0 for c in shown)


@given(st.text(st.characters()))
def test_every_text_can_be_written_on_one_line(text):
    shown = facts.one_line(text)
    shown.encode()
    assert len(shown.splitlines()) == bool(text)


@given(st.text(min_size=5), st.integers(2, 20))
def test_long_text_is_cut(text, limit):
    assert len(facts.printable(text, limit)) <= limit


def test_outcomes_say_why_a_candidate_is_not_the_winner():
    best = (proposal(), verdict(proposal().candidate))
    other = proposal("other").candidate
    assert facts.beside_best(best[1], best) == "best"
    assert facts.beside_best(verdict(other), best) == "faster than compile, not the fastest"
    first = Ratio(1.55, 1.35, 1.74)
    again = facts.beside_best(verdict(other), None, first)
    assert again == "faster than compile; measured again, at first 1.55 (1.35–1.74)"
    untimed = verdict(other, timing=None, warnings=(warned("an interpreter's time says nothing"),))
    assert "interpreter" in facts.beside_best(untimed, best)
    assert "off by" in facts.beside_best(verdict(other, Status.WRONG_VALUES), best)


def test_every_guarantee_has_plain_words():
    assert set(facts.PLAIN_GUARANTEES) == set(MEANING)
    assert facts.guarantees_text(["network", "new"]) == "no network, new"


def test_ratios_and_durations_are_short():
    assert facts.ratio_text(Ratio(1.834, 1.8, 1.861)) == "1.83 (1.80–1.86)"
    assert facts.ratio_text(Ratio(1834, 1800.2, 1861)) == "1834 (1800–1861)"
    assert facts.ratio_text(None) == "–"
    assert [facts.duration_text(ns) for ns in (12, 1500, 2.5e6, 3e9)] == [
        "12 ns", "1.5 µs", "2.5 ms", "3 s",
    ]  # fmt: skip
