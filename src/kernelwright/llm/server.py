"""A model behind a server with OpenAI's chat completions API: a provider's, vLLM or llama.cpp."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import openai
from openai.types.chat import ChatCompletionChunk

from kernelwright.core.call import Outcome
from kernelwright.core.errors import ProposerError
from kernelwright.llm.attached import with_pictures
from kernelwright.llm.endpoint import Address, Messages, Reply
from kernelwright.llm.keys import find_key, printable_error, providers, without_keys

CONNECT_S = 10.0
WAITS_S = (1.0, 4.0, 16.0)
"""Seconds to wait before each further attempt if the server does not say how long. Only calls
without an answer, which cost nothing, are repeated; the library's own retries would also pay twice
after a time-out."""
NEVER = {401: "refuses the key", 403: "refuses the key", 404: "does not have this model"}
"""HTTP statuses after which a second attempt is useless."""
SEES_NOT = (400, 404, 413, 415, 422, 500)
"""HTTP statuses of servers whose model does not accept pictures. llama.cpp sends 500, proxies send
404, or 413 for a body that is too large."""
_PICTURE = re.compile(r"image|picture|vision|multi-?modal|mmproj", re.I)
"""Words in the error text of a server that will fail on every picture, not just once."""
BAD_KEY = "api key not"
"""Part of an error text that Google sends with status 400: "API key not valid", "API Key not
found"."""
_DELAY = re.compile(r"retryDelay\W+(\d+(?:\.\d+)?)s")


@dataclass
class _PartialReply:
    """The part of a streamed answer that has arrived so far."""

    pieces: list[str] = field(default_factory=list)
    refusal: str = ""
    ended: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None

    def add(self, chunk: ChatCompletionChunk) -> None:
        if chunk.usage is not None:  # Gemini sends running totals in every chunk
            self.input_tokens, written = chunk.usage.prompt_tokens, chunk.usage.completion_tokens
            # Gemini bills its thinking tokens but includes them only in the total.
            self.output_tokens = max(written, (chunk.usage.total_tokens or 0) - self.input_tokens)
        for choice in chunk.choices or ():
            self.pieces.append(choice.delta.content or "")
            self.refusal += choice.delta.refusal or ""
            self.ended = choice.finish_reason or self.ended

    def reply(self, detail: str = "") -> Reply:
        # A server may send any bytes; those that no database accepts are removed.
        answer = "".join(self.pieces).replace("\0", "").encode("utf-8", "replace").decode()
        if self.refusal or self.ended == "content_filter":
            outcome, detail = Outcome.REFUSED, self.refusal or "filtered by the provider"
        elif self.ended == "stop" and answer.strip():
            outcome, detail = Outcome.ANSWERED, ""
        elif answer.strip():
            limit = "at the limit of tokens" if self.ended == "length" else "the stream broke off"
            outcome, detail = Outcome.CUT, detail or limit
        else:
            outcome, detail = Outcome.FAILED, detail or "an empty answer"
        return Reply(
            answer, outcome, printable_error(detail), self.input_tokens, self.output_tokens
        )


