"""The users of a service: who may ask for what, and how much at a time."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import tomllib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from kernelwright.core.errors import UsageError


class User(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the users' file."""

    token_sha256: str
    """The token's digest: the file holds no token."""
    most_jobs: int = 4
    """How many jobs may wait or run at a time."""
    may_search: bool = False
    """A task's text runs with the server's rights; a candidate's runs in the sandbox."""


@dataclass(frozen=True)
class Caller:
    """Whom a request is from."""

    name: str
    user: User


LOCAL = Caller("local", User("", most_jobs=100, may_search=True))
"""Everybody, where the service has no users' file and listens to its own machine only."""


class Users:
    """The users' file: a TOML table for each user."""

    def __init__(self, path: Path) -> None:
        """Read the file.

        Raises:
            UsageError: it cannot be read, or a row does not fit.
        """
        try:
            rows = tomllib.loads(path.read_text())
            self._users = msgspec.convert(rows, dict[str, User])
        except (OSError, ValueError, msgspec.ValidationError) as error:
            raise UsageError(
                f"{path} is no list of users",
                seen=str(error)[:200],
                do="`kernelwright serve --new-token NAME` prints a row for it",
            ) from error

    def of(self, token: str) -> Caller | None:
        """Return the user with this token; every row is compared, so that the time says nothing."""
        digest = _digest(token)
        found = [
            Caller(name, user)
            for name, user in self._users.items()
            if hmac.compare_digest(user.token_sha256, digest)
        ]
        return found[0] if found else None


def new_row(name: str) -> tuple[str, str]:
    """Return a new token, and the row for the users' file."""
    token = secrets.token_urlsafe(32)
    key = msgspec.json.encode(name).decode()
    row = f'[{key}]\ntoken_sha256 = "{_digest(token)}"\nmost_jobs = 4\nmay_search = false\n'
    return token, row


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
