"""What is stored of a command line holds no password, and is otherwise as it was given."""

import pytest

from kernelwright.core.secrets import masked

WORDS = {
    "--archive=postgresql://me:hunter2@server/x": "--archive=postgresql://me:***@server/x",
    "postgresql://me:hun/t?er@2@server:5432/x": "postgresql://me:***@server:5432/x",
    "sqlite:///x?timeout=3&sslpassword=hunter2&a=b": "sqlite:///x?timeout=3&sslpassword=***&a=b",
    "http://server/v1?api_key=hunter2": "http://server/v1?api_key=***",
    "postgresql://me@server:5432/x?sslmode=require": None,
    "sqlite:////home/me/a:b@c.sqlite": None,
    "folder/a:b@c?key=d": None,
}


@pytest.mark.parametrize("word", WORDS)
def test_secrets_of_urls_are_masked_and_nothing_else(word):
    assert masked(word) == (WORDS[word] or word)