class ServerEndpoint:
    """One model on one server."""

    def __init__(self, name: str, address: Address) -> None:
        self.name = name
        self.is_local = address.is_local
        self._model = address.model
        self._is_blind = False
        self._row = providers()[address.provider]
        # A server that the user named by URL must not get the key of another provider.
        key = find_key(self._row["keys"]) or "none"
        self._client = openai.OpenAI(
            api_key=key, base_url=address.url, organization="", project="", max_retries=0
        )

    @property
    def sees(self) -> bool:
        return not self._is_blind

    def parameters(self, seed: int) -> Mapping[str, Any]:
        parameters: dict[str, Any] = {"max_output_tokens": self._row["max_output_tokens"]}
        if "temperature" in self._row:
            parameters |= {"temperature": self._row["temperature"], "seed": seed}
        return parameters

    def ask(
        self,
        messages: Messages,
        parameters: Mapping[str, Any],
        timeout_s: float,
        patience_s: float = math.inf,
    ) -> Reply:
        deadline = time.monotonic() + timeout_s
        last_try = time.monotonic() + min(timeout_s, patience_s)
        waits, blind, is_lasting = list(WAITS_S), "", False
        pictures = parameters.get("pictures", []) if self.sees else []
        while True:
            try:
                reply = self._listen(messages, parameters, pictures, deadline)
                if reply.outcome is not Outcome.FAILED:  # else pictures were not the cause
                    self._is_blind |= is_lasting
                return replace(reply, detail=reply.detail or blind)
            except openai.APITimeoutError:
                # The prompt's tokens are counted, since the server may have worked and bill them.
                return Reply("", Outcome.FAILED, f"no answer in {timeout_s:.0f} s")
            except (openai.APIStatusError, openai.APIConnectionError) as error:
                status = getattr(error, "status_code", None)
                if pictures and status in SEES_NOT:
                    pictures = []  # if pictures are not the cause, the server fails again
                    complaint = printable_error(_complaint(error))
                    blind = f"without pictures: {complaint}"
                    is_lasting = status < 500 or bool(_PICTURE.search(complaint))
                    continue
                reply = self._explain(error)
                wait_s = _wait_s(error, waits.pop(0) if waits else None)
                if wait_s is None or time.monotonic() + wait_s >= last_try:
                    return reply
                time.sleep(wait_s)

    def _listen(
        self,
        messages: Messages,
        parameters: Mapping[str, Any],
        pictures: Sequence[str],
        deadline: float,
    ) -> Reply:
        left_s = max(1.0, deadline - time.monotonic())
        sent = {name: value for name, value in parameters.items() if name != "pictures"}
        sent["max_completion_tokens"] = sent.pop("max_output_tokens")
        said = [{"role": role, "content": without_keys(text)} for role, text in messages]
        stream = self._client.chat.completions.create(  # type: ignore[call-overload]
            model=self._model,
            messages=with_pictures(said, pictures),
            stream=True,
            stream_options={"include_usage": True},
            timeout=openai.Timeout(left_s, connect=min(CONNECT_S, left_s)),
            **sent,
        )
        partial = _PartialReply()
        try:
            with stream:
                for chunk in stream:
                    partial.add(chunk)
                    if time.monotonic() > deadline:
                        return partial.reply("still answering when its time was up")
        except (openai.APIError, ValueError) as error:  # broken off, or a violated protocol
            return partial.reply(f"the stream broke off: {type(error).__name__} {error}")
        return partial.reply()

    def _explain(self, error: openai.APIError) -> Reply:
        """Return the failure as a reply that cost nothing.

        Raises:
            ProposerError: a second attempt would be useless.
        """
        status = getattr(error, "status_code", None)
        detail = printable_error(_complaint(error))
        if status == 400 and BAD_KEY in detail.lower():
            status = 401
        if status in NEVER:
            variables = " or ".join(self._row["keys"])
            raise ProposerError(
                f"{self.name}: the server {NEVER[status]}",
                seen=detail,
                do="check the model's name" if status == 404 else f"check {variables}",
            ) from error
        return replace(Reply("", Outcome.FAILED, detail), input_tokens=0, output_tokens=0)


def _complaint(error: openai.APIError) -> str:
    """Return the server's error text, including bodies that the library omits (Google's lists)."""
    body = getattr(error, "body", None)
    return str(error) if body is None or isinstance(body, dict) else f"{error} {body}"


def _wait_s(error: openai.APIError, otherwise_s: float | None) -> float | None:
    """Return the seconds to wait before another attempt; None if there is to be none.

    The server's ``retry-after`` header decides if there is one (RFC 9110, section 10.2.3, in
    seconds), or the ``retryDelay`` in the text of Google's errors (google.rpc.RetryInfo).
    """
    status = getattr(error, "status_code", None)
    if otherwise_s is None or (status is not None and status != 429 and status < 500):
        return None
    asked = error.response.headers.get("retry-after", "") if status is not None else ""
    if (named := _DELAY.search(_complaint(error))) and not asked:
        asked = named[1]
    return float(asked) if asked.replace(".", "", 1).isdigit() else otherwise_s
