"""Endpoints: language models that can be asked, and the parts of the name that a user gives."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

from kernelwright.core.call import Outcome
from kernelwright.core.errors import UsageError, nearest
from kernelwright.llm.keys import providers

Messages = Sequence[tuple[str, str]]
"""(role, text) of every message, oldest first."""
FORMS = "openai:NAME, anthropic:NAME, google:NAME, http://localhost:8000/v1#NAME, or hf:FOLDER"
CHECKPOINT = "hf"


@dataclass(frozen=True)
class Reply:
    """A model's answer, or the reason why it gave none. Tokens are None if nothing counted them."""

    answer: str
    outcome: Outcome
    detail: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None


class Endpoint(Protocol):
    """One model that can be asked, by several threads at once."""

    name: str
    """The model's name as the user gave it."""
    is_local: bool
    """Whether the model runs on this machine, beside the judge."""

    @property
    def sees(self) -> bool:
        """Whether pictures are sent to the model.

        A server gets pictures until it has refused one and answered without it. After a temporary
        failure the next question shows them again.
        """
        ...

    def parameters(self, seed: int) -> Mapping[str, Any]:
        """Return the request's parameters: 'max_output_tokens', and others that the model accepts.

        A caller may add 'pictures': files for models that accept pictures.
        """
        ...

    def ask(
        self,
        messages: Messages,
        parameters: Mapping[str, Any],
        timeout_s: float,
        patience_s: float = math.inf,
    ) -> Reply:
        """Ask the model and return its answer within about ``timeout_s``; a failure is a Reply too.

        No further attempt is begun after ``patience_s``.

        Raises:
            ProposerError: the model can never answer, because of a wrong key or a wrong name.
        """
        ...


@dataclass(frozen=True)
class Address:
    """The parts of a model's name."""

    provider: str
    """A name in ``providers.toml``, or 'hf'."""
    url: str
    model: str

    @property
    def is_local(self) -> bool:
        host = urlsplit(self.url).hostname or ""
        is_loopback = host in ("localhost", "::1") or host.startswith("127.")
        return self.provider == CHECKPOINT or is_loopback


def parse(name: str) -> Address:
    """Parse a model's name.

    Raises:
        UsageError: the text is not a model's name, or it contains a password.
    """
    kind, _, rest = name.partition(":")
    if kind in ("http", "https"):
        url, _, model = name.partition("#")
        split = urlsplit(url)
        if split.username or split.password or split.query:
            raise UsageError(
                "a model's name contains a secret, and names are stored",
                seen=f"{split.scheme}://…@{split.hostname}",
                do=f"set the key in {' or '.join(providers()['server']['keys'])}",
            )
        if not split.hostname or not model:
            raise UsageError(f'"{name}" names no model', seen=name, do=f"write {FORMS}")
        return Address("server", url, model)
    hosted = [known for known, row in providers().items() if row["url"]]
    if kind not in (*hosted, CHECKPOINT) or not rest:
        near = nearest(kind, [*hosted, CHECKPOINT, "http"])
        raise UsageError(f'"{name}" is not a model', seen=name, do=f"{near} Write {FORMS}")
    return Address(kind, "" if kind == CHECKPOINT else providers()[kind]["url"], rest)
