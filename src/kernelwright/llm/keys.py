"""Keys of providers: read from the environment when a model is asked, and kept out of all text."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from kernelwright.core.secrets import names_a_secret

HIDDEN = "[key]"
MIN_LENGTH = 6  # a shorter value is no secret, and replacing it would garble prompts
MIN_OTHERS_LENGTH = 16  # of what only its variable's name says to be secret
_BEGINNINGS = ("sk", "key", "AIza", "hf_", "gh[opsur]_", "github_pat_", "gsk_", "nvapi-", "xai-")
"""Of keys, as their providers' documentation shows them."""
_LOOKS_LIKE_A_KEY = re.compile(
    rf"\b(?:{'|'.join(_BEGINNINGS)})[-_A-Za-z0-9*.]{{12,}}"
    r"|\b[Bb]earer\s+(?=\S*\d)[-\w.~+/=*]{8,}"  # a word after it has no digits
)


@cache
def providers() -> Mapping[str, Mapping[str, Any]]:
    """The table of providers, by name."""
    return tomllib.loads((Path(__file__).parent / "providers.toml").read_text())


def find_key(variables: Sequence[str]) -> str | None:
    """The value of the first of ``variables`` that is set."""
    return next((os.environ[name] for name in variables if os.environ.get(name)), None)


def without_keys(text: str) -> str:
    """``text`` with every key that this process has hidden: those of known providers, and what
    other variables' names say to be secret."""
    known = {name for provider in providers().values() for name in provider["keys"]}
    secrets = [
        value
        for name, value in os.environ.items()
        if (name in known and len(value) >= MIN_LENGTH)
        or (names_a_secret(name) and len(value) >= MIN_OTHERS_LENGTH)
    ]
    for secret in sorted(secrets, key=len, reverse=True):  # one may begin as another does
        text = text.replace(secret, HIDDEN)
    return text


def printable_error(text: str, limit: int = 300) -> str:
    """A server's complaint, short, without keys; some servers quote a part of the wrong key."""
    text = _LOOKS_LIKE_A_KEY.sub(HIDDEN, without_keys(" ".join(text.split())))
    return text if len(text) <= limit else text[: limit - 1] + "…"
