"""Recipe: all settings of a training stage, and presets that follow publications."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kernelwright.archive import ranking, without_password
from kernelwright.core.errors import UsageError, nearest
from kernelwright.core.option import Option, with_option
from kernelwright.dataset.pairs import Pair
from kernelwright.train import reward
from kernelwright.train.reward import ADVANTAGES, CLIPPED, PARTS

STAGES = ("sft", "prefer", "selfsup", "contrastive")
SUPERVISED = ("sft", "prefer")
"""The stages that learn from a dataset alone, without sampling answers."""
FILE_NAME = "recipe.json"
DATASET = "dataset"
"""Key of the dataset's digest in that file; the digest is empty if tasks come from the archive."""
COLOCATE = "colocate"
FULL, FAST = JUDGES = ("full", "fast")
FREE = (
    "budget_s",
    "steps",
    "out",
    "threads",
    "jobs",
    "cluster",
    "gpu_model",
    "checkpoint_every",
    "vllm",
    "recompute",
)
"""Settings that may change when a stage is resumed: its length, its place and its parallelism."""

MOST: Mapping[str, float] = {
    "seed": 2**32 - 1,
    "rank": 4096,
    "learning_rate": 1,
    "temperature": 100,
    "audit": 1,
}
"""Upper bounds of settings: the largest seed that generators accept, and for the others the largest
values that make sense. The lower bound is 0."""


