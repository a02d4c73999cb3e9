"""Recipe: everything that a stage of training is told, and presets after published ones."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kernelwright.archive import without_password
from kernelwright.core.errors import UsageError, nearest
from kernelwright.dataset.pairs import Pair
from kernelwright.train import reward

STAGES = ("sft", "selfsup", "contrastive")
FILE_NAME = "recipe.json"
DATASET = "dataset"
"""Its digest's name in that file; empty where tasks are the archive's."""
COLOCATE = "colocate"
FREE = (
    "budget_s", "steps", "out", "threads", "jobs", "checkpoint_every", "vllm", "recompute",
)  # fmt: skip
"""What may differ when a stage goes on: how long, where, and with how many hands."""

MOST: Mapping[str, float] = {
    "seed": 2**32 - 1, "rank": 4096, "learning_rate": 1, "temperature": 100,
}  # fmt: skip
"""The largest numbers that generators take, or that say anything; the least is nought."""


@dataclass(frozen=True)
class Recipe:
    """One stage of training. Stored with the checkpoints; a stage goes on with the same one."""

    stage: str
    model: str
    """A checkpoint's folder, a GGUF file, or a name on the hub."""
    out: str
    archive: str
    """Keeps the verdicts and what each step logged; sft may go without one."""
    dialects: tuple[str, ...] = ()
    """In which kernels are asked for, in turns; empty: all that can run on the device."""
    device: str = "cpu"
    """What candidates are judged on; the model is trained on a GPU where there is one."""
    threads: int = 0
    budget_s: float = 3600.0
    """Of the stage, over all its runs; where it has a number of steps, of one run."""
    steps: int = 0
    """Of the optimizer; 0: as many as the budget allows, by sft at most those of its epochs."""
    checkpoint_every: int = 10
    """Steps: what is lost at most when the process is killed."""
    seed: int = 0
    rank: int = 16
    """Of the adapter (LoRA); 0 trains all weights."""
    learning_rate: float = 0.0
    """0: 2e-4 for an adapter's sft, a tenth for all weights, a tenth again by reinforcement."""
    batch: int = 8
    """Examples, or answers, that the trainer's device holds at a time."""
    recompute: bool = True
    """Whether a GPU that trains keeps little of the forward pass and computes it again in the
    backward pass: a third more work, a fraction of the memory."""
    epochs: int = 3
    """Of sft."""
    max_tokens: int = 2048
    """Of one example of sft; of one answer by reinforcement."""
    max_prompt_tokens: int = 4096
    """A longer prompt goes without its exemplars; a task that is longer still is left out."""
    tasks: int = 4
    """Tasks in one step of reinforcement."""
    group: int = 8
    """Answers to each task's prompt, which are compared with one another."""
    updates: int = 1
    """Steps of the optimizer on each batch of judged answers, after the first with clipped ratios:
    where verdicts take most of the time, more learns more from each of them."""
    turns: int = 1
    """Answers in each conversation: after each but the last the model is shown the verdict. All
    turns of a task's conversations are one group."""
    temperature: float = 1.0
    reward: str = "speed"
    """A name in ``reward.REWARDS``."""
    smooth: bool = True
    """Whether rewards are clipped z-scores of their group, or divided by its deviation alone."""
    exemplars: int = 2
    """Earlier kernels that a prompt shows; 0: none, which is plain GRPO."""
    bare: float = 0.5
    """The share of prompts that show none though there are some: a model that is always shown
    kernels need not write from the task alone, and it is asked to whenever a search begins."""
    jobs: int = 4
    """Tasks whose answers are built and checked side by side."""
    vllm: str = ""
    """What writes answers by reinforcement: COLOCATE, vLLM on the trainer's own device, or the URL
    of a vLLM server that takes weights; empty: the trainer's own model."""

    def __post_init__(self) -> None:
        if self.stage not in STAGES:
            raise UsageError(
                f'no stage "{self.stage}"', seen=self.stage, do=nearest(self.stage, STAGES)
            )
        for name, most in MOST.items():
            value = getattr(self, name)
            if not 0 <= value <= most:  # nor is a NaN
                raise UsageError(
                    f"{name} does not fit", seen=f"{value}", do=f"give a number from 0 to {most}"
                )
        reward.find(self.reward)
        if self.vllm:
            _check_vllm(self.vllm, self.stage, self.model)
        if self.stage != "sft" and self.group < 2:
            raise UsageError(
                "answers are compared inside a group, and one is none",
                seen=f"group {self.group}",
                do="give a group of 2 or more",
            )
        if self.turns < 1:
            raise UsageError("no turn, no answer", seen=f"turns {self.turns}", do="give 1 or more")
        if self.updates < 1:
            raise UsageError(
                "no update, no training", seen=f"updates {self.updates}", do="give 1 or more"
            )

    @property
    def folder(self) -> Path:
        """Where the stage keeps its checkpoints and what comes of it."""
        return Path(self.out) / self.stage

    @property
    def told(self) -> dict[str, Any]:
        """All that is told, as it may be stored: without a password."""
        is_url = "://" in self.archive
        archive = without_password(self.archive) if is_url else self.archive
        return dataclasses.asdict(self) | {"archive": archive}

    @property
    def rate(self) -> float:
        if self.learning_rate:
            return self.learning_rate
        return 2e-4 * (1 if self.rank else 0.1) * (1 if self.stage == "sft" else 0.1)


