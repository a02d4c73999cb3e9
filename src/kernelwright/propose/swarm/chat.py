"""A conversation as the text that a checkpoint reads; training and asking must agree on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def chat_text(tokenizer: Any, messages: Sequence[tuple[str, str]]) -> str:
    """The (role, text) messages in the tokenizer's form, up to where the answer begins."""
    if tokenizer.chat_template is None:  # a base model: plain text, one part under another
        return "\n\n".join(text for _, text in messages) + "\n"
    spoken = [{"role": role, "content": text} for role, text in messages]
    return tokenizer.apply_chat_template(spoken, tokenize=False, add_generation_prompt=True)
