"""Supervised fine-tuning on correct kernels as answers to the prompts that ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelwright.archive import Archive
from kernelwright.core.errors import UsageError
from kernelwright.dataset.pairs import MEASURED, Pair
from kernelwright.llm.chat import chat_text, turn_end
from kernelwright.train.model import (
    adapter,
    alone,
    fitting,
    open_model,
    open_tokenizer,
    supervised,
)
from kernelwright.train.recipes import Recipe
from kernelwright.train.watch import Curve, Deadline, Sound

TRAIN = "train"
PASSED = "passed"
RIGHT = (PASSED, MEASURED)
"""The statuses of kernels to learn from."""


def lessons(
    pairs: Sequence[Pair], dialects: Sequence[str]
) -> list[tuple[tuple[tuple[str, str], ...], str]]:
    """Return (messages, answer) for each correct kernel of the train split.

    Raises:
        UsageError: the dataset has no such pair.
    """
    found = [
        (pair.prompt, pair.answer)
        for pair in pairs
        if pair.split == TRAIN
        and pair.status in RIGHT
        and (not dialects or pair.dialect in dialects)
    ]
    if not found:
        raise UsageError(
            "the dataset has nothing to learn from",
            seen=f"{len(pairs)} pairs, none of them a correct kernel of the train split"
            + (f" in {', '.join(dialects)}" if dialects else ""),
            do="kernelwright dataset build, or other --dialect",
        )
    return found


def tokens(
    tokenizer: Any, messages: Sequence[tuple[str, str]], answer: str
) -> dict[str, list[int]]:
    """Tokenise one example as the policy's prompts are; only the answer contributes to the loss."""
    prompt = tokenizer(chat_text(tokenizer, messages), add_special_tokens=False)["input_ids"]
    said = tokenizer(answer.strip() + "\n", add_special_tokens=False)["input_ids"]
    said = [*said, turn_end(tokenizer)]
    return {"input_ids": prompt + said, "labels": [-100] * len(prompt) + said}


def trainer(recipe: Recipe, pairs: Sequence[Pair], archive: Archive | None) -> Any:
    """Return TRL's trainer, ready to run.

    Raises:
        UsageError: there is no such model, or nothing to learn from.
    """
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    taught = lessons(pairs, recipe.dialects)
    tokenizer = open_tokenizer(recipe.model)
    examples = [tokens(tokenizer, *each) for each in taught]
    short = fitting(examples, [len(each["input_ids"]) for each in examples], recipe)
    config = SFTConfig(
        **supervised(recipe),
        dataset_kwargs={"skip_prepare_dataset": True},
        packing=False,
        train_sampling_strategy="group_by_length",
    )
    return SFTTrainer(
        model=open_model(recipe.model, tokenizer, is_frozen=recipe.rank > 0),
        args=alone(config),
        train_dataset=Dataset.from_list(short),
        processing_class=tokenizer,
        peft_config=adapter(recipe),
        callbacks=[Sound(), Deadline(recipe), Curve(recipe, archive)],
    )
