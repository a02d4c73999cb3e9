"""Secrets in what is shown and stored: an archive's URL may hold a password, or a key."""

from __future__ import annotations

import re
import shlex
import sys

_OF_A_USER = re.compile(r"(://[^:/@]*):.*@", re.DOTALL)
_OF_A_QUERY = re.compile(
    r"([?&][^=&]*(?:pass|pwd|token|secret|key|credential)[^=&]*=)[^&]*", re.IGNORECASE
)
"""Values whose names say what they are: ``sslpassword``, ``api_key``."""


def masked(word: str) -> str:
    """A URL, or a word of a command line that holds one, without its passwords and keys."""
    if "://" not in word:
        return word
    return _OF_A_QUERY.sub(r"\1***", _OF_A_USER.sub(r"\1:***@", word))


def command_line() -> str:
    """The command that this process was called with, as it may be stored."""
    return shlex.join(["kernelwright", *map(masked, sys.argv[1:])])
