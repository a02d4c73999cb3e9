"""Secrets in what is shown, stored and handed on: an archive's URL may hold a password, or a key,
and so may variables of the environment."""

from __future__ import annotations

import os
import re
import shlex
import sys

_OF_A_USER = re.compile(r"(://[^:/@]*):.*@", re.DOTALL)
_OF_A_QUERY = re.compile(
    r"([?&][^=&]*(?:pass|pwd|token|secret|key|credential)[^=&]*=)[^&]*", re.IGNORECASE
)
"""Values whose names say what they are: ``sslpassword``, ``api_key``."""
_VARIABLE = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$")


def masked(word: str) -> str:
    """A URL, or a word of a command line that holds one, without its passwords and keys."""
    if "://" not in word:
        return word
    return _OF_A_QUERY.sub(r"\1***", _OF_A_USER.sub(r"\1:***@", word))


def command_line() -> str:
    """The command that this process was called with, as it may be stored."""
    return shlex.join(["kernelwright", *map(masked, sys.argv[1:])])


def names_a_secret(variable: str) -> bool:
    """Whether the name of a variable of the environment says that its value is secret."""
    return _VARIABLE.search(variable) is not None


def open_environment() -> dict[str, str]:
    """This process's environment without such variables: for programs that others wrote."""
    return {name: value for name, value in os.environ.items() if not names_a_secret(name)}