@dataclass(frozen=True)
class Recipe:
    """One training stage. It is stored with the checkpoints and must not change on resume."""

    stage: str
    model: str
    """A checkpoint's folder, a GGUF file, or a name on the hub."""
    out: str = with_option(
        MISSING, Option("Write stages here.", metavar="DIR", default="kernelwright-out/train")
    )
    archive: str = with_option(
        MISSING,
        Option(
            "Keep verdicts here, and take tasks from it without --dataset.",
            metavar="URL",
            default="kernelwright-out/archive.sqlite",
        ),
    )
    """URL of the archive for verdicts and the metrics of each step; optional for sft."""
    dialects: tuple[str, ...] = with_option(
        (),
        Option(
            "Ask for kernels in this dialect; repeatable.",
            flag="--dialect",
            default="all that the device runs",
        ),
    )
    """The dialects that prompts ask for, in turn; empty means all that run on the device."""
    device: str = with_option(
        "cpu", Option("Judge kernels on cpu (default), cuda, …", metavar="DEVICE", default="")
    )
    """The device that candidates are judged on. The model trains on a GPU if there is one."""
    threads: int = with_option(
        0, Option("CPU threads of candidates; 0 (default): all cores.", default="", least=0)
    )
    budget_s: float = 3600.0
    """Time budget of the whole stage over all its runs, or of one run if ``steps`` is set."""
    steps: int = with_option(
        0, Option("End after this many optimizer steps.", default="by budget", least=1)
    )
    """Number of optimizer steps; 0 means as many as the budget allows, and for sft at most
    ``epochs``."""
    checkpoint_every: int = with_option(
        10, Option("Keep a checkpoint each time after this many steps.", metavar="STEPS", least=1)
    )
    """Number of steps between checkpoints: at most this much is lost if the process is killed."""
    seed: int = with_option(0, Option("Draw tasks and answers by this seed."))
    rank: int = with_option(16, Option("Train an adapter of this rank; 0: all weights.", least=0))
    """Rank of the LoRA adapter; 0 trains all weights."""
    learning_rate: float = with_option(
        0.0,
        Option(
            "Learn at this rate.",
            default="2e-4; a tenth for all weights, a tenth in reinforcement",
            above=0,
        ),
    )
    """Learning rate. 0 means 2e-4 for sft with an adapter, a tenth of it if all weights are
    trained, and a tenth again for reinforcement."""
    batch: int = with_option(8, Option("Train on this many examples at a time.", least=1))
    """Number of examples or answers on the trainer's device at a time."""
    recompute: bool = with_option(
        True,
        Option(
            "Recompute activations in the backward pass (default): slower, less memory. Or keep "
            "them.",
            default="",
        ),
    )
    """Whether a training GPU recomputes activations in the backward pass instead of storing them:
    a third more work for a fraction of the memory."""
    epochs: int = with_option(
        3, Option("Go through the dataset at most this many times, in sft.", least=1)
    )
    """Number of epochs of sft."""
    max_tokens: int = with_option(
        2048,
        Option(
            "Cut an answer after this many tokens, and leave out an sft example that has more than "
            "these and --max-prompt-tokens together.",
            least=1,
        ),
    )
    """Maximum number of tokens of an sft example, or of an answer in reinforcement."""
    max_prompt_tokens: int = with_option(
        4096, Option("Leave out the exemplars of a longer prompt, or else its task.", least=1)
    )
    """Maximum number of tokens of a prompt. A longer prompt loses its exemplars; a task whose
    prompt is still too long is left out."""
    tasks: int = with_option(4, Option("Use this many tasks in a reinforcement step.", least=1))
    """Number of tasks in one reinforcement step."""
    group: int = with_option(8, Option("Ask for this many answers to each task.", least=1))
    """Number of answers to each task's prompt; their rewards are compared with one another."""
    updates: int = with_option(1, Option("Make this many optimizer steps on each batch.", least=1))
    """Number of optimizer steps on each batch of judged answers; steps after the first use clipped
    ratios. More steps learn more from each verdict, which helps if judging takes most of the
    time."""
    turns: int = with_option(
        1, Option("Let a conversation have this many answers, with verdicts in between.", least=1)
    )
    """Number of answers in a conversation. The model sees the verdict after each but the last. All
    turns of a task's conversations form one group."""
    temperature: float = with_option(1.0, Option("Sample answers at this temperature.", above=0))
    reward: str = with_option(
        "speed",
        Option("Reward speed, right or milestone.", metavar="NAME", default="the preset's"),
    )
    """A name in ``reward.REWARDS``."""
    advantage: str = with_option(
        CLIPPED,
        Option(
            "Compare a group's rewards as clipped z-scores, as scaled by their deviation, or with "
            "correctness and speed in parts.",
            metavar="|".join(ADVANTAGES),
            default="the preset's",
        ),
    )
    """One of ``reward.ADVANTAGES``."""
    gradient_norm: float = with_option(
        1.0, Option("Cut the gradient of a step down to this norm.", default="", above=0)
    )
    """Largest norm of a step's gradient."""
    clip_high: float = with_option(
        0.2,
        Option(
            "Let an update raise an answer's probability by at most this share.",
            default="",
            above=0,
        ),
    )
    """Upper bound of the probability ratio minus 1 (``epsilon_high``). It has an effect only with
    several ``updates``. DAPO, arXiv 2503.14476, uses 0.28."""
    exemplars: int = with_option(
        2,
        Option(
            "Show at most this many scored kernels in a prompt.",
            default="the preset's, 0 or 2",
            least=0,
            most=6,
        ),
    )
    """Number of earlier kernels that a prompt shows; 0 is plain GRPO."""
    bare: float = with_option(0.5, Option("Let this share of prompts show none.", least=0, most=1))
    """Share of prompts that show no exemplars although there are some. A model that always sees
    kernels never learns to write one from the task alone, which every search begins with."""
    contrast: float = with_option(
        ranking.CONTRAST,
        Option(
            "Show, or prefer, kernels whose speeds differ by at least this factor.",
            above=1,
        ),
    )
    """Smallest ratio of the speeds of two kernels that a prompt shows, or of the kernels of a pair
    in the prefer stage."""
    shuffled: bool = with_option(
        False,
        Option(
            "Give the kernels that a prompt shows one another's verdicts: the control that tells "
            "contrast from more text. Or their own (default).",
            default="",
        ),
    )
    """Whether the kernels of a prompt show one another's verdicts."""
    preference: float = with_option(
        0.1, Option("Hold a preferred model this close to the one before it.", above=0)
    )
    """The beta of DPO in the prefer stage, arXiv 2305.18290."""
    imitation: float = with_option(
        0.2, Option("Weigh the loss of the preferred answer itself by this.", least=0)
    )
    """Weight of the supervised loss on the chosen answer beside DPO's in the prefer stage. Without
    it DPO may make both answers less likely."""
    judge: str = with_option(
        FULL,
        Option(
            "Let the full judge decide, or the fast one: trials of answers that a grammar admits, "
            "over eager alone.",
            metavar="|".join(JUDGES),
        ),
    )
    """One of ``JUDGES``: who judges answers in reinforcement (``fast_judge``)."""
    audit: float = with_option(
        0.05,
        Option(
            "Let the full judge judge this share of the fast one's answers too.", least=0, most=1
        ),
    )
    """Share of the fast judge's answers that the full judge judges as well."""
    jobs: int = with_option(
        0,
        Option(
            "Judge the answers to this many tasks side by side.",
            default="4; on a cluster as many as fit",
            least=1,
        ),
    )
    """Number of tasks whose answers are built and checked side by side; 0 means 4, and on a cluster
    as many as fit."""
    cluster: str = ""
    """Address of the Ray cluster that judges answers; empty for this machine."""
    gpu_model: str = ""
    """The GPUs of the cluster that judge, by Ray's name for their model; empty for its only one."""
    vllm: str = with_option(
        "",
        Option(
            "Let vLLM write answers: on this device, or a server.",
            metavar="colocate|URL",
            default="the trainer itself",
        ),
    )
    """What generates answers in reinforcement: COLOCATE for vLLM on the trainer's own device, the
    URL of a vLLM server that accepts weights, or empty for the trainer's own model."""

    def __post_init__(self) -> None:
        if self.stage not in STAGES:
            raise UsageError(
                f'no stage "{self.stage}"', seen=self.stage, do=nearest(self.stage, STAGES)
            )
        for name, most in MOST.items():
            value = getattr(self, name)
            if not 0 <= value <= most:  # true for NaN as well
                raise UsageError(
                    f"{name} is out of range", seen=f"{value}", do=f"give a number from 0 to {most}"
                )
        if self.judge not in JUDGES:
            raise UsageError(
                f'no judge "{self.judge}"', seen=self.judge, do=nearest(self.judge, JUDGES)
            )
        if self.judge == FAST and self.reward == "milestone":
            raise UsageError(
                "milestones are speedups over torch.compile, which the fast judge does not run",
                seen="reward milestone, judge fast",
                do="give --judge full, or --reward speed",
            )
        reward.find(self.reward)
        _check_advantage(self.advantage, self.reward)
        if self.vllm:
            _check_vllm(self.vllm, self.stage, self.model)
        if self.stage not in SUPERVISED and self.group < 2:
            raise UsageError(
                "a group needs at least two answers, because they are compared with one another",
                seen=f"group {self.group}",
                do="give a group of 2 or more",
            )
        if self.turns < 1:
            raise UsageError(
                "a conversation needs at least one turn",
                seen=f"turns {self.turns}",
                do="give 1 or more",
            )
        if self.updates < 1:
            raise UsageError(
                "a batch needs at least one optimizer step",
                seen=f"updates {self.updates}",
                do="give 1 or more",
            )

    @property
    def folder(self) -> Path:
        """The folder of the stage's checkpoints and results."""
        return Path(self.out) / self.stage

    @property
    def storable(self) -> dict[str, Any]:
        """All settings in the form in which they are stored, without passwords."""
        is_url = "://" in self.archive
        archive = without_password(self.archive) if is_url else self.archive
        return dataclasses.asdict(self) | {"archive": archive}

    @property
    def rate(self) -> float:
        if self.learning_rate:
            return self.learning_rate
        return 2e-4 * (1 if self.rank else 0.1) * (1 if self.stage == "sft" else 0.1)


