"""Receipts: what is written is read, and what was changed or damaged is refused."""

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.null.archive.nouns import TASK, proposal, reason, verdict, warned

from kernelwright.archive.receipt import VERSION, Receipt
from kernelwright.core.candidate import Candidate
from kernelwright.core.conditions import Conditions
from kernelwright.core.digest import digest
from kernelwright.core.errors import ReceiptError
from kernelwright.core.evaluation import Cost, Environment, Evaluation, Numerics, Timing
from kernelwright.core.outcome import Reason, ReasonCode, Status
from kernelwright.core.task import Task

text = st.text(max_size=30)  # no halves of surrogate pairs: a source that was read has none
said = st.lists(st.text(st.characters(), min_size=1, max_size=20), max_size=3).map(tuple)
seconds = st.floats(0, 1e6)
errors = st.floats(0, 1e6) | st.just(math.inf)
ns = st.integers(1, 10**12)
finite = st.floats(allow_nan=False, allow_infinity=False)  # as JSON has them
scalars = st.none() | st.booleans() | st.integers() | finite | text


@st.composite
def timings(draw):
    names = draw(st.lists(text, min_size=1, max_size=3, unique=True))
    n = draw(st.integers(1, 8))
    series = {name: tuple(draw(st.lists(ns, min_size=n, max_size=n))) for name in names}
    series["candidate"] = tuple(draw(st.lists(ns, min_size=n, max_size=n)))
    strongest = draw(st.sampled_from(names))
    return Timing(series, strongest, clock="parent", cache=draw(st.sampled_from(["cold", "warm"])))


@st.composite
def receipts(draw):
    payload = draw(st.none() | st.binary(max_size=40))
    roots = tuple(draw(st.lists(text, max_size=2)))
    task = Task(draw(text), draw(text), draw(text), draw(text), payload, roots)
    candidate = Candidate(draw(text), draw(text), draw(text))
    status = draw(st.sampled_from(Status))
    passed = status is Status.PASSED
    numerics = st.builds(Numerics, errors, errors, errors, said)
    facts = draw(st.dictionaries(text, scalars, max_size=3))
    told = st.dictionaries(text, scalars | st.lists(st.integers(), max_size=2), max_size=2)
    shares = st.none() | st.floats(0, 1)
    conditions = st.builds(Conditions, shares, shares, told, told)
    evaluation = Evaluation(
        task=task.digest,
        workload=draw(text),
        candidate=candidate.digest,
        status=status,
        reasons=() if passed else tuple(map(reason, draw(said.filter(bool)))),
        environment=Environment(draw(st.sampled_from(["cpu", "cuda:sm_90", "cuda:1"])), facts),
        seed=draw(st.integers(0, 2**63)),
        judge_version=draw(st.integers(1, 9)),
        kinds=draw(said),
        warnings=tuple(map(warned, draw(said))),
        numerics=draw(st.none() | numerics),
        timing=draw(st.none() | timings()) if passed else None,
        cost=Cost(draw(seconds), draw(seconds), draw(seconds)),
        guarantees=draw(said),
        conditions=draw(st.none() | conditions),
    )
    return Receipt(task, candidate, evaluation)


@given(receipts())
def test_what_is_written_is_read(receipt):
    read = Receipt.from_json(receipt.to_json())
    assert read == receipt
    assert read.task.import_roots == receipt.task.import_roots
    assert read.settings == receipt.settings


@pytest.fixture
def receipt():
    candidate = proposal().candidate
    facts = {"threads": 2, "cache": "cold", "torch": "2.13"}
    return Receipt(
        TASK, candidate, verdict(candidate, environment=Environment("cuda:sm_90:1", facts))
    )


def test_the_file_holds_what_a_reader_wants_to_know(receipt, tmp_path):
    path = receipt.write(tmp_path / "new folder" / "receipt.json")
    assert Receipt.read(path) == receipt
    told = json.loads(path.read_text())
    assert told["task"]["source"] == TASK.source and told["task"]["digest"] == TASK.digest
    assert told["candidate"]["source"] == receipt.candidate.source
    assert told["settings"] == {"device": "cuda:1", "threads": 2, "cache": "cold"}
    assert told["verdict"]["timing"]["samples_ns"]["eager"] == [20, 22, None]
    assert told["speedup"]["compile"]["median"] == receipt.evaluation.speedup.median
    assert told["written_by"].startswith("kernelwright ")


def test_a_receipt_of_the_first_version_is_read(receipt):
    told = json.loads(receipt.to_json())
    told["version"] = 1
    del told["verdict"]["conditions"], told["digest"]
    told["digest"] = digest("receipt", json.dumps(told, sort_keys=True))
    assert Receipt.from_json(json.dumps(told)) == receipt


def test_reasons_and_warnings_of_before_the_codes_get_codes(receipt):
    told = json.loads(receipt.to_json())
    why = "on negated inputs: the output is off by 0.5"
    verdict = told["verdict"] | {"status": "wrong_values", "reasons": [why], "timing": None}
    verdict["warnings"] = ["degenerate task: output 0 is constant", "said by nobody"]
    told |= {"version": 2, "verdict": verdict, "speedup": {}}
    del told["digest"]
    told["digest"] = digest("receipt", json.dumps(told, sort_keys=True))
    found = Receipt.from_json(json.dumps(told)).evaluation
    assert found.reasons == (Reason(ReasonCode.OUTPUT_VALUES, why),)
    assert [one.code for one in found.warnings] == ["degenerate_task", "unclassified"]
    assert [one.detail for one in found.warnings] == verdict["warnings"]


