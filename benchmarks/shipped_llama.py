"""A Llama of transformers with random weights: plain, and with its norms exported as a package.

    python benchmarks/shipped_llama.py [--device cuda] [--budget 60] [--hidden 2048] [--layers 16]
        [--tokens 512] [--rounds 50]

Searches a kernel for the model's own norm in bfloat16, exports it with ``to="hf"``, and loads the
model again with ``use_kernels=True``. Prints a table in Markdown: the largest errors of the logits
against the same weights in float32, the regret of the chosen tokens, and the time of a forward,
measured side by side. transformers takes local kernels on GPUs only; on a CPU ``kernelize`` gives
the norms to the model. Needs the extra ``export`` and a version of transformers that takes it.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import click
import torch
from kernels import LocalLayerRepository, Mode, kernelize, use_kernel_mapping
from transformers import KernelConfig, LlamaConfig, LlamaForCausalLM

import kernelwright as kw
from kernelwright.archive import ranking
from kernelwright.core.evaluation import median_ratio

NAME, LAYER = "llama_norm", "LlamaNorm"


def llama(hidden: int, layers: int) -> LlamaForCausalLM:
    """A model in bfloat16 with random weights."""
    config = LlamaConfig(
        hidden_size=hidden,
        intermediate_size=hidden * 11 // 4,
        num_hidden_layers=layers,
        num_attention_heads=max(1, hidden // 64),
        num_key_value_heads=max(1, hidden // 256),
        vocab_size=8192,
    )
    return LlamaForCausalLM(config).to(torch.bfloat16).eval()


def package_of(model: LlamaForCausalLM, tokens: int, folder: Path, **settings: Any) -> Path:
    """The exported package of the fastest kernel for the model's norms, whether it wins or not."""
    given = torch.randn(1, tokens, model.config.hidden_size).to(torch.bfloat16)
    archive = str(folder / "archive.sqlite")
    result = kw.optimize(model.model.norm, [given], archive=archive, out=str(folder), **settings)
    print(result)
    best, found = ranking.ranked(result.evaluated)[0]
    receipt = kw.Receipt(result.task, best.candidate, found)
    return kw.export(receipt, to="hf", out=folder / "package", name=NAME)


def served_by(package: Path, folder: Path, device: str) -> LlamaForCausalLM:
    """The saved model with the packaged norms."""
    load = LlamaForCausalLM.from_pretrained
    if device == "cuda":
        layers = {"RMSNorm": f"{package.resolve()}:{LAYER}"}
        config = KernelConfig(layers, use_local_kernel=True, inherit_mapping=False)
        told = {"use_kernels": True, "kernel_config": config}
        return load(folder, dtype=torch.bfloat16, device_map=device, **told).eval()
    model = load(folder, dtype=torch.bfloat16).eval()
    repository = LocalLayerRepository(package.resolve(), layer_name=LAYER)
    with use_kernel_mapping({"RMSNorm": {device: {Mode.INFERENCE: repository}}}):
        return kernelize(model, mode=Mode.INFERENCE, device=device)


def time_s(model: LlamaForCausalLM, tokens: torch.Tensor) -> float:
    """The time of one forward, from an idle device to an idle device."""
    wait = torch.cuda.synchronize if tokens.is_cuda else lambda: None
    wait()
    begin = time.perf_counter()
    model(tokens)
    wait()
    return time.perf_counter() - begin


@click.command()
@click.option("--device", default="cuda" if torch.cuda.is_available() else "cpu")
@click.option("--budget", default=60.0, help="Seconds of the search.")
@click.option("--hidden", default=2048)
@click.option("--layers", default=16)
@click.option("--tokens", "n_tokens", default=512)
@click.option("--rounds", default=50)
@torch.no_grad()
def main(device: str, budget: float, hidden: int, layers: int, n_tokens: int, rounds: int) -> None:
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = llama(hidden, layers)
        plain.save_pretrained(folder / "model")
        dialects = ("triton", "cuda") if device == "cuda" else ("cpp",)
        settings = {"device": device, "dialects": dialects, "budget_s": budget}
        package = package_of(plain, n_tokens, folder, **settings)
        served = served_by(package, folder / "model", device)
        plain = plain.to(device)
        tokens = torch.randint(plain.config.vocab_size, (1, n_tokens), device=device)
        logits = {"plain": plain(tokens).logits, "served": served(tokens).logits}
        times = [(time_s(plain, tokens), time_s(served, tokens)) for _ in range(rounds)]
        exact = plain.float()(tokens).logits
    best = exact.amax(-1, keepdim=True)
    print("\n| | largest error of a logit | mean error | largest regret of a token |")
    print("|---|---|---|---|")
    for name, found in logits.items():
        error = (found.float() - exact).abs()
        regret = best - exact.gather(-1, found.argmax(-1, keepdim=True))
        print(f"| {name} | {error.max():.4f} | {error.mean():.5f} | {regret.max():.4f} |")
    ratio = median_ratio([before / after for before, after in times])
    print(f"\nforward: {ratio} times as fast, {rounds} rounds side by side, on {device}")


if __name__ == "__main__":
    main()