def _check_advantage(advantage: str, name: str) -> None:
    """Check that there is such an advantage, and that it goes with the reward of this name.

    Raises:
        UsageError: there is no such advantage, or it does not use the reward.
    """
    if advantage not in ADVANTAGES:
        raise UsageError(
            f'no advantage "{advantage}"', seen=advantage, do=nearest(advantage, ADVANTAGES)
        )
    if advantage == PARTS and name != "speed":
        raise UsageError(
            "advantages in parts count correctness and speed, and no other reward",
            seen=f"reward {name}",
            do="leave the reward at speed, or give --advantage clipped",
        )


def _check_vllm(vllm: str, stage: str, model: str) -> None:
    """Check that ``vllm`` names a vLLM and that it can open the model.

    Raises:
        UsageError: vLLM cannot open the model, or ``vllm`` is neither COLOCATE nor a URL, or it is
            a URL that contains a secret.
    """
    if vllm == COLOCATE:
        if stage not in SUPERVISED and model.endswith(".gguf"):  # only the others ask for answers
            raise UsageError(
                "vLLM cannot open a .gguf file for training",
                seen=model,
                do="train from a checkpoint's folder, such as the one that sft wrote",
            )
        return
    url = urlsplit(vllm)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise UsageError(
            f'"{vllm}" does not name a vLLM', seen=vllm, do=f"write {COLOCATE}, or a server's URL"
        )
    if url.username or url.password or url.query:
        raise UsageError(
            "the URL of vLLM contains a secret, and recipes are stored",
            seen=f"{url.scheme}://…@{url.hostname}",
            do="name a server that needs no secret in its URL",
        )


