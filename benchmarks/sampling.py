"""Milliseconds a token: heads that share keys as rows of one query, beside transformers' attention.

    python benchmarks/sampling.py [--rows 32 --rows 64] [--prompt 1024] [--tokens 128]

A model of random weights in the shape of Qwen2.5-Coder-1.5B (or what --layers, … say), bfloat16,
one GPU. Both write the same number of tokens, in turns; the ratio is of medians, with the least and
largest of the turns' own.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from typing import Any
from unittest import mock

import click
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from kernelwright.llm import decode

NEVER = -1  # no token ends an answer


def model_of(layers: int) -> Any:
    """Random weights on the GPU."""
    config = Qwen2Config(
        vocab_size=151_936, hidden_size=1536, intermediate_size=8960, num_hidden_layers=layers,
        num_attention_heads=12, num_key_value_heads=2, tie_word_embeddings=True,
    )  # fmt: skip
    with torch.device("cuda"):
        return Qwen2ForCausalLM(config).to(torch.bfloat16).eval()


def ms_a_token(model: Any, read: dict[str, torch.Tensor], n_tokens: int) -> float:
    """Of a whole batch, prompts included."""
    torch.cuda.synchronize()
    began = time.perf_counter()
    decode.recorded(model, read, limit=n_tokens, draw=decode.Sampling(1.0), stops=[NEVER])
    torch.cuda.synchronize()
    return (time.perf_counter() - began) * 1e3 / n_tokens


@click.command()
@click.option("--rows", multiple=True, type=int, default=(32, 64, 128), show_default=True)
@click.option("--prompt", default=1024, show_default=True, help="Tokens of each prompt.")
@click.option("--tokens", default=128, show_default=True, help="Written of each answer.")
@click.option("--layers", default=28, show_default=True)
@click.option("--turns", default=3, show_default=True)
def main(rows: tuple[int, ...], prompt: int, tokens: int, layers: int, turns: int) -> None:
    """Print a line for each number of rows."""
    model = model_of(layers)
    plain = mock.patch.object(decode, "grouped", lambda model: contextlib.nullcontext())
    click.echo(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    for n in rows:
        ids = torch.randint(9, 9999, (n, prompt), device="cuda")
        read = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        theirs, ours = [], []
        for _ in range(turns + 1):
            with plain:
                theirs.append(ms_a_token(model, read, tokens))
            ours.append(ms_a_token(model, read, tokens))
        ratios = [a / b for a, b in zip(theirs[1:], ours[1:], strict=True)]  # the first warms up
        click.echo(
            f"{n} rows: {statistics.median(ours[1:]):.2f} ms a token, transformers' attention "
            f"{statistics.median(theirs[1:]):.2f}: {statistics.median(ratios):.2f} times "
            f"({min(ratios):.2f} to {max(ratios):.2f})"
        )


if __name__ == "__main__":
    main()