def test_a_verdict_on_another_candidate_makes_no_receipt(receipt):
    with pytest.raises(ValueError, match="another"):
        replace(receipt, candidate=Candidate("class ModelNew: pass", "cpp"))


def change(*path, to):
    """A change of one value, with the file sealed by whoever made it or not."""

    def apply(told):
        for key in path[:-1]:
            told = told[key]
        told[path[-1]] = to

    return apply


def remove(*path):
    def apply(told):
        for key in path[:-1]:
            told = told[key]
        del told[path[-1]]

    return apply


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return {"deep": value}


FINE = {"code": "unclassified", "detail": "fine"}

CHANGES = {
    "the candidate's text": (change("candidate", "source", to="x"), "candidate's text"),
    "the task's text": (change("task", "source", to="x"), "task's text"),
    "the payload": (change("task", "payload", to="AAAA"), "task's text"),
    "a payload that is no base64": (change("task", "payload", to="?"), "base64"),
    "a reason": (change("verdict", "warnings", to=[FINE]), "its digest"),
    "a sample": (change("verdict", "timing", "samples_ns", "eager", to=[9, 9, 9]), "speedup"),
    "samples that are none": (change("verdict", "timing", "samples_ns", to="abc"), ""),
    "a series too short": (change("verdict", "timing", "samples_ns", "eager", to=[9]), ""),
    "a speedup": (change("speedup", "compile", "median", to=99.0), "speedup"),
    "the settings": (change("settings", "threads", to=64), "settings"),
    "a status that is none": (change("verdict", "status", to="fast"), "fast"),
    "a status that carries no time": (change("verdict", "status", to="timeout"), "timeout"),
    "a source that is no text": (change("candidate", "source", to=7), "Expected `str`"),
    "an entry that is no text": (change("task", "entry", to=["x"]), "at `$.entry`"),
    "kinds that are no text": (change("verdict", "kinds", to=[1]), "at `$.kinds[0]`"),
    "samples of nothing": (
        change("verdict", "timing", "samples_ns", "candidate", to=[0, 0, 0]),
        "0",
    ),
    "a sample below nothing": (
        change("verdict", "timing", "samples_ns", "eager", to=[-9, 1, 1]),
        "-9",
    ),
    "a sample of ages": (
        change("verdict", "timing", "samples_ns", "eager", to=[10**400]),
        "sample",
    ),
    "a sample that is none": (
        change("verdict", "timing", "samples_ns", "eager", to=[True]),
        "got `bool`",
    ),
    "an error beyond numbers": (
        change("verdict", "numerics", "max_error", to=10**400),
        "out of range",
    ),
    "a strongest that is none": (change("verdict", "timing", "strongest", to="nosuch"), "nosuch"),
    "itself the strongest": (change("verdict", "timing", "strongest", to="candidate"), "strongest"),
    "a device that is none": (change("verdict", "environment", "device", to="tpu"), "tpu"),
    "threads below nothing": (change("verdict", "environment", "facts", "threads", to=-3), "-3"),
    "threads that are none": (change("verdict", "environment", "facts", "threads", to="2"), "'2'"),
    "a cache that is none": (change("verdict", "environment", "facts", "cache", to="hot"), "hot"),
    "facts too deep": (change("verdict", "environment", "facts", to=nested(900)), ""),
    "a part that is gone": (remove("verdict", "numerics"), "numerics"),
    "conditions that are gone": (remove("verdict", "conditions"), "verdict"),
    "a part that nobody knows": (change("verdict", "mood", to="good"), "verdict: not what follows"),
    "a noun that is none": (change("task", to=[]), ""),
    "the date": (change("written_at", to="yesterday"), "its digest"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_what_was_changed_is_one_clear_error(receipt, case):
    apply, seen = CHANGES[case]
    told = json.loads(receipt.to_json())
    apply(told)
    with pytest.raises(ReceiptError) as error:
        Receipt.from_json(json.dumps(told), where="r.json")
    assert "r.json" in error.value.what and "damaged" in error.value.what
    assert seen in error.value.seen and error.value.do and error.value.exit_code == 2


BAD = {
    "cut off": ('{"format": "kernelwright receipt", "ver', "damaged"),
    "empty": ("", "damaged"),
    "too deep": ("[" * 100_000, "damaged"),
    "another JSON file": ('{"status": "passed"}', "not a receipt"),
    "a list": ("[]", "not a receipt"),
    "newer": (json.dumps({"format": "kernelwright receipt", "version": VERSION + 1}), "newer"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_file_that_is_no_receipt_is_one_clear_error(case):
    content, what = BAD[case]
    with pytest.raises(ReceiptError) as error:
        Receipt.from_json(content)
    assert what in error.value.what and error.value.seen and error.value.do


def test_a_file_that_is_not_there_or_not_text(tmp_path):
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "nothing.json", tmp_path, binary):
        with pytest.raises(ReceiptError, match="cannot be read"):
            Receipt.read(path)
