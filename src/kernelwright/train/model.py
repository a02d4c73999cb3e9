"""The model being trained: opened from a checkpoint, and written in a form that servers load."""

from __future__ import annotations

import importlib.util
import re
import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright.core.errors import UsageError
from kernelwright.llm.chat import ends
from kernelwright.train.recipes import Recipe

PACKAGES = ("transformers", "trl", "peft", "accelerate", "datasets")
HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w.-]+)?(?<!\.gguf)")
"""Names of models on the hub. What else is not on this machine is a mistake, and not asked for."""
TARGETS = "all-linear"  # adapters on every linear layer: LoRA Without Regret, thinkingmachines.ai


def need_packages(recipe: Recipe) -> None:
    """Check that the packages needed for training are installed.

    Raises:
        UsageError: a package is missing.
    """
    more = {"gguf": recipe.model.endswith(".gguf"), "vllm": bool(recipe.vllm)}
    wanted = (*PACKAGES, *(name for name, is_needed in more.items() if is_needed))
    missing = [name for name in wanted if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"training needs {', '.join(missing)}",
            seen="not installed",
            do="pip install " + ("'trl[vllm]'" if missing == ["vllm"] else "'kernelwright[train]'"),
        )


def open_tokenizer(model: str) -> Any:
    """Open the tokenizer of a checkpoint, set to pad batches on the left.

    Raises:
        UsageError: there is no such model.
    """
    from transformers import AutoTokenizer

    tokenizer = _from_pretrained(AutoTokenizer, model, padding_side="left")
    if tokenizer.eos_token_id is None:
        raise UsageError(
            f"the tokenizer of {model} has no end of text",
            seen="eos_token is None",
            do="set eos_token in its tokenizer_config.json",
        )
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def open_model(model: str, tokenizer: Any, *, is_frozen: bool) -> Any:
    """Load the checkpoint's weights.

    Frozen weights are bfloat16 on a GPU. Weights that are trained are float32, since bfloat16
    would round small steps to zero.

    Raises:
        UsageError: there is no such model.
    """
    import torch
    from transformers import AutoModelForCausalLM, GgufConfig

    is_narrow = is_frozen and torch.cuda.is_available()
    dtype = torch.bfloat16 if is_narrow else torch.float32
    if model.endswith(".gguf"):  # quantized weights could be neither trained nor saved
        plain = GgufConfig(dequantize=True)
        opened = _from_pretrained(
            AutoModelForCausalLM, model, dtype=dtype, quantization_config=plain
        )
    else:
        opened = _from_pretrained(AutoModelForCausalLM, model, dtype=dtype)
    opened.generation_config.eos_token_id = ends(tokenizer, opened)  # servers stop at these
    opened.generation_config.pad_token_id = tokenizer.pad_token_id
    return opened


def adapter(recipe: Recipe) -> Any:
    """Return the LoRA adapter to train beside frozen weights; None if all weights are trained."""
    if not recipe.rank:
        return None
    from peft import LoraConfig

    return LoraConfig(
        r=recipe.rank, lora_alpha=2 * recipe.rank, target_modules=TARGETS, task_type="CAUSAL_LM"
    )


def settings(recipe: Recipe) -> dict[str, Any]:
    """Return the trainer settings that all stages share."""
    import torch

    on_gpu = torch.cuda.is_available()
    return {
        "output_dir": str(recipe.folder / "checkpoints"),
        "learning_rate": recipe.rate,
        "max_grad_norm": recipe.gradient_norm,
        "bf16": on_gpu,
        # Set explicitly so that several processes can form a group without a GPU too.
        "use_cpu": not torch.accelerator.is_available(),
        "gradient_checkpointing": on_gpu and recipe.recompute,
        "save_strategy": "steps",
        "save_steps": recipe.checkpoint_every,
        "save_total_limit": 2,
        "logging_steps": 1,
        "report_to": [],
        "seed": recipe.seed,
    }


def supervised(recipe: Recipe) -> dict[str, Any]:
    """Return the trainer settings of a stage that goes through a dataset."""
    return settings(recipe) | {
        "per_device_train_batch_size": recipe.batch,
        "num_train_epochs": recipe.epochs,
        "max_steps": recipe.steps or -1,
        "lr_scheduler_type": "cosine",
        "warmup_steps": 5,
        "max_length": None,  # an example that is too long is left out, not cut
    }


def fitting(examples: Sequence[Any], lengths: Sequence[int], recipe: Recipe) -> list[Any]:
    """Return the examples that are short enough; ``lengths`` are their numbers of tokens.

    Half a kernel would teach the model to stop halfway, so the others are left out.

    Raises:
        UsageError: every example is too long.
    """
    longest = recipe.max_prompt_tokens + recipe.max_tokens
    found = [each for each, n in zip(examples, lengths, strict=True) if n <= longest]
    if not found:
        raise UsageError(
            "every example is too long",
            seen=f"the shortest has {min(lengths)} tokens",
            do=f"give more than --max-tokens {recipe.max_tokens}",
        )
    if n_left := len(examples) - len(found):
        warnings.warn(
            f"{n_left} of {len(examples)} examples are left out: they have more than the {longest} "
            "tokens of --max-prompt-tokens and --max-tokens",
            stacklevel=2,
        )
    return found


def alone(args: Any) -> Any:
    """Restrict a trainer's arguments to one GPU per process, however many are visible.

    A trainer would otherwise put a copy of the model on each GPU and leave none for candidates.
    """
    if args.n_gpu > 1:
        args._n_gpu = 1  # as transformers does for a model that is spread over several GPUs
    return args


def write(model: Any, tokenizer: Any, folder: Path, adapter_folder: Path) -> None:
    """Write a merged checkpoint that any server loads, and the small adapter on its own.

    The checkpoint's folder is written under another name and renamed when it is complete.
    """
    if hasattr(model, "merge_and_unload"):
        model.save_pretrained(adapter_folder)
        model = model.merge_and_unload()
    partial = folder.with_name(folder.name + ".part")
    shutil.rmtree(partial, ignore_errors=True)
    model.save_pretrained(partial)
    tokenizer.save_pretrained(partial)
    shutil.rmtree(folder, ignore_errors=True)  # it exists if a stage was resumed for more steps
    partial.rename(folder)


def _from_pretrained(kind: Any, model: str, **options: Any) -> Any:
    path = Path(model).expanduser()
    if path.suffix == ".gguf" and path.is_file():
        options["gguf_file"] = path.name
        path = path.parent
    elif not path.exists() and not HUB_NAME.fullmatch(model):
        raise UsageError(
            f"there is no model {model}",
            seen="no such file or folder",
            do="name a checkpoint's folder, a .gguf file, or a model on the hub as OWNER/NAME",
        )
    name = str(path) if path.exists() else model
    try:
        return kind.from_pretrained(name, **options)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"no model {model} can be opened",
            seen=str(error).strip().splitlines()[0][:300],
            do="name a checkpoint's folder, a .gguf file, or a model on the hub that is reachable",
        ) from error
