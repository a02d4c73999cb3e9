"""Attached pictures reach models that accept them and do not stop other models."""

import base64
from dataclasses import replace

import pytest
from tests.null.swarm.briefs import BRIEF, answer
from tests.null.swarm.scripted import fail, say

from kernelwright.core.call import Call, Outcome
from kernelwright.core.errors import ProposerError, UsageError
from kernelwright.llm.attached import PICTURE_TOKENS
from kernelwright.llm.ledger import Ledger
from kernelwright.proposers.swarm import SwarmProposer

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def picture(tmp_path, at_once):
    path = tmp_path / "trace.png"
    path.write_bytes(PIXEL)
    return str(path)


def calls(scripted, picture, parts="reference,attached"):
    told = {"models": (scripted.model,), "contexts": (parts,)}
    proposer = SwarmProposer()
    brief = replace(BRIEF, attached=(picture,), **told)
    proposer.check(brief)
    return [item for item in proposer.propose(brief) if isinstance(item, Call)]


def shown(request):
    content = request["messages"][-1]["content"]
    return [] if isinstance(content, str) else [part for part in content if "image_url" in part]


def test_a_picture_goes_with_the_question_and_the_call_names_it(scripted, picture):
    scripted.script = [say(answer())]
    (call,) = calls(scripted, picture)
    ((part,),) = [shown(request) for request in scripted.requests]
    kind, _, data = part["image_url"]["url"].partition(";base64,")
    assert kind == "data:image/png" and base64.b64decode(data) == PIXEL
    assert call.parameters["pictures"] == [picture] and "pictures" not in scripted.requests[0]


def test_without_the_attached_part_no_picture_is_shown(scripted, picture):
    scripted.script = [say(answer())]
    calls(scripted, picture, parts="reference")
    assert [shown(request) for request in scripted.requests] == [[]]


@pytest.mark.parametrize("status", [400, 404, 413, 500])
def test_a_model_that_refuses_pictures_is_asked_without_them(scripted, picture, status):
    scripted.script = [fail(status, "image input is not supported"), say(answer())]
    (first,), (second,) = calls(scripted, picture), calls(scripted, picture)
    assert first.outcome is second.outcome is Outcome.ANSWERED
    assert "not supported" in first.detail
    assert "pictures" not in second.parameters
    assert [bool(shown(request)) for request in scripted.requests] == [True, False, False]


def test_a_server_that_broke_down_once_is_shown_the_next_picture(scripted, picture):
    scripted.script = [fail(500, "internal error"), say(answer())]
    (first,), (second,) = calls(scripted, picture), calls(scripted, picture)
    assert "without pictures: " in first.detail and not second.detail
    assert [bool(shown(request)) for request in scripted.requests] == [True, False, True]


def test_a_call_that_corrects_the_form_shows_no_picture(scripted, picture):
    scripted.script = [say("no code"), say(answer())]
    first, again = calls(scripted, picture)
    assert (again.purpose, "pictures" in again.parameters) == ("reformat", False)
    assert "pictures" in first.parameters
    assert [bool(shown(request)) for request in scripted.requests] == [True, False]


def test_a_server_that_fails_without_pictures_too_is_shown_them_again(scripted, picture):
    scripted.script = [fail(400, "no credit"), fail(400, "no credit"), say(answer())]
    (first,), (second,) = calls(scripted, picture), calls(scripted, picture)
    assert (first.outcome, second.outcome) == (Outcome.FAILED, Outcome.ANSWERED)
    assert [bool(shown(request)) for request in scripted.requests] == [True, False, True]


def test_a_model_that_the_server_does_not_have_is_an_error_with_pictures_too(scripted, picture):
    scripted.script = [fail(404, "no such model")]
    with pytest.raises(ProposerError, match="does not have this model"):
        calls(scripted, picture)
    assert [bool(shown(request)) for request in scripted.requests] == [True, False]


def test_a_reservation_counts_a_picture_at_its_maximum():
    ledger = Ledger(replace(BRIEF, budget_tokens=PICTURE_TOKENS))
    asked = (("user", "x"),)
    assert ledger.reserve("openai:x", asked, 1, n_pictures=1) is not None
    assert ledger.reserve("openai:x", asked, 1) is None


@pytest.mark.parametrize("name", ["missing.txt", "missing.png", "binary.bin", "large.png", "x.png"])
def test_an_unusable_attachment_is_refused_before_any_call(scripted, tmp_path, name):
    (tmp_path / "binary.bin").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "large.png").write_bytes(bytes(3_900_001))
    (tmp_path / "x.png").mkdir()
    with pytest.raises(UsageError, match=name):
        calls(scripted, str(tmp_path / name))
    assert scripted.requests == []
