"""A model in a Hugging Face checkpoint folder, run in this process by transformers."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from kernelwright.core.call import Outcome
from kernelwright.core.errors import ProposerError
from kernelwright.propose.swarm.endpoint import Address, Messages, Reply

MAX_OUTPUT_TOKENS = 4096
TEMPERATURE = 0.7


class CheckpointEndpoint:
    """One checkpoint, loaded at the first question; one question at a time.

    Raises:
        ProposerError: there is no checkpoint at the path.
    """

    is_local = True

    def __init__(self, name: str, address: Address) -> None:
        self.name = name
        self._folder = Path(address.model).expanduser()
        self._turn = threading.Lock()
        if not (self._folder / "config.json").is_file():
            raise ProposerError(
                f"no checkpoint at {self._folder}",
                seen="no config.json in it",
                do="name the folder that save_pretrained wrote",
            )

    def parameters(self, seed: int) -> Mapping[str, Any]:
        return {"max_output_tokens": MAX_OUTPUT_TOKENS, "temperature": TEMPERATURE, "seed": seed}

    def ask(self, messages: Messages, parameters: Mapping[str, Any], timeout_s: float) -> Reply:
        import torch

        with self._turn:
            tokenizer, model = self._loaded
            prompt = _prompt(tokenizer, messages)
            read = tokenizer(prompt, return_tensors="pt", add_special_tokens=False)
            read = read.to(model.device)
            deadline = time.monotonic() + timeout_s
            with torch.random.fork_rng(), torch.no_grad():
                torch.manual_seed(parameters["seed"])
                written = model.generate(
                    **read,
                    do_sample=True,
                    temperature=parameters["temperature"],
                    max_new_tokens=parameters["max_output_tokens"],
                    max_time=max(1.0, deadline - time.monotonic()),
                )
        n_read = read["input_ids"].shape[1]
        said = written[0, n_read:]
        ends = model.generation_config.eos_token_id
        has_ended = len(said) > 0 and int(said[-1]) in (ends if isinstance(ends, list) else [ends])
        return Reply(
            answer=tokenizer.decode(said, skip_special_tokens=True),
            outcome=Outcome.ANSWERED if has_ended else Outcome.CUT,
            detail="" if has_ended else "at the limit of tokens or of time",
            input_tokens=n_read,
            output_tokens=len(said),
        )

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(self._folder, local_files_only=True)
        model = AutoModelForCausalLM.from_pretrained(
            self._folder, local_files_only=True, dtype="auto"
        )
        return tokenizer, model.to("cuda" if torch.cuda.is_available() else "cpu").eval()


def _prompt(tokenizer: Any, messages: Messages) -> str:
    if tokenizer.chat_template is None:  # a base model: plain text, one part under another
        return "\n\n".join(text for _, text in messages) + "\n"
    spoken = [{"role": role, "content": text} for role, text in messages]
    return tokenizer.apply_chat_template(spoken, tokenize=False, add_generation_prompt=True)
