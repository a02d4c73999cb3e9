"""Whole models with random weights, end to end: the library's forms beside the same with kernels.

    python -m benchmarks.whole_models [NAME ...] [--budget 120] [--tiny] [--json F] [--spans F]

Each model is accelerated as ``kw.accelerate`` does, with the budget in seconds for all of it. A run
takes that, some 10 s to begin, and the rest of the search that is going on at the end.
The table gives the median times of the whole model in the library's forms (``eager_graph`` is a
CUDA graph of the eager model), in ``compile_graph``, a CUDA graph of compiled code that accelerate
makes, and in the fastest form with kernels. ``ratio`` is that of the fastest library form to the
fastest of the others, ``kernels alone`` that of the fastest form without kernels to the fastest
with them, both with intervals, from interleaved rounds. ``gate`` is the outputs' largest error
against float64 as a share of their largest number, with kernels and without.

On a GPU the models are of the sizes that people run, in bfloat16. ``--tiny`` makes them small and
float32, for a CPU. ``--spans`` writes down what was being done when. Needs transformers, and
diffusers for unet.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

import kernelwright as kw
from kernelwright.models import forms, waterfall
from kernelwright.models.accelerate import Accelerated, Step
from kernelwright.search.result import Progress

Made = tuple[nn.Module, Any]
FORMS = (*forms.LIBRARY, forms.OWN)
VOCABULARY = 32000
PROMPT = 512
"""Tokens in the cache before a step of decoding."""
LAYERS = 4
"""Layers of language models, of which people run 20 to 80 of the same widths."""


def llama(tiny: bool) -> nn.Module:
    import transformers

    size = (128, 256, 2, 4, 2) if tiny else (2048, 5632, LAYERS, 16, 8)
    return transformers.LlamaForCausalLM(_decoder(transformers.LlamaConfig, size))


def qwen3(tiny: bool) -> nn.Module:
    import transformers

    size = (128, 256, 2, 4, 2) if tiny else (2048, 6144, LAYERS, 16, 8)
    named = {"head_dim": 32 if tiny else 128}
    return transformers.Qwen3ForCausalLM(_decoder(transformers.Qwen3Config, size, **named))


def mixtral(tiny: bool) -> nn.Module:
    import transformers

    size = (128, 256, 2, 4, 2) if tiny else (1024, 3584, LAYERS, 16, 8)
    named = {"num_local_experts": 4 if tiny else 8, "num_experts_per_tok": 2}
    return transformers.MixtralForCausalLM(_decoder(transformers.MixtralConfig, size, **named))


def mamba(tiny: bool) -> nn.Module:
    import transformers

    sizes = {"hidden_size": 64, "num_hidden_layers": 2} if tiny else {"num_hidden_layers": LAYERS}
    config = transformers.MambaConfig(vocab_size=VOCABULARY, use_cache=False, **sizes)
    return transformers.MambaForCausalLM(config)


def _decoder(config: Any, size: tuple[int, ...], **named: Any) -> Any:
    names = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
    sizes = dict(zip((*names, "num_key_value_heads"), size, strict=True))
    return config(vocab_size=VOCABULARY, **sizes, **named)


def prefill(make: Callable[[bool], nn.Module], rows: int, tokens: int) -> Callable[..., Made]:
    """The model on whole prompts, with an empty cache, as ``generate`` begins."""

    def made(tiny: bool) -> Made:
        model = make(tiny)
        shape = (2, 32) if tiny else (rows, tokens)
        return model, {"input_ids": torch.randint(0, VOCABULARY, shape)}

    return made


def decode(make: Callable[[bool], nn.Module], rows: int) -> Callable[..., Made]:
    """The model on one token a row, with a static cache of a prompt."""

    def made(tiny: bool) -> Made:
        import transformers

        model, tokens = make(tiny).eval(), 16 if tiny else PROMPT
        cache = transformers.StaticCache(config=model.config, max_cache_len=2 * tokens)
        ids = torch.randint(0, VOCABULARY, (rows, tokens))
        with torch.no_grad():
            model(ids, past_key_values=cache)
        return model, {"input_ids": ids[:, :1], "past_key_values": cache}

    return made


def bert(tiny: bool) -> Made:
    import transformers

    sizes = _small() if tiny else {}
    model = transformers.BertModel(transformers.BertConfig(**sizes))
    return model, {"input_ids": torch.randint(0, 30000, (2, 32) if tiny else (32, 128))}


def vit(tiny: bool) -> Made:
    import transformers

    sizes = {**_small(), "image_size": 64} if tiny else {}
    model = transformers.ViTModel(transformers.ViTConfig(**sizes))
    shape = (2, 3, 64, 64) if tiny else (64, 3, 224, 224)
    return model, {"pixel_values": torch.randn(shape)}


def _small() -> dict[str, int]:
    return {
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
    }


def whisper(tiny: bool) -> Made:
    import transformers
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    sizes = {
        "d_model": 128 if tiny else 768,
        "encoder_layers": 2 if tiny else 12,
        "encoder_attention_heads": 4 if tiny else 12,
        "encoder_ffn_dim": 256 if tiny else 3072,
        "max_source_positions": 100 if tiny else 1500,
    }
    model = WhisperEncoder(transformers.WhisperConfig(**sizes))
    shape = (2, 80, 200) if tiny else (8, 80, 3000)
    return model, {"input_features": torch.randn(shape)}


def resnet(tiny: bool) -> Made:
    import transformers

    sizes = {"embedding_size": 16, "hidden_sizes": [32, 64], "depths": [2, 2]} if tiny else {}
    model = transformers.ResNetModel(transformers.ResNetConfig(**sizes))
    shape = (2, 3, 64, 64) if tiny else (64, 3, 224, 224)
    return model, {"pixel_values": torch.randn(shape)}


def unet(tiny: bool) -> Made:
    import diffusers

    channels = (32, 64) if tiny else (128, 256, 512)
    down = ("DownBlock2D",) * (len(channels) - 1) + ("AttnDownBlock2D",)
    up = ("AttnUpBlock2D",) + ("UpBlock2D",) * (len(channels) - 1)
    model = diffusers.UNet2DModel(
        block_out_channels=channels, layers_per_block=1, down_block_types=down, up_block_types=up
    )
    return model, {"sample": torch.randn((2, 3, 16, 16) if tiny else (8, 3, 64, 64)), "timestep": 9}


class DiTBlock(nn.Module):
    """A block of a diffusion transformer: attention and MLP, shifted, scaled and gated by what a
    condition says (adaLN-Zero).

    Source: Peebles and Xie 2023, Scalable diffusion models with transformers, ICCV.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.modulation = nn.Linear(width, 6 * width)

    def forward(self, x: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
        rows, tokens, width = x.shape
        parts = self.modulation(nn.functional.silu(condition)).unsqueeze(1).chunk(6, dim=-1)
        shift1, scale1, gate1, shift2, scale2, gate2 = parts
        q, k, v = (
            self.qkv(self.norm1(x) * (1 + scale1) + shift1)
            .view(rows, tokens, 3, self.heads, width // self.heads)
            .permute(2, 0, 3, 1, 4)
        )
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + gate1 * self.proj(mixed.transpose(1, 2).reshape(rows, tokens, width))
        up = self.up(self.norm2(x) * (1 + scale2) + shift2)
        return x + gate2 * self.down(nn.functional.gelu(up, approximate="tanh"))


class DiT(nn.Module):
    """Blocks of a diffusion transformer, from tokens of an image and a condition to tokens."""

    def __init__(self, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(DiTBlock(width, heads) for _ in range(layers))

    def forward(self, tokens: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            tokens = block(tokens, condition)
        return tokens


def dit(tiny: bool) -> Made:
    width, heads, layers, rows, tokens = (64, 4, 2, 2, 16) if tiny else (1152, 16, 12, 8, 256)
    inputs = [torch.randn(rows, tokens, width), torch.randn(rows, width)]
    return DiT(width, heads, layers), inputs


MODELS: dict[str, Callable[[bool], Made]] = {
    "llama_prefill": prefill(llama, 1, 2048),
    "llama_decode": decode(llama, 8),
    "qwen3_prefill": prefill(qwen3, 1, 2048),
    "qwen3_decode": decode(qwen3, 1),
    "mixtral": prefill(mixtral, 4, 256),
    "mixtral_decode": decode(mixtral, 1),
    "mamba": prefill(mamba, 1, 256),
    "bert": bert,
    "vit": vit,
    "whisper": whisper,
    "resnet50": resnet,
    "unet": unet,
    "dit": dit,
}


def made(name: str, tiny: bool, device: str) -> Made:
    """The model by its name and its inputs, on the device, in evaluation."""
    torch.manual_seed(0)
    before = torch.get_default_dtype()
    if device == "cuda" and not tiny:
        torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device(device):
            model, inputs = MODELS[name](tiny)
    finally:
        torch.set_default_dtype(before)
    return model.eval(), inputs


def run(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Accelerate one model, print its waterfall, and return its facts."""
    began = time.monotonic()

    def told(step: Step) -> None:
        if step.outcome != "skipped":
            group = step.group
            what = f"{len(group.paths)} × {group.kind} {group.share:.0%}"
            print(
                f"  {time.monotonic() - began:5.0f} s {what}: {step.outcome} {step.why}", flush=True
            )

    doing = ""

    def span(progress: Progress) -> None:
        nonlocal doing
        if options.spans and progress.doing != doing:
            doing = progress.doing
            with options.spans.open("a") as file:
                print(f"{time.monotonic() - began:6.1f} s {progress.task}: {doing}", file=file)

    model, inputs = made(name, options.tiny, options.device)
    given = {"budget_s": options.budget, "device": options.device}
    try:
        found = kw.accelerate(model, inputs, on_step=told, on_progress=span, **given)
    except Exception as error:  # the other models go on
        traceback.print_exc()
        return {"name": name, "error": f"{type(error).__name__}: {error}"[:200]}
    print(f"{name}: {waterfall.headline(found)}, in {time.monotonic() - began:.0f} s")
    for failed, why in found.failed_forms.items():
        print(f"  no {failed}: {why}")
    for step in found.steps:
        if step.result is not None or step.outcome in ("failed", "kept"):
            print(f"  {_told(step)}")
    return {"name": name, **waterfall.facts_of(found), "row": _row(name, found)}


def _told(step: Step) -> str:
    alone = step.result.evaluation.speedup if step.result and step.result.evaluation else None
    return (
        f"{len(step.group.paths)} × {step.group.kind} ({step.group.share:.0%}): {step.outcome} "
        f"{step.why[:120]}; alone {alone or '-'}, in the model {step.brought or '-'}"
    )


def _row(name: str, found: Accelerated) -> str:
    def ms(form: str) -> str:
        times = found.times_ns.get(form)
        return f"{statistics.median(times) / 1e6:.3f}" if times else "-"

    off = found.deviation
    with_kernels = forms.fastest(found.times_ns.keys() - {*FORMS}, found.times_ns)
    cells = [name, *map(ms, FORMS), ms(with_kernels), with_kernels or "-"]
    cells += [str(found.speedup or "-"), str(found.by_kernels or "-")]
    cells.append(f"{off.kernels:.1e} / {off.library:.1e}" if off else "-")
    return " | ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MODELS))
    parser.add_argument("--budget", type=float, default=120.0, help="seconds a model")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--spans", type=Path)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a run that is ended has its table
    facts: list[dict[str, Any]] = []
    for name in options.names or MODELS:
        facts.append(run(name, options))
        if facts[-1].get("interrupted"):
            break
    print(f"\nmodel | {' | '.join(FORMS)} | kernels | form | ratio | kernels alone | gate")
    for each in facts:
        print(each.get("row") or f"{each['name']} | {each['error']}")
    print("(times in ms)")
    if options.json:
        options.json.write_text(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
