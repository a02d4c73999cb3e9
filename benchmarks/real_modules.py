"""Forty modules of transformers, timm, diffusers and torchvision: captured, right, served?

    python -m benchmarks.real_modules [NAME ...] [--modes train-float32,eval-bfloat16] [--speed]
        [--device cuda:sm_90]

Each module has a small configuration and random weights. Per module and mode (train or eval,
float32 or bfloat16) the first candidate of the rules is emitted, without a search, and built as
``kw.build`` would: from the class by its dotted name in float32, from an instance in bfloat16.
Then it is called beside the module: plainly, by keyword, with gradients (forward and backward), on
another batch, in the other mode, and after other weights were loaded.

captured: what is own code: all of it, or only parts of it
right:    the calls that gave what the module gave (2e-4 of the largest value in float32, 6e-2 in
          bfloat16; an error where the module raises one)
served:   the calls that kernels served alone; all others are followed by the reasons, ``why_not``
speed-up: eager time / built time of the plain call, medians of interleaved calls; a first candidate
          that nobody tuned, on whatever else the machine does

Needs the four libraries, and g++ or a GPU.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import copy
import inspect
import statistics
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from tests.null.swarm.briefs import verdict
from torch import nn
from torch.utils._pytree import tree_leaves, tree_map

import kernelwright as kw
from kernelwright.core.candidate import Brief, Proposal
from kernelwright.core.device import Device
from kernelwright.loaders import open_reference
from kernelwright.proposers.rules import RulesProposer
from kernelwright.search.result import Result, write_source

HF = "transformers.models"
LLAMA = "hidden_size=128, intermediate_size=344, num_attention_heads=4, num_key_value_heads=2"
ROTARY = "(float32[1,32,32], float32[1,32,32])"
X = "float32[2,32,128]"
IMAGE = "float32[2,64,14,14]"
WIDTHS = "hidden_size=128, intermediate_size=512, num_attention_heads=4"
BERT = f"{WIDTHS}, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0"
GPT2 = "n_embd=128, n_head=4, resid_pdrop=0.0, attn_pdrop=0.0, embd_pdrop=0.0"
T5 = "d_model=128, d_ff=512, d_kv=32, num_heads=4, dropout_rate=0.0"
MODULES: tuple[tuple[str, str, dict[str, str]], ...] = (
    (f"{HF}.llama.modeling_llama.LlamaMLP", f"transformers.LlamaConfig({LLAMA})", {"x": X}),
    (f"{HF}.llama.modeling_llama.LlamaRMSNorm", "128", {"hidden_states": X}),
    (f"{HF}.llama.modeling_llama.LlamaAttention", f"transformers.LlamaConfig({LLAMA}), 0",
     {"hidden_states": X, "position_embeddings": ROTARY}),
    (f"{HF}.llama.modeling_llama.LlamaDecoderLayer", f"transformers.LlamaConfig({LLAMA}), 0",
     {"hidden_states": X, "position_embeddings": ROTARY}),
    (f"{HF}.llama.modeling_llama.LlamaRotaryEmbedding", f"transformers.LlamaConfig({LLAMA})",
     {"x": X, "position_ids": "int64[1,32]<32"}),
    (f"{HF}.llama.modeling_llama.LlamaForCausalLM",
     f"transformers.LlamaConfig({LLAMA}, vocab_size=256, num_hidden_layers=2, use_cache=False)",
     {"input_ids": "int64[2,32]<256"}),
    (f"{HF}.qwen2.modeling_qwen2.Qwen2DecoderLayer", f"transformers.Qwen2Config({LLAMA}), 0",
     {"hidden_states": X, "position_embeddings": ROTARY}),
    (f"{HF}.mixtral.modeling_mixtral.MixtralSparseMoeBlock",
     f"transformers.MixtralConfig({LLAMA}, num_local_experts=4)", {"hidden_states": X}),
    (f"{HF}.mixtral.modeling_mixtral.MixtralDecoderLayer",
     f"transformers.MixtralConfig({LLAMA}, num_local_experts=4), 0",
     {"hidden_states": X, "position_embeddings": ROTARY}),
    (f"{HF}.bert.modeling_bert.BertLayer", f"transformers.BertConfig({BERT})",
     {"hidden_states": X}),
    (f"{HF}.bert.modeling_bert.BertSelfAttention", f"transformers.BertConfig({BERT})",
     {"hidden_states": X}),
    (f"{HF}.gpt2.modeling_gpt2.GPT2Block", f"transformers.GPT2Config({GPT2})",
     {"hidden_states": X}),
    (f"{HF}.gpt2.modeling_gpt2.GPT2MLP", f"512, transformers.GPT2Config({GPT2})",
     {"hidden_states": X}),
    (f"{HF}.t5.modeling_t5.T5LayerFF", f"transformers.T5Config({T5})", {"hidden_states": X}),
    (f"{HF}.t5.modeling_t5.T5LayerSelfAttention",
     f"transformers.T5Config({T5}), has_relative_attention_bias=True", {"hidden_states": X}),
    (f"{HF}.mamba.modeling_mamba.MambaMixer",
     "transformers.MambaConfig(hidden_size=64, state_size=8), 0",
     {"hidden_states": "float32[2,16,64]"}),
    (f"{HF}.vit.modeling_vit.ViTLayer",
     f"transformers.ViTConfig({WIDTHS})",
     {"hidden_states": X}),
    (f"{HF}.swin.modeling_swin.SwinLayer",
     "transformers.SwinConfig(), dim=96, input_resolution=(14, 14), num_heads=3, shift_size=3",
     {"hidden_states": "float32[2,196,96]", "input_dimensions": "(14, 14)"}),
    (f"{HF}.clip.modeling_clip.CLIPEncoderLayer",
     f"transformers.CLIPVisionConfig({WIDTHS})",
     {"hidden_states": X, "attention_mask": "none"}),
    (f"{HF}.clip.modeling_clip.CLIPVisionEmbeddings",
     f"transformers.CLIPVisionConfig({WIDTHS}, image_size=64, patch_size=16)",
     {"pixel_values": "float32[2,3,64,64]"}),
    (f"{HF}.whisper.modeling_whisper.WhisperEncoderLayer",
     "transformers.WhisperConfig(d_model=128, encoder_attention_heads=4, encoder_ffn_dim=512)",
     {"hidden_states": X, "attention_mask": "none"}),
    (f"{HF}.segformer.modeling_segformer.SegformerOverlapPatchEmbeddings", "7, 4, 3, 64",
     {"pixel_values": "float32[2,3,64,64]"}),
    (f"{HF}.distilbert.modeling_distilbert.TransformerBlock",
     "transformers.DistilBertConfig(dim=128, hidden_dim=512, n_heads=4, dropout=0.0, "
     "attention_dropout=0.0)",
     {"hidden_states": X}),
    ("timm.models.convnext.ConvNeXtBlock", "64", {"x": IMAGE}),
    ("timm.models.resnet.Bottleneck", "64, 16", {"x": IMAGE}),
    ("timm.models._efficientnet_blocks.InvertedResidual",
     "64, 64, exp_ratio=4.0, se_layer=timm.models._efficientnet_blocks.SqueezeExcite",
     {"x": IMAGE}),
    ("timm.models.vision_transformer.Block", "128, 4", {"x": X}),
    ("timm.models.swin_transformer.SwinTransformerBlock", "96, (14, 14), 3, shift_size=3",
     {"x": "float32[2,14,14,96]"}),
    ("timm.models.mlp_mixer.MixerBlock", "128, 32", {"x": X}),
    ("timm.models.metaformer.MetaFormerBlock", "64", {"x": IMAGE}),
    ("torchvision.models.resnet.Bottleneck", "64, 16", {"x": IMAGE}),
    ("torchvision.models.efficientnet.MBConv",
     "torchvision.models.efficientnet.MBConvConfig(4, 3, 1, 64, 64, 1), 0.0, torch.nn.BatchNorm2d",
     {"input": IMAGE}),
    ("torchvision.models.convnext.CNBlock", "64, 1e-6, 0.0", {"input": IMAGE}),
    ("torchvision.models.vision_transformer.EncoderBlock", "4, 128, 512, 0.0, 0.0", {"input": X}),
    ("torchvision.models.densenet._DenseLayer", "64, 32, 4, 0.0", {"input": IMAGE}),
    ("diffusers.models.resnet.ResnetBlock2D", "in_channels=64, temb_channels=128",
     {"input_tensor": IMAGE, "temb": "float32[2,128]"}),
    ("diffusers.models.activations.GEGLU", "128, 256", {"hidden_states": X}),
    ("diffusers.models.attention.BasicTransformerBlock", "128, 4, 32", {"hidden_states": X}),
    ("diffusers.models.attention_processor.Attention", "128, heads=4, dim_head=32",
     {"hidden_states": X}),
    ("diffusers.models.normalization.AdaLayerNormZero", "128, 10",
     {"x": X, "timestep": "int64[2]<100", "class_labels": "int64[2]<10",
      "hidden_dtype": "torch.float32"}),
)  # fmt: skip
MODES = ("train-float32", "eval-float32", "train-bfloat16", "eval-bfloat16")
TOLERANCE = {torch.float32: 2e-4, torch.bfloat16: 6e-2}


@dataclass
class Row:
    """What was found of one module in one mode."""

    captured: str = ""
    right: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    served: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    speedup: float | None = None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", help="Parts of names; all modules where none is given.")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.backends.cudnn.allow_tf32 = False
    rows = []
    for target, init, inputs in MODULES:
        if given.names and not any(name in target for name in given.names):
            continue
        for mode in given.modes.split(","):
            row = examined(target, init, inputs, mode, device=given.device, speed=given.speed)
            rows.append(row)
            show(f"{target.rpartition('.')[2]} {mode}", row)
    n_captured = sum(row.captured not in ("", "nothing") for row in rows)
    n_calls = sum(len(row.right) + len(row.wrong) for row in rows)
    n_right, n_served = (sum(len(getattr(row, of)) for row in rows) for of in ("right", "served"))
    print(f"captured {n_captured} of {len(rows)}")
    print(f"of {n_calls} calls {n_right} right, {n_served} served")
    gains = [row.speedup for row in rows if row.speedup is not None]
    if gains:
        print(f"geometric mean of {len(gains)} speed-ups {statistics.geometric_mean(gains):.2f}")


def show(name: str, row: Row) -> None:
    gain = "" if row.speedup is None else f"{row.speedup:5.2f}x"
    n_calls = len(row.right) + len(row.wrong)
    print(
        f"{name:45s} {gain} right {len(row.right)}/{n_calls} served {len(row.served)}", flush=True
    )
    print(f"    captured: {row.captured}")
    for line in (*row.wrong, *dict.fromkeys(row.missed)):
        print(f"    {line[:230]}")


def examined(
    target: str, init: str, inputs: dict[str, str], mode: str, *, device: str, speed: bool
) -> Row:
    """Return what is found of one module in one mode."""
    row, where = Row(), device.partition(":")[0]
    training, _, dtype = mode.partition("-")
    torch.manual_seed(0)
    try:
        task = kw.load(target, inputs=inputs, init=init)
        module = open_reference(task).build(0).train(training == "train").to(getattr(torch, dtype))
        for weight in module.parameters():  # some parts leave drawing them to their model
            nn.init.normal_(weight, 0.0 if weight.dim() > 1 else 1.0, 0.02)
        examples = tree_map(lambda x: cast(x, module), open_reference(task).inputs(0))
        if dtype == "float32":
            task = task.in_mode(training)
        else:
            task = kw.load(module, inputs=examples, name=task.name)
        result = emitted(task, device)
        if isinstance(result, str):
            row.captured = "nothing"
            row.missed.append(result)
            return row
        assert result.best is not None
        row.captured = "all" if "_replace_forward(" not in result.best.candidate.source else "parts"
        built = kw.build(result).train(training == "train")
        if dtype != "float32":  # the instance itself, with kernels
            built = kw.build([result])
        reference = copy.deepcopy(module).to(where)
        built.to(where).load_state_dict(reference.state_dict())
        examples = tree_map(lambda x: x.to(where) if isinstance(x, torch.Tensor) else x, examples)
        names = list(inspect.signature(module.forward).parameters)
        for name, call in battery(names, examples).items():
            judge(row, name, call, built, reference)
        if speed and row.served:
            row.speedup = timed(built, reference, examples)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        row.wrong.append(f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})")
    return row


def cast(value: Any, module: nn.Module) -> Any:
    dtype = next((weight.dtype for weight in module.parameters()), torch.float32)
    if isinstance(value, torch.dtype):
        return dtype
    is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.to(dtype) if is_float else value


def emitted(task: Any, device: str) -> Result | str:
    """Return the first candidate as the result of a search, or the reason why there is none."""
    dialects = ("cpp",) if device == "cpu" else ("triton", "cuda")
    proposals = RulesProposer().propose(Brief(task, Device.parse(device), dialects, threads=1))
    try:
        best: Proposal = next(proposals)
    except StopIteration as end:
        return str(end.value)
    folder = Path(tempfile.mkdtemp())
    path = write_source(best.candidate, folder, task.name)
    return Result(task, best, verdict(best.candidate, 2.0, device=device), [], "eager", path, "")


Call = Callable[[nn.Module], Any]


def battery(names: list[str], examples: list[Any]) -> dict[str, Call]:
    """Return the calls by name; each gets the built module, and then the module itself."""
    other = tree_map(
        lambda x: torch.cat([x, x]) if isinstance(x, torch.Tensor) and x.dim() else x, examples
    )
    named = dict(zip(names, examples, strict=False))

    def toggled(module: nn.Module) -> Any:
        modes = {part: part.training for part in module.modules()}
        try:
            with torch.no_grad():
                return module.train(not module.training)(*examples)
        finally:
            for part, mode in modes.items():
                part.training = mode

    def reloaded(module: nn.Module) -> Any:
        before = {name: value.clone() for name, value in module.state_dict().items()}
        moved = {n: v * 1.25 if v.is_floating_point() else v for n, v in before.items()}
        try:
            module.load_state_dict(moved)
            with torch.no_grad():
                return module(*examples)
        finally:
            module.load_state_dict(before)

    def trained(module: nn.Module) -> Any:
        module.zero_grad()
        result = module(*examples)
        loss = sum(t.float().square().mean() for t in tree_leaves(result) if needs_gradient(t))
        if isinstance(loss, torch.Tensor):
            loss.backward()
        return result, [weight.grad for weight in module.parameters() if weight.grad is not None]

    return {
        "plain": torch.no_grad()(lambda module: module(*examples)),
        "keyword": torch.no_grad()(lambda module: module(**named)),
        "gradients": trained,
        "other batch": torch.no_grad()(lambda module: module(*other)),
        "other mode": toggled,
        "other weights": reloaded,
    }


def needs_gradient(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def judge(row: Row, name: str, call: Call, built: nn.Module, reference: nn.Module) -> None:
    """Add to the row whether a call is right, and whether a kernel served it."""
    reasons: list[str] = []
    with noted(built, reasons):
        found, wanted = outcome(call, built), outcome(call, reference)
    said = differs(found, wanted)
    (row.wrong if said else row.right).append(f"{name}: {said}")
    if not any(reasons):
        row.served.append(name)
    row.missed += [f"{name} missed: {reason}" for reason in reasons if reason]


@contextlib.contextmanager
def noted(built: nn.Module, reasons: list[str]) -> Iterator[None]:
    """Note why calls of the module, or of a part with kernels, are not served."""
    parts = [part for part in built.modules() if hasattr(part, "why_not")]
    asks = [part.why_not for part in parts] or [built.forward.why_not]  # type: ignore[union-attr]
    hooks = [
        part.register_forward_pre_hook(
            lambda _, args, named, ask=ask: reasons.append(ask(*args, **named)), with_kwargs=True
        )
        for part, ask in zip(parts or [built], asks, strict=True)
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def outcome(call: Call, module: nn.Module) -> Any:
    try:
        torch.manual_seed(1)
        return call(module)
    except Exception as error:
        return error


def differs(found: Any, wanted: Any) -> str:
    """Return how two outcomes differ; empty where they do not."""
    if isinstance(wanted, Exception) or isinstance(found, Exception):
        if isinstance(wanted, Exception) and isinstance(found, Exception):
            return ""
        return f"{found!r:.150} instead of {type(wanted).__name__}"
    one, other = tree_leaves(found), tree_leaves(wanted)
    if type(found).__name__ != type(wanted).__name__ or len(one) != len(other):
        return f"a {type(found).__name__} of {len(one)} instead of {type(wanted).__name__}"
    for a, b in zip(one, other, strict=True):
        if not isinstance(b, torch.Tensor):
            if a != b:
                return f"{a} instead of {b}"
        elif (a.shape, a.dtype) != (b.shape, b.dtype):
            return f"{a.dtype}{list(a.shape)} instead of {b.dtype}{list(b.shape)}"
        elif b.numel():
            error = (a.double() - b.double()).abs().max() / b.double().abs().max().clamp(min=1e-6)
            if not error <= TOLERANCE.get(b.dtype, 0.0):
                return f"off by {float(error):.2g}"
    return ""


@torch.no_grad()
def timed(built: nn.Module, reference: nn.Module, examples: list[Any]) -> float:
    """Return how many times as fast as the module the built one is."""
    times = collections.defaultdict(list)
    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    for _ in range(30):
        for name, module in (("built", built), ("eager", reference)):
            wait()
            start = time.perf_counter_ns()
            module(*examples)
            wait()
            times[name].append(time.perf_counter_ns() - start)
    return statistics.median(times["eager"]) / statistics.median(times["built"])


if __name__ == "__main__":
    main()
