"""The prefer stage: DPO on archived answers, a faster correct kernel over a slower or a wrong one.

It samples nothing and judges nothing: the speeds were measured when the dataset was made.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from kernelwright.archive import Archive
from kernelwright.core.errors import UsageError
from kernelwright.dataset.pairs import Pair
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
from kernelwright.train.sft import RIGHT, TRAIN
from kernelwright.train.watch import Curve, Deadline, Sound

Choice = tuple[Pair, Pair]
"""The preferred answer and the rejected one, to the same prompt."""


def choices(pairs: Sequence[Pair], dialects: Sequence[str], contrast: float) -> list[Choice]:
    """Return the pairs of answers to prefer between, from the train split.

    Each answer is rejected at most once. A correct one is rejected in favour of one drawn from
    those to the same prompt whose speedup is at least ``contrast`` times as high, with intervals
    that do not overlap; a wrong one in favour of any correct one.

    Raises:
        UsageError: the dataset has no such pair.
    """
    wanted = [p for p in pairs if p.split == TRAIN and (not dialects or p.dialect in dialects)]
    wanted.sort(key=_question)
    found = [
        choice
        for _, answers in groupby(wanted, key=_question)
        for choice in _choices(list(answers), contrast)
    ]
    if not found:
        raise UsageError(
            "the dataset has nothing to prefer",
            seen=f"{len(wanted)} answers of the train split, no two to the same prompt of which "
            f"one is right and the other is wrong or {contrast:g} times slower",
            do="kernelwright dataset build from archives with more answers, or a lower --contrast",
        )
    return found


def _question(pair: Pair) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    return pair.task_digest, pair.dialect, pair.prompt


def _choices(answers: Sequence[Pair], contrast: float) -> Iterator[Choice]:
    """Yield the choices among the answers to one prompt."""
    correct = [answer for answer in answers if answer.status in RIGHT]
    draw = random.Random(answers[0].task_digest)
    for rejected in answers:
        better = [
            p
            for p in correct
            if rejected.status not in RIGHT or _is_clearly_faster(p, rejected, contrast)
        ]
        if better:
            yield draw.choice(better), rejected


def _is_clearly_faster(one: Pair, other: Pair, contrast: float) -> bool:
    if one.status != other.status:  # speedups against other baselines
        return False
    speeds = (one.speedup, other.speedup, one.speedup_low, other.speedup_high)
    if any(speed is None for speed in speeds):
        return False
    fast, slow, low, high = (float(speed or 0.0) for speed in speeds)
    return fast >= contrast * slow and low > high


def trainer(recipe: Recipe, pairs: Sequence[Pair], archive: Archive | None) -> Any:
    """Return TRL's trainer, ready to run.

    Raises:
        UsageError: there is no such model, or nothing to prefer.
    """
    from datasets import Dataset
    from trl import DPOConfig, DPOTrainer

    found = choices(pairs, recipe.dialects, recipe.contrast)
    tokenizer = open_tokenizer(recipe.model)
    rows = [_row(tokenizer, *choice) for choice in found]
    short = fitting(rows, [_length(tokenizer, row) for row in rows], recipe)
    config = DPOConfig(
        **supervised(recipe),
        beta=recipe.preference,
        loss_type=["sigmoid", "sft"],
        loss_weights=[1.0, recipe.imitation],
    )
    return DPOTrainer(
        model=open_model(recipe.model, tokenizer, is_frozen=recipe.rank > 0),
        args=alone(config),
        train_dataset=Dataset.from_list(short),
        processing_class=tokenizer,
        peft_config=adapter(recipe),
        callbacks=[Sound(), Deadline(recipe), Curve(recipe, archive)],
    )


def _row(tokenizer: Any, preferred: Pair, rejected: Pair) -> dict[str, str]:
    """Return the texts of one choice, with the ends of turns that sft teaches."""
    prompt = chat_text(tokenizer, preferred.prompt)
    if tokenizer.bos_token and tokenizer.bos_token_id in tokenizer("")["input_ids"]:
        prompt = prompt.removeprefix(tokenizer.bos_token)  # the trainer's tokenizer adds it
    end = tokenizer.convert_ids_to_tokens(turn_end(tokenizer))
    return {
        "prompt": prompt,
        "chosen": f"{preferred.answer.strip()}\n{end}",
        "rejected": f"{rejected.answer.strip()}\n{end}",
    }


def _length(tokenizer: Any, row: dict[str, str]) -> int:
    """Return the number of tokens of the longer of both conversations."""
    return max(
        len(tokenizer(row["prompt"] + row[name])["input_ids"]) for name in ("chosen", "rejected")
    )
