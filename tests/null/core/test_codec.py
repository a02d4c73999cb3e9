"""Nouns as plain data and back."""

import json
from dataclasses import fields

import pytest
from tests.null.archive.nouns import TASK, proposal, verdict

from kernelwright.core.candidate import Candidate, Proposal
from kernelwright.core.codec import columns, from_columns, plain, rebuilt
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.outcome import Status
from kernelwright.core.task import Task

NOUNS = [
    TASK,
    proposal("\ud800", schedule={"tile": 8}, cost_usd=0.5),
    verdict(proposal().candidate),
    verdict(proposal().candidate, Status.WRONG_VALUES, numerics=None),
]


@pytest.mark.parametrize("noun", NOUNS, ids=["task", "proposal", "passed", "wrong"])
def test_a_noun_comes_back_equal_through_json(noun):
    assert rebuilt(type(noun), json.loads(json.dumps(plain(noun)))) == noun


@pytest.mark.parametrize("noun", NOUNS, ids=["task", "proposal", "passed", "wrong"])
def test_every_field_is_there_though_it_was_left_out_before(noun):
    defaults = {field.name: field.default for field in fields(noun)}
    told = {key: value for key, value in plain(noun).items() if value != defaults[key]}
    again = plain(rebuilt(type(noun), told))
    assert set(again) == {field.name for field in fields(noun)} and again == plain(noun)


def test_bytes_stay_bytes_in_a_row():
    assert columns(TASK)["payload"] == TASK.payload
    assert from_columns(Task, columns(TASK)) == TASK


@pytest.mark.parametrize(
    ("kind", "facts", "said"),
    [
        (Candidate, {"source": "x"}, "dialect"),
        (Candidate, {"source": 7, "dialect": "cpp"}, "source"),
        (Proposal, {"candidate": {"source": "x", "dialect": "cpp"}, "proposer": None}, "proposer"),
        (Evaluation, plain(NOUNS[3]) | {"status": "passed"}, "does not fit"),
        (Evaluation, plain(NOUNS[3]) | {"reasons": [{"code": "?", "detail": ""}]}, "reasons"),
    ],
)
def test_what_is_no_noun_is_an_error_that_names_the_field(kind, facts, said):
    with pytest.raises(ValueError, match=said):
        rebuilt(kind, facts)
