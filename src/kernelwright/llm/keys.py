"""API keys: read from the environment when a model is asked, and removed from all stored text."""

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
MIN_LENGTH = 6
"""Shortest value that is hidden: a shorter one is no secret, and replacing it would garble
prompts."""
MIN_OTHERS_LENGTH = 16
"""Shortest value that is hidden because of its variable's name alone."""
_BEGINNINGS = ("sk", "key", "AIza", "hf_", "gh[opsur]_", "github_pat_", "gsk_", "nvapi-", "xai-")
"""Prefixes of keys in the documentation of their providers."""
_LOOKS_LIKE_A_KEY = re.compile(
    rf"\b(?:{'|'.join(_BEGINNINGS)})[-_A-Za-z0-9*.]{{12,}}"
    r"|\b[Bb]earer\s+(?=\S*\d)[-\w.~+/=*]{8,}"  # an ordinary word after "bearer" has no digits
)


@cache
def providers() -> Mapping[str, Mapping[str, Any]]:
    """Return the table of providers, by name."""
    return tomllib.loads((Path(__file__).parent / "providers.toml").read_text())


def find_key(variables: Sequence[str]) -> str | None:
    """Return the value of the first environment variable in ``variables`` that is set."""
    return next((os.environ[name] for name in variables if os.environ.get(name)), None)


def without_keys(text: str) -> str:
    """Replace every secret of this process's environment in ``text``.

    Secrets are the keys of known providers and the values of variables with telling names.
    """
    known = {name for provider in providers().values() for name in provider["keys"]}
    secrets = [
        value
        for name, value in os.environ.items()
        if (name in known and len(value) >= MIN_LENGTH)
        or (names_a_secret(name) and len(value) >= MIN_OTHERS_LENGTH)
    ]
    for secret in sorted(secrets, key=len, reverse=True):  # one may be a prefix of another
        text = text.replace(secret, HIDDEN)
    return text


def printable_error(text: str, limit: int = 300) -> str:
    """Shorten a server's error text and remove keys; some servers quote part of a wrong key."""
    text = _LOOKS_LIKE_A_KEY.sub(HIDDEN, without_keys(" ".join(text.split())))
    return text if len(text) <= limit else text[: limit - 1] + "…"
