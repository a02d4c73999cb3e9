"""Runs a model from a Hugging Face checkpoint folder in this process, with transformers."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kernelwright.core.call import Outcome
from kernelwright.core.errors import ProposerError
from kernelwright.llm.chat import chat_text, ends
from kernelwright.llm.endpoint import Address, Messages, Reply

MAX_OUTPUT_TOKENS = 2048
"""Token limit of an answer: a kernel takes a third of it, but small models that repeat themselves
use all of it."""
TEMPERATURE, TOP_P = 0.7, 0.95
"""Sampling settings close to the defaults of llama.cpp's server; samples show no difference."""
MAX_BATCH = 64
GATHER_S = 0.2
"""Seconds to wait for more questions: those of a round arrive one after the other, and answering
them together costs little more than answering one."""


@dataclass
class _Asked:
    """A question that waits for an answer."""

    messages: Messages
    parameters: Mapping[str, Any]
    deadline: float
    reply: Reply | None = None


class CheckpointEndpoint:
    """One checkpoint, loaded at the first question; waiting questions are answered together.

    A seed determines the answers of a whole batch of questions, not of a single one.

    Raises:
        ProposerError: there is no checkpoint at the path.
    """

    is_local = True
    sees = False

    def __init__(self, name: str, address: Address) -> None:
        self.name = name
        self._folder = Path(address.model).expanduser()
        self._turn = threading.Lock()
        self._waiting: list[_Asked] = []
        if not (self._folder / "config.json").is_file():
            raise ProposerError(
                f"no checkpoint at {self._folder}",
                seen="no config.json in it",
                do="name the folder that save_pretrained wrote",
            )

    def parameters(self, seed: int) -> Mapping[str, Any]:
        return {
            "max_output_tokens": MAX_OUTPUT_TOKENS,
            "seed": seed,
            "temperature": TEMPERATURE,
            "top_p": TOP_P,
        }

    def ask(
        self,
        messages: Messages,
        parameters: Mapping[str, Any],
        timeout_s: float,
        patience_s: float = math.inf,
    ) -> Reply:
        mine = _Asked(messages, parameters, time.monotonic() + timeout_s)
        self._waiting.append(mine)
        with self._turn:
            if mine.reply is None:
                batch = self._batch(mine)
                try:
                    self._answer(batch)
                except Exception as error:  # libraries may fail anywhere, and other threads wait
                    why = f"{type(error).__name__}: {error}".splitlines()[0]
                    for asked in batch:
                        asked.reply = Reply("", Outcome.FAILED, why, 0, 0)
        assert mine.reply is not None  # a thread that held the lock has answered
        return mine.reply

    def _batch(self, first: _Asked) -> list[_Asked]:
        """Take a question and the others that wait from the queue."""
        _ = self._loaded  # loading takes a while, in which more questions arrive
        time.sleep(GATHER_S)
        others = [asked for asked in self._waiting if asked is not first][: MAX_BATCH - 1]
        batch = [first, *others]
        for asked in batch:
            self._waiting.remove(asked)
        return batch

    def _answer(self, batch: Sequence[_Asked]) -> None:
        """Give every question of a batch its reply."""
        import torch

        from kernelwright.llm import decode

        tokenizer, model = self._loaded
        prompts = [chat_text(tokenizer, asked.messages) for asked in batch]
        read = tokenizer(prompts, return_tensors="pt", padding=True, add_special_tokens=False)
        read = read.to(model.device)
        stops = ends(tokenizer, model)
        first = batch[0].parameters
        limit = max(asked.parameters["max_output_tokens"] for asked in batch)
        until_s = max(asked.deadline for asked in batch)
        with torch.random.fork_rng():
            torch.manual_seed(first["seed"])
            draw = decode.Sampling(first["temperature"], top_p=first["top_p"])
            written = decode.write(
                model, read, limit=limit, draw=draw, stops=stops, until_s=until_s
            )
        counts = read["attention_mask"].sum(1).tolist()
        for asked, count, row in zip(batch, counts, written, strict=True):
            asked.reply = _reply(tokenizer, row, count, stops=stops, limit=limit)

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        try:
            with _quiet():
                tokenizer = AutoTokenizer.from_pretrained(
                    self._folder, local_files_only=True, padding_side="left"
                )
                model = AutoModelForCausalLM.from_pretrained(
                    self._folder, local_files_only=True, dtype="auto"
                )
        except (OSError, ValueError) as error:
            raise ProposerError(
                f"the checkpoint at {self._folder} cannot be loaded",
                seen=str(error).strip().splitlines()[0][:300],
                do="name a folder that holds a causal language model and its tokenizer",
            ) from error
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token
        return tokenizer, model.to("cuda" if torch.cuda.is_available() else "cpu").eval()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Context without transformers' progress bar, which would overwrite the search's progress."""
    from transformers.utils import logging

    was_shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_shown:
            logging.enable_progress_bar()


def _reply(tokenizer: Any, row: list[int], n_read: int, *, stops: list[int], limit: int) -> Reply:
    """Return the reply for one row of a batch."""
    is_whole = bool(row) and row[-1] in stops
    cut = "at the limit of tokens" if len(row) >= limit else "at the limit of time"
    return Reply(
        answer=tokenizer.decode(row, skip_special_tokens=True).replace("\0", ""),
        outcome=Outcome.ANSWERED if is_whole else Outcome.CUT,
        detail="" if is_whole else cut,
        input_tokens=n_read,
        output_tokens=len(row),
    )
