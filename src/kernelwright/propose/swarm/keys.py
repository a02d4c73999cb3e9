"""Keys of providers: read from the environment when a model is asked, and kept out of all text."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

HIDDEN = "[key]"
MIN_LENGTH = 6  # a shorter value is no secret, and replacing it would garble prompts
_LOOKS_LIKE_A_KEY = re.compile(r"\b(sk|key|AIza)[-_A-Za-z0-9*.]{12,}")


@cache
def providers() -> Mapping[str, Mapping[str, Any]]:
    """The table of providers, by name."""
    return tomllib.loads((Path(__file__).parent / "providers.toml").read_text())


def find_key(variables: Sequence[str]) -> str | None:
    """The value of the first of ``variables`` that is set."""
    return next((os.environ[name] for name in variables if os.environ.get(name)), None)


def without_keys(text: str) -> str:
    """``text`` with every known provider's key, as this process has it, hidden."""
    for provider in providers().values():
        for name in provider["keys"]:
            value = os.environ.get(name, "")
            if len(value) >= MIN_LENGTH:
                text = text.replace(value, HIDDEN)
    return text


def printable_error(text: str, limit: int = 300) -> str:
    """A server's complaint, short, without keys; some servers quote a part of the wrong key."""
    text = _LOOKS_LIKE_A_KEY.sub(HIDDEN, without_keys(" ".join(text.split())))
    return text if len(text) <= limit else text[: limit - 1] + "…"