def _check_vllm(vllm: str, stage: str, model: str) -> None:
    """See that it says where vLLM is, and that vLLM can open the model there.

    Raises:
        UsageError: it cannot, or it is no place, or a URL that holds a secret.
    """
    if vllm == COLOCATE:
        if stage != "sft" and model.endswith(".gguf"):  # sft asks for no answers
            raise UsageError(
                "vLLM opens no .gguf by its folder",
                seen=model,
                do="train from a checkpoint's folder, such as that of sft",
            )
        return
    url = urlsplit(vllm)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise UsageError(
            f'"{vllm}" is no vLLM', seen=vllm, do=f"write {COLOCATE}, or a server's URL"
        )
    if url.username or url.password or url.query:
        raise UsageError(
            "vLLM's URL holds a secret, and would be stored",
            seen=f"{url.scheme}://…@{url.hostname}",
            do="name a server that asks for none",
        )


PRESETS: Mapping[str, Mapping[str, Any]] = {
    # arXiv 2507.14111: stage 2 rewards rightness, stage 3 contrasts two scored kernels.
    "cuda-l1": {
        "selfsup": {"reward": "right", "exemplars": 0, "smooth": False},
        "contrastive": {"reward": "speed", "exemplars": 2, "smooth": True},
    },
    # The same trainer, reward and budget, with prompts that show no kernels: what contrastive
    # must be better than.
    "plain": {
        "selfsup": {"reward": "right", "exemplars": 0, "smooth": False},
        "contrastive": {"reward": "speed", "exemplars": 0, "smooth": True},
    },
    # arXiv 2507.05687: reinforcement by execution alone, no exemplars.
    "autotriton": {
        "selfsup": {"reward": "right", "exemplars": 0, "smooth": False},
        "contrastive": {"reward": "right", "exemplars": 0, "smooth": False},
    },
}


def recipe(stage: str, preset: str = "cuda-l1", **told: Any) -> Recipe:
    """A preset's recipe for a stage, with what was told over it (None: not told).

    Raises:
        UsageError: no such stage, preset or reward.
    """
    if preset not in PRESETS:
        raise UsageError(f'no preset "{preset}"', seen=preset, do=nearest(preset, PRESETS))
    given = {key: value for key, value in told.items() if value is not None}
    return Recipe(stage=stage, **{**PRESETS[preset].get(stage, {}), **given})


def require_same(wanted: Recipe, pairs: Sequence[Pair]) -> None:
    """See that what the stage's folder was begun with, if it was, is the same.

    Raises:
        UsageError: the folder holds a stage with another recipe or dataset, or a damaged one.
    """
    path = wanted.folder / FILE_NAME
    if not path.exists():
        return
    told = _told(wanted, pairs)
    first = {part.name: part.default for part in dataclasses.fields(Recipe)}
    try:
        # It may be of a version that had less to tell.
        there = first | {DATASET: told[DATASET]} | json.loads(path.read_text())
    except (ValueError, TypeError) as error:
        raise UsageError(
            f"{path} is damaged", seen=str(error), do="give --out another folder"
        ) from error
    other = [k for k in told if k not in FREE and there.get(k) != told[k]]
    if other:
        seen = ", ".join(f"{k} {there.get(k)!r}, now {told[k]!r}" for k in other)
        raise UsageError(
            f"{wanted.folder} holds a stage that was begun otherwise",
            seen=seen,
            do="give --out another folder, or the same options as before",
        )


def keep(wanted: Recipe, pairs: Sequence[Pair]) -> None:
    """Write what a stage is told to its folder."""
    path = wanted.folder / FILE_NAME
    wanted.folder.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.part")  # each of several processes writes it
    partial.write_text(json.dumps(_told(wanted, pairs), indent=1) + "\n")
    partial.replace(path)


def _told(recipe: Recipe, pairs: Sequence[Pair]) -> dict[str, Any]:
    """All that a stage is told, as JSON has it."""
    found = hashlib.blake2b(digest_size=8)
    for pair in pairs:
        found.update(f"{pair.task_digest} {pair.split} {pair.answer}\n".encode())
    told = json.loads(json.dumps(recipe.told))
    return told | {DATASET: found.hexdigest() if pairs else ""}
