"""Failures of a server give replies that say so, and no call is paid for twice."""

import time

import pytest
from tests.null.swarm.scripted import fail, garbage, half, refuse, say, slow

from kernelwright.core.call import Outcome
from kernelwright.core.errors import ProposerError
from kernelwright.llm import server
from kernelwright.llm.keys import providers
from kernelwright.llm.opening import open_endpoint

ASK = (("system", "be brief"), ("user", "a kernel"))


def ask(scripted, timeout_s=5.0):
    endpoint = open_endpoint(scripted.model)
    return endpoint.ask(ASK, endpoint.parameters(seed=7), timeout_s)


def test_an_answer_has_token_counts_and_the_request_its_parameters(scripted):
    scripted.script = [say("some code", reads=11, writes=3)]
    reply = ask(scripted)
    assert (reply.answer, reply.outcome) == ("some code", Outcome.ANSWERED)
    assert (reply.input_tokens, reply.output_tokens) == (11, 3)
    (sent,) = scripted.requests
    assert sent["model"] == "scripted" and sent["seed"] == 7 and sent["temperature"] == 0.7
    assert [m["role"] for m in sent["messages"]] == ["system", "user"]


def test_too_many_requests_waits_as_long_as_the_server_says(scripted):
    scripted.script = [fail(429, "slow down", Retry_After="0.3"), say("ok")]
    began = time.monotonic()
    assert ask(scripted).answer == "ok"
    assert time.monotonic() - began >= 0.3 and len(scripted.requests) == 2


def test_a_wait_beyond_the_time_left_is_not_begun(scripted):
    scripted.script = [fail(429, "slow down", Retry_After="3600")]
    reply = ask(scripted)
    assert reply.outcome is Outcome.FAILED and "slow down" in reply.detail
    assert (reply.input_tokens, reply.output_tokens) == (0, 0)


def test_a_failing_server_is_retried_and_then_given_up(scripted):
    scripted.script = [fail(503, "loading the model"), say("ok")]
    assert ask(scripted).answer == "ok"
    scripted.script = [fail(500, "broken")]
    scripted.requests.clear()
    assert ask(scripted).outcome is Outcome.FAILED and len(scripted.requests) == 4


def test_a_time_out_is_not_retried_because_it_may_be_billed(scripted):
    scripted.script = [slow(3, say("late"))]
    reply = ask(scripted, timeout_s=1.0)
    assert reply.outcome is Outcome.FAILED and "1 s" in reply.detail
    assert reply.input_tokens is None and len(scripted.requests) == 1


def test_a_broken_stream_counts_as_a_cut_answer(scripted):
    scripted.script = [half("def half(")]
    reply = ask(scripted)
    assert (reply.outcome, reply.answer) == (Outcome.CUT, "def half(")
    assert reply.detail and len(scripted.requests) == 1


def test_the_token_limit_cuts_an_answer(scripted):
    scripted.script = [say("def half(", ended="length")]
    assert "limit" in ask(scripted).detail


@pytest.mark.parametrize("step", [refuse("I cannot help"), say("", ended="content_filter")])
def test_a_refusal_is_reported_as_refused(scripted, step):
    scripted.script = [step]
    assert ask(scripted).outcome is Outcome.REFUSED


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>login</html>", b"data: {not json\n\n", b'data: {"error": {"message": "no"}}\n\n'],
)
def test_a_protocol_violation_is_a_failure(scripted, body):
    scripted.script = [garbage(body)]
    assert ask(scripted).outcome is Outcome.FAILED


def test_nul_and_invalid_utf8_are_removed_from_an_answer(scripted):
    scripted.script = [say("a\0b\ud800c")]
    assert ask(scripted).answer == "ab?c"


def test_an_endpoint_that_died_is_a_failure(scripted):
    scripted.die()
    reply = ask(scripted)
    assert reply.outcome is Outcome.FAILED and reply.detail


@pytest.mark.parametrize(("status", "remedy"), [(401, "VLLM_API_KEY"), (404, "model's name")])
def test_a_permanent_error_is_raised_without_the_key(scripted, monkeypatch, status, remedy):
    monkeypatch.setenv("VLLM_API_KEY", "secret-of-mine-1234")
    scripted.script = [fail(status, "Incorrect API key: secret-of-mine-1234, sk-abc****wxyz12345")]
    with pytest.raises(ProposerError) as raised:
        ask(scripted)
    assert remedy in raised.value.do and len(scripted.requests) == 1
    assert "secret-of-mine" not in str(raised.value) and "sk-abc" not in str(raised.value)


def test_each_provider_gets_its_own_key_and_no_other(scripted, monkeypatch):
    url, _, _ = scripted.model.partition("#")
    monkeypatch.setitem(providers()["openai"], "url", url)
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-anthropic")
    open_endpoint("openai:gpt").ask(ASK, {"max_output_tokens": 5}, 5.0)
    ask(scripted)
    first, second = (str(request["headers"]) for request in scripted.requests)
    assert "key-of-openai" in first and "key-of-anthropic" not in first
    assert "key-of" not in second


def test_a_key_in_a_prompt_is_hidden(scripted, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
    endpoint = open_endpoint(scripted.model)
    endpoint.ask((("user", "TOKEN = 'key-of-openai'"),), endpoint.parameters(0), 5.0)
    assert scripted.requests[0]["messages"][0]["content"] == "TOKEN = '[key]'"


def test_no_retry_begins_after_the_budget(scripted, monkeypatch):
    monkeypatch.setattr(server, "WAITS_S", (0.1, 60.0))
    scripted.die()
    endpoint = open_endpoint(scripted.model)
    began = time.monotonic()
    reply = endpoint.ask(ASK, endpoint.parameters(0), 120.0, 2.0)
    assert reply.outcome is Outcome.FAILED and time.monotonic() - began < 30
