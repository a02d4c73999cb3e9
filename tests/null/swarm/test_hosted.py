"""Answers of hosted providers' OpenAI-compatible endpoints, replayed by a server.

Source:
    docs.anthropic.com/en/api/openai-sdk; ai.google.dev/gemini-api/docs/openai; the shapes of
    Google's errors and counts as users saw them: FoundationAgents/OpenManus#916,
    cequence-io/openai-scala-client#109, ogx-ai/ogx#5122, mozilla-ai/any-llm#1290.
"""

import time

import pytest
from tests.null.swarm.scripted import chunks, fail, fail_with, say

from kernelwright.core.call import Outcome
from kernelwright.core.errors import ProposerError
from kernelwright.llm.keys import providers
from kernelwright.llm.opening import open_endpoint

ASK = (("system", "be brief"), ("user", "a kernel"))
KEYS = {"anthropic": "ANTHROPIC_API_KEY", "google": "GEMINI_API_KEY"}


@pytest.fixture
def ask(scripted, monkeypatch):
    """Ask a provider through a local endpoint."""

    def asked(provider, timeout_s=5.0):
        url, _, _ = scripted.model.partition("#")
        monkeypatch.setitem(providers()[provider], "url", url)
        monkeypatch.setenv(KEYS[provider], f"key-of-{provider}")
        endpoint = open_endpoint(f"{provider}:model-1")
        return endpoint.ask(ASK, endpoint.parameters(seed=7), timeout_s)

    return asked


@pytest.mark.parametrize("provider", KEYS)
def test_a_provider_gets_its_key_and_only_what_it_knows(ask, scripted, provider):
    scripted.script = [say("some code")]
    assert ask(provider).outcome is Outcome.ANSWERED
    (sent,) = scripted.requests
    assert sent["headers"]["authorization"] == f"Bearer key-of-{provider}"
    assert sent.keys() - {"headers"} == {
        "model", "messages", "stream", "stream_options", "max_completion_tokens",
    }  # fmt: skip


def test_geminis_running_totals_and_thinking_tokens_are_counted(ask, scripted):
    first = {"prompt_tokens": 20, "completion_tokens": 90, "total_tokens": 515}
    last = {"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 623}
    scripted.script = [
        chunks(
            ({"delta": {"role": "assistant", "content": "some "}}, first),
            ({"delta": {"role": "assistant", "content": "code"}, "finish_reason": "stop"}, last),
        )
    ]
    reply = ask("google")
    assert (reply.answer, reply.outcome) == ("some code", Outcome.ANSWERED)
    assert (reply.input_tokens, reply.output_tokens) == (20, 603)


def test_a_wrong_key_for_google_is_one_error_though_its_status_is_400(ask, scripted):
    message = "API key not valid. Please pass a valid API key."
    scripted.script = [
        fail_with(400, [{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}])
    ]
    with pytest.raises(ProposerError) as raised:
        ask("google")
    assert "GEMINI_API_KEY" in raised.value.do and len(scripted.requests) == 1
    assert "key-of" not in str(raised.value)


def test_a_request_that_google_cannot_read_is_a_failure_of_that_call(ask, scripted):
    scripted.script = [fail_with(400, [{"error": {"code": 400, "message": "unknown field"}}])]
    assert ask("google").outcome is Outcome.FAILED and len(scripted.requests) == 1


def test_google_says_in_the_text_how_long_to_wait(ask, scripted):
    delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.3s"}
    error = {"code": 429, "message": "exhausted", "status": "RESOURCE_EXHAUSTED"}
    scripted.script = [fail_with(429, [{"error": error | {"details": [delay]}}]), say("ok")]
    began = time.monotonic()
    assert ask("google").answer == "ok"
    assert time.monotonic() - began >= 0.3 and len(scripted.requests) == 2


def test_an_overloaded_anthropic_is_asked_again_and_a_wrong_key_is_not(ask, scripted):
    scripted.script = [fail(529, "Overloaded"), say("ok")]
    assert ask("anthropic").answer == "ok" and len(scripted.requests) == 2
    scripted.script = [fail(401, "invalid x-api-key")]
    with pytest.raises(ProposerError) as raised:
        ask("anthropic")
    assert "ANTHROPIC_API_KEY" in raised.value.do
