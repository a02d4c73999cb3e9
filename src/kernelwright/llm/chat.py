"""A conversation as the text that a checkpoint reads; training and asking must agree on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2 import TemplateError


def chat_text(tokenizer: Any, messages: Sequence[tuple[str, str]]) -> str:
    """The (role, text) messages in the tokenizer's form, up to where the answer begins."""
    if tokenizer.chat_template is None:  # a base model: plain text, one part under another
        return "\n\n".join(text for _, text in messages) + "\n"
    try:
        return _spoken(tokenizer, messages)
    except TemplateError:  # a form such as Gemma's, in which nobody but two may speak
        (first, told), *rest = messages
        if first != "system":
            raise
        (role, asked), *rest = rest
        return _spoken(tokenizer, [(role, f"{told}\n\n{asked}"), *rest])


def _spoken(tokenizer: Any, messages: Sequence[tuple[str, str]]) -> str:
    said = [{"role": role, "content": text} for role, text in messages]
    return tokenizer.apply_chat_template(said, tokenize=False, add_generation_prompt=True)


def turn_end(tokenizer: Any) -> int:
    """The token that ends an answer in the tokenizer's form: often not the one that ends texts."""
    if tokenizer.chat_template is None:
        return tokenizer.eos_token_id
    spoken = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "@"}]
    after = tokenizer.apply_chat_template(spoken, tokenize=False).rpartition("@")[2].strip()
    tokens = tokenizer(after, add_special_tokens=False)["input_ids"]
    is_special = bool(tokens) and tokens[0] in tokenizer.added_tokens_decoder
    return tokens[0] if is_special else tokenizer.eos_token_id


def ends(tokenizer: Any, model: Any) -> list[int]:
    """The tokens that end an answer: the form's, the tokenizer's, those that the checkpoint names.

    The first is the one to teach.
    """
    named = model.generation_config.eos_token_id
    more = named if isinstance(named, list) else [named]
    known = (turn_end(tokenizer), tokenizer.eos_token_id, *more)
    return [end for end in dict.fromkeys(known) if end is not None]
