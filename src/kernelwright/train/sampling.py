"""Answers of the model as it is at this step, in one batch."""

from __future__ import annotations

from typing import Any


def sample(trainer: Any, prompts: list[list[int]]) -> list[list[int]]:
    """The tokens of one answer to each prompt, up to and with its end."""
    import torch
    from trl.models import unwrap_model_for_generation

    tokenizer = trainer.processing_class
    read = tokenizer.pad({"input_ids": prompts}, padding_side="left", return_tensors="pt")
    read = read.to(trainer.accelerator.device)
    with (
        unwrap_model_for_generation(trainer.model_wrapped, trainer.accelerator) as model,
        torch.no_grad(),
    ):
        model.eval()  # with dropout it would answer worse than it is
        written = model.generate(**read, generation_config=trainer.generation_config)
        model.train()
    width = read["input_ids"].shape[1]
    return [_to_end(row, tokenizer.eos_token_id) for row in written[:, width:].tolist()]


def _to_end(row: list[int], end: int) -> list[int]:
    return row[: row.index(end) + 1] if end in row else row
