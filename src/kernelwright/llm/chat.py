"""Formats a conversation as a checkpoint's text; training and inference must use the same form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2 import TemplateError


def chat_text(tokenizer: Any, messages: Sequence[tuple[str, str]]) -> str:
    """Format (role, text) messages with the tokenizer's chat template, up to the answer's start."""
    if tokenizer.chat_template is None:  # a base model gets plain text
        return "\n\n".join(text for _, text in messages) + "\n"
    try:
        return _spoken(tokenizer, messages)
    except TemplateError:  # some templates, such as Gemma's, have no system role
        (first, system), *rest = messages
        if first != "system":
            raise
        (role, asked), *rest = rest
        return _spoken(tokenizer, [(role, f"{system}\n\n{asked}"), *rest])


def _spoken(tokenizer: Any, messages: Sequence[tuple[str, str]]) -> str:
    said = [{"role": role, "content": text} for role, text in messages]
    return tokenizer.apply_chat_template(said, tokenize=False, add_generation_prompt=True)


def turn_end(tokenizer: Any) -> int:
    """Return the token that ends an answer in the chat template, often not ``eos_token_id``."""
    if tokenizer.chat_template is None:
        return tokenizer.eos_token_id
    spoken = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "@"}]
    after = tokenizer.apply_chat_template(spoken, tokenize=False).rpartition("@")[2].strip()
    tokens = tokenizer(after, add_special_tokens=False)["input_ids"]
    is_special = bool(tokens) and tokens[0] in tokenizer.added_tokens_decoder
    return tokens[0] if is_special else tokenizer.eos_token_id


def ends(tokenizer: Any, model: Any) -> list[int]:
    """Return the tokens that end an answer.

    They come from the chat template, the tokenizer and the checkpoint's generation settings.
    Training teaches the first one.
    """
    named = model.generation_config.eos_token_id
    more = named if isinstance(named, list) else [named]
    known = (turn_end(tokenizer), tokenizer.eos_token_id, *more)
    return [end for end in dict.fromkeys(known) if end is not None]
