"""Opens the endpoint of a model by the name that the user gives."""

from __future__ import annotations

import importlib.util
import warnings
from functools import cache
from urllib.parse import urlsplit

from kernelwright.core.errors import ProposerError
from kernelwright.llm.endpoint import CHECKPOINT, Endpoint, parse
from kernelwright.llm.keys import find_key, providers


@cache
def open_endpoint(name: str) -> Endpoint:
    """Open the model of this name; a local checkpoint is loaded once.

    Raises:
        UsageError: the text is not a model's name.
        ProposerError: the model's package or key is missing.
    """
    address = parse(name)
    if address.provider == CHECKPOINT:
        _need("transformers", "local checkpoints", "pip install transformers")
        from kernelwright.llm.checkpoint import CheckpointEndpoint  # needs torch

        return CheckpointEndpoint(name, address)
    _need("openai", "models on a server", "pip install 'kernelwright[swarm]'")
    variables = providers()[address.provider]["keys"]
    if address.provider != "server" and find_key(variables) is None:
        raise ProposerError(
            f"no key for {name}",
            seen=f"{' and '.join(variables)} not set",
            do=f"export {variables[0]}=…, as the provider gave it",
        )
    if address.url.startswith("http:") and not address.is_local and find_key(variables):
        warnings.warn(
            f"the key is sent to {urlsplit(address.url).hostname} unencrypted: "
            f"write https, or unset {' and '.join(variables)}",
            stacklevel=2,
        )
    from kernelwright.llm.server import ServerEndpoint

    return ServerEndpoint(name, address)


def _need(package: str, purpose: str, remedy: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise ProposerError(f"{purpose} need {package}", seen="not installed", do=remedy)
