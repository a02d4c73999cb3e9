"""Keys are kept out of prompts, archives and reports."""

import warnings

import pytest

from kernelwright.llm.keys import printable_error, without_keys
from kernelwright.llm.opening import open_endpoint

LOOK_LIKE_KEYS = [
    "sk-abc****wxyz12345",
    "sk-ant-api03-abcdefghijkl",
    "AIzaSyA1234567890abcdef",
    "hf_AbCdEfGhIjKlMnOpQrSt",
    "ghp_abcdefghijklmnop1234",
    "github_pat_11ABCDEFG0abcdefghijkl",
    "gsk_abcdefghijklmnop1234",
    "nvapi-abcdefghijklmnop1234",
    "xai-abcdefghijklmnop1234",
    "Bearer 0123456789abcdef",
    "bearer eyJhbGciOi.eyJzdWIi.sflKxwRJ5",
]


@pytest.mark.parametrize("key", LOOK_LIKE_KEYS)
def test_a_key_in_a_servers_error_is_hidden(key):
    assert printable_error(f"the key {key}, is wrong") == "the key [key], is wrong"


WORDS = [
    "Bearer authentication is required",
    "the half_precision_of_everything is not served",
    "no such model: hf_model",
    "a task with a long-name-and-more-of-it",
]


@pytest.mark.parametrize("words", WORDS)
def test_ordinary_words_are_not_hidden(words):
    assert printable_error(words) == words


@pytest.mark.parametrize("name", ["HF_TOKEN", "MISTRAL_API_KEY", "AWS_SECRET_ACCESS_KEY"])
def test_every_secret_of_the_environment_is_hidden(monkeypatch, name):
    monkeypatch.setenv(name, "of-another-provider-12")
    assert without_keys("TOKEN = 'of-another-provider-12'") == "TOKEN = '[key]'"
    assert printable_error("wrong: of-another-provider-12") == "wrong: [key]"


def test_a_key_that_is_a_prefix_of_another_is_hidden(monkeypatch):
    monkeypatch.setenv("A_API_KEY", "0123456789abcdef")
    monkeypatch.setenv("B_API_KEY", "0123456789abcdef-and-more")
    assert without_keys("0123456789abcdef-and-more") == "[key]"


@pytest.mark.parametrize(
    "name, value", [("SOME_TOKEN", "float32"), ("MAX_TOKENS", "0123456789abcdef"), ("A_KEY", "")]
)
def test_a_variable_that_is_no_secret_garbles_no_prompt(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert without_keys("x: float32 = 0123456789abcdef") == "x: float32 = 0123456789abcdef"


@pytest.mark.parametrize(
    ("url", "is_told"),
    [("http://10.0.0.7:8000/v1", True), ("https://10.0.0.7/v1", False), ("http://[::1]/v1", False)],
)
def test_sending_a_key_unencrypted_to_another_machine_warns(monkeypatch, url, is_told):
    monkeypatch.setenv("VLLM_API_KEY", "sk-0123456789abcdef0123456789abcdef")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        open_endpoint(f"{url}#model")
    texts = [str(each.message) for each in told if "the key is sent to" in str(each.message)]
    assert len(texts) == is_told and all("sk-" not in text for text in texts)
