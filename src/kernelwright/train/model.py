"""The model that is trained: opened from a checkpoint, and written so that others can serve it."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import Any

from kernelwright.core.errors import UsageError
from kernelwright.llm.chat import ends
from kernelwright.train.recipes import Recipe

PACKAGES = ("transformers", "trl", "peft", "accelerate", "datasets")
TARGETS = "all-linear"  # adapters on every linear layer: LoRA Without Regret, thinkingmachines.ai


def need_packages(recipe: Recipe) -> None:
    """See that everything is installed that training needs.

    Raises:
        UsageError: something is missing.
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
    """The tokenizer of a checkpoint, set to fill batches on the left.

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
    """The checkpoint's weights: bfloat16 on a GPU where they stay as they are, else float32, in
    which steps do not round to nothing.

    Raises:
        UsageError: there is no such model.
    """
    import torch
    from transformers import AutoModelForCausalLM, GgufConfig

    is_narrow = is_frozen and torch.cuda.is_available()
    told = {"dtype": torch.bfloat16 if is_narrow else torch.float32}
    if model.endswith(".gguf"):  # left in their blocks, weights could be neither trained nor saved
        told["quantization_config"] = GgufConfig(dequantize=True)
    opened = _from_pretrained(AutoModelForCausalLM, model, **told)
    opened.generation_config.eos_token_id = ends(tokenizer, opened)  # what servers stop at
    opened.generation_config.pad_token_id = tokenizer.pad_token_id
    return opened


def adapter(recipe: Recipe) -> Any:
    """The adapter to train in front of frozen weights; None where all weights are trained."""
    if not recipe.rank:
        return None
    from peft import LoraConfig

    return LoraConfig(
        r=recipe.rank, lora_alpha=2 * recipe.rank, target_modules=TARGETS, task_type="CAUSAL_LM"
    )


def settings(recipe: Recipe) -> dict[str, Any]:
    """What the trainers of all stages are told alike."""
    import torch

    on_gpu = torch.cuda.is_available()
    return {
        "output_dir": str(recipe.folder / "checkpoints"),
        "learning_rate": recipe.rate,
        "bf16": on_gpu,
        # Told so, several processes find one another without a GPU as well.
        "use_cpu": not torch.accelerator.is_available(),
        "gradient_checkpointing": on_gpu and recipe.recompute,
        "save_strategy": "steps",
        "save_steps": recipe.checkpoint_every,
        "save_total_limit": 2,
        "logging_steps": 1,
        "report_to": [],
        "seed": recipe.seed,
    }


def alone(args: Any) -> Any:
    """A trainer's arguments, for one GPU in each process however many it sees: by itself a trainer
    would put a copy of the model on each, and candidates could have none for themselves."""
    if args.n_gpu > 1:
        args._n_gpu = 1  # as transformers does where a model is spread already
    return args


def write(model: Any, tokenizer: Any, folder: Path, adapter_folder: Path) -> None:
    """Write a checkpoint that any server takes, and the adapter alone, which is small to send.

    The folder appears whole.
    """
    if hasattr(model, "merge_and_unload"):
        model.save_pretrained(adapter_folder)
        model = model.merge_and_unload()
    partial = folder.with_name(folder.name + ".part")
    shutil.rmtree(partial, ignore_errors=True)
    model.save_pretrained(partial)
    tokenizer.save_pretrained(partial)
    shutil.rmtree(folder, ignore_errors=True)  # of a stage that went on for more steps
    partial.rename(folder)


def _from_pretrained(kind: Any, model: str, **options: Any) -> Any:
    path = Path(model).expanduser()
    if path.suffix == ".gguf" and path.is_file():
        options["gguf_file"] = path.name
        path = path.parent
    name = str(path) if path.exists() else model
    try:
        return kind.from_pretrained(name, **options)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"no model {model} can be opened",
            seen=str(error).strip().splitlines()[0][:300],
            do="name a checkpoint's folder, a .gguf file, or a model on the hub that is reachable",
        ) from error