PRESETS: Mapping[str, Mapping[str, Any]] = {
    # arXiv 2507.14111: stage 2 rewards correctness, stage 3 contrasts two scored kernels.
    "cuda-l1": {
        "selfsup": {"reward": "right", "exemplars": 0, "advantage": "scaled"},
        "contrastive": {"reward": "speed", "exemplars": 2, "advantage": "clipped"},
    },
    # The same trainer, reward and budget, with prompts that show no kernels: the baseline that
    # contrastive training must beat.
    "plain": {
        "selfsup": {"reward": "right", "exemplars": 0, "advantage": "scaled"},
        "contrastive": {"reward": "speed", "exemplars": 0, "advantage": "clipped"},
    },
    # Correctness and speed rewarded apart, exemplars of clearly different speeds, small steps.
    "parts": {
        "selfsup": {"reward": "right", "exemplars": 0, "advantage": "scaled"},
        "contrastive": {
            "reward": "speed",
            "exemplars": 2,
            "advantage": "parts",
            "contrast": 1.25,
            "gradient_norm": 0.2,
            "clip_high": 0.28,
        },
    },
    # arXiv 2507.05687: reinforcement by execution alone, without exemplars.
    "autotriton": {
        "selfsup": {"reward": "right", "exemplars": 0, "advantage": "scaled"},
        "contrastive": {"reward": "right", "exemplars": 0, "advantage": "scaled"},
    },
}


def recipe(stage: str, preset: str = "cuda-l1", **settings: Any) -> Recipe:
    """Return a preset's recipe for a stage; ``settings`` override it unless they are None.

    Raises:
        UsageError: there is no such stage, preset or reward.
    """
    if preset not in PRESETS:
        raise UsageError(f'no preset "{preset}"', seen=preset, do=nearest(preset, PRESETS))
    given = {key: value for key, value in settings.items() if value is not None}
    return Recipe(stage=stage, **{**PRESETS[preset].get(stage, {}), **given})


def require_same(wanted: Recipe, pairs: Sequence[Pair]) -> None:
    """Check that the stage in the folder, if any, has the same recipe and dataset.

    Raises:
        UsageError: the folder holds a stage with another recipe or dataset, or a damaged one.
    """
    path = wanted.folder / FILE_NAME
    if not path.exists():
        return
    stored = _stored_form(wanted, pairs)
    defaults = {part.name: part.default for part in dataclasses.fields(Recipe)}
    try:
        # An earlier version may have written it, with fewer settings.
        there = defaults | {DATASET: stored[DATASET]} | json.loads(path.read_text())
    except (ValueError, TypeError) as error:
        raise UsageError(
            f"{path} is damaged", seen=str(error), do="give --out another folder"
        ) from error
    other = [k for k in stored if k not in FREE and there.get(k) != stored[k]]
    if other:
        seen = ", ".join(f"{k} {there.get(k)!r}, now {stored[k]!r}" for k in other)
        raise UsageError(
            f"{wanted.folder} holds a stage that was begun with other options",
            seen=seen,
            do="give --out another folder, or the same options as before",
        )


def keep(wanted: Recipe, pairs: Sequence[Pair]) -> None:
    """Write a stage's recipe and the digest of its dataset to its folder."""
    path = wanted.folder / FILE_NAME
    wanted.folder.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.part")  # every process of the stage writes it
    partial.write_text(json.dumps(_stored_form(wanted, pairs), indent=1) + "\n")
    partial.replace(path)


def _stored_form(recipe: Recipe, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return the recipe and the digest of the dataset as JSON values."""
    found = hashlib.blake2b(digest_size=8)
    for pair in pairs:
        found.update(f"{pair.task_digest} {pair.split} {pair.answer}\n".encode())
    stored = json.loads(json.dumps(recipe.storable))
    return stored | {DATASET: found.hexdigest() if pairs else ""}
