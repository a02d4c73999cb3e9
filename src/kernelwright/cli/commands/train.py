"""``kernelwright train``: a checkpoint that writes better kernels, one stage after another."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from kernelwright.cli.options import CLUSTER, JSON, field_options
from kernelwright.console.terminal import Answer
from kernelwright.core.errors import UsageError
from kernelwright.core.settings import load_settings, parse_budget
from kernelwright.dataset.pairs import open_pairs
from kernelwright.train import PRESETS, STAGES, SUPERVISED, Recipe, Trained, leave, recipe, train

RANK = "RANK"  # by it torch's launchers number the processes that train
GOES_ON = 1  # the budget ended first: there is no checkpoint yet, and the same command goes on
CURVE = {
    "loss": "loss", "earned": "earned", "share/right": "right", "share/faster": "faster",
    "share/copies": "copies", "share/cheats": "cheats", "judge/candidates_per_s": "judged/s",
    "time/judging_share": "waiting", "time/sampling_share": "sampling",
}  # fmt: skip
"""Columns of the table by the names under which they are logged."""
MAIN = ("earned", "loss")
"""What makes a line a row of it: with several updates, not each of them has new answers."""
N_ROWS = 12  # of the curve on a terminal; the file has all
IN_REINFORCEMENT = {
    "reward", "exemplars", "bare", "advantage", "clip_high", "shuffled", "contrast", "tasks",
    "group", "updates", "turns", "temperature", "vllm", "cluster", "gpu_model", "judge", "audit",
}  # fmt: skip
USED = {
    "sft": {"epochs"},
    "prefer": {"epochs", "contrast", "preference", "imitation"},
    "selfsup": IN_REINFORCEMENT,
    "contrastive": IN_REINFORCEMENT,
}
"""The options that only some stages use, by stage."""


@click.command("train")
@click.argument("stage", metavar="|".join(STAGES))
@click.option(
    "--model",
    required=True,
    metavar="PATH_OR_ID",
    help="Train this: a checkpoint, a .gguf, or a hub's model.",
)
@click.option(
    "--dataset",
    type=click.Path(path_type=Path),
    help="Learn from this folder of `kernelwright dataset build`; sft and prefer need one.",
)
@field_options(Recipe, "archive", "dialects", "device", "threads")
@click.option("--budget", metavar="TIME", help="End the stage after 60m (default), 8h, …")
@field_options(Recipe, "steps")
@click.option(
    "--preset",
    metavar="NAME",
    default="cuda-l1",
    help=f"Begin with the settings of {', '.join(PRESETS)}. Default: cuda-l1.",
)
@field_options(
    Recipe,
    *("reward", "advantage", "exemplars", "bare", "contrast", "shuffled", "tasks", "group"),
    *("updates", "clip_high", "turns", "batch", "recompute", "epochs", "preference", "imitation"),
    *("max_tokens", "max_prompt_tokens", "rank", "learning_rate", "gradient_norm"),
    *("temperature", "checkpoint_every", "judge", "audit", "jobs", "vllm", "seed", "out"),
)
@CLUSTER
@JSON
def command(
    stage: str, dataset: Path | None, budget: str | None, archive: str | None,
    device: str | None, threads: int | None, seed: int | None, out: str | None,
    preset: str, dialects: tuple[str, ...], as_json: bool, **told: Any,
) -> Answer:  # fmt: skip
    """Train a model to write kernels: sft, perhaps prefer, then selfsup, then contrastive.

    Each stage writes STAGE/model below --out, a checkpoint for `--proposer policy --model`, for the
    next stage, or for any server, and STAGE/adapter. The same command goes on where it stopped.
    """
    settings = load_settings(
        Path.cwd(), archive=archive, device=device, threads=threads, seed=seed, out=out,
        dialects=dialects or None,
    )  # fmt: skip
    given = {key: value for key, value in told.items() if value not in (None, ())}
    _refuse_others(stage, given)
    if budget is not None:
        given["budget_s"] = _seconds(budget)
    wanted = recipe(
        stage, preset, archive=settings.archive, device=settings.device, seed=settings.seed,
        threads=settings.threads, dialects=settings.dialects,
        out=out or str(Path(settings.out) / "train"), **given,
    )  # fmt: skip
    if stage in SUPERVISED and dataset is None:
        raise UsageError(
            f"{stage} learns from a dataset, and none is given",
            seen="no --dataset",
            do="kernelwright dataset build --out DIR, then --dataset DIR",
        )
    pairs = () if dataset is None else open_pairs(dataset)
    trained = train(wanted, pairs)
    leave()
    answer = _answer(trained, wanted.folder)
    if int(os.environ.get(RANK, "0")):  # of several processes the first has the say
        click.get_current_context().exit(answer.exit_code)
    return answer


def _refuse_others(stage: str, given: dict[str, Any]) -> None:
    """Refuse options that the stage would pass over in silence."""
    used = USED.get(stage, set())
    others = sorted(given.keys() & set().union(*USED.values()) - used)
    if others and used:
        raise UsageError(
            f"{stage} has no use for some options",
            seen=_flags(others),
            do=f"leave them out; {stage} has {_flags(used)}",
        )


def _flags(names: Iterable[str]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in sorted(names))


def _seconds(budget: str) -> float:
    told = parse_budget([budget])
    if set(told) != {"budget_s"}:
        raise UsageError("training is limited in time", seen=budget, do="write 60m or 8h")
    return float(told["budget_s"])


def _answer(trained: Trained, folder: Path) -> Answer:
    names = [name for name in CURVE if any(name in line for line in trained.curve)]
    table = Table("step", *(CURVE[name] for name in names), box=None)
    main = next((name for name in MAIN if name in names), "")
    lines = [line for line in trained.curve if main in line]
    every = max(1, -(-len(lines) // N_ROWS))
    for line in lines[::every]:
        cells = [f"{line[name]:.3g}" if name in line else "" for name in names]
        table.add_row(str(line["step"]), *cells)
    end = (
        f"written to {trained.model}"
        if trained.model
        else "the budget ended first; the same command goes on"
    )
    facts = {
        "model": str(trained.model) if trained.model else None,
        "steps": trained.steps,
        "curve": list(trained.curve),
        "folder": str(folder),
    }
    return Answer(facts, 0 if trained.model else GOES_ON, [table, end])
