"""Endpoints: a model by the name that the user gives it, ready to be asked."""

from __future__ import annotations

import importlib.util
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol
from urllib.parse import urlsplit

from kernelwright.core.call import Outcome
from kernelwright.core.errors import ProposerError, UsageError, nearest
from kernelwright.llm.keys import find_key, providers

Messages = Sequence[tuple[str, str]]
"""(role, text) of every message, oldest first."""
FORMS = "openai:NAME, anthropic:NAME, google:NAME, http://localhost:8000/v1#NAME, or hf:FOLDER"
CHECKPOINT = "hf"


@dataclass(frozen=True)
class Reply:
    """What a model said, or why it did not. Tokens are None where nobody counted them."""

    answer: str
    outcome: Outcome
    detail: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None


class Endpoint(Protocol):
    """One model that can be asked, by several threads at once."""

    name: str
    """As the user gave it."""
    is_local: bool
    """Whether it runs on this machine, beside the judge."""

    @property
    def sees(self) -> bool:
        """Whether it is shown pictures; of a server, until it has refused one and answered without;
        where it only broke down once, the next question shows them again."""
        ...

    def parameters(self, seed: int) -> Mapping[str, Any]:
        """What is sent beside the messages: 'max_output_tokens', and what the model takes.

        A caller may add 'pictures', files that are shown to models that see.
        """
        ...

    def ask(
        self,
        messages: Messages,
        parameters: Mapping[str, Any],
        timeout_s: float,
        patience_s: float = math.inf,
    ) -> Reply:
        """The answer, within about ``timeout_s``. A failure is a Reply too.

        After ``patience_s`` no other try is begun.

        Raises:
            ProposerError: it can never answer: a wrong key, no such model.
        """
        ...


@dataclass(frozen=True)
class Address:
    """A model's name, taken apart."""

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
    """The address behind a model's name.

    Raises:
        UsageError: not a model's name, or one that holds a password.
    """
    kind, _, rest = name.partition(":")
    if kind in ("http", "https"):
        url, _, model = name.partition("#")
        split = urlsplit(url)
        if split.username or split.password or split.query:
            raise UsageError(
                "a model's name holds a secret, and would be stored",
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


@cache
def open_endpoint(name: str) -> Endpoint:
    """The model behind ``name``; a local checkpoint is loaded once.

    Raises:
        UsageError: not a model's name.
        ProposerError: its package or its key is missing.
    """
    address = parse(name)
    if address.provider == CHECKPOINT:
        _need("transformers", "local checkpoints", "pip install transformers")
        from kernelwright.llm.checkpoint import CheckpointEndpoint

        return CheckpointEndpoint(name, address)
    _need("openai", "models that a server holds", "pip install 'kernelwright[swarm]'")
    variables = providers()[address.provider]["keys"]
    if address.provider != "server" and find_key(variables) is None:
        raise ProposerError(
            f"no key for {name}",
            seen=f"{' and '.join(variables)} not set",
            do=f"export {variables[0]}=…, as the provider gave it",
        )
    if address.url.startswith("http:") and not address.is_local and find_key(variables):
        warnings.warn(
            f"the key goes to {urlsplit(address.url).hostname} as it is, for everybody on the way "
            f"to read: write https, or unset {' and '.join(variables)}",
            stacklevel=2,
        )
    from kernelwright.llm.server import ServerEndpoint

    return ServerEndpoint(name, address)


def _need(package: str, purpose: str, remedy: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise ProposerError(f"{purpose} need {package}", seen="not installed", do=remedy)
