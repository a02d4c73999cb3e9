"""``kernelwright train``: a checkpoint that writes better kernels, one stage after another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.table import Table

from kernelwright.core.errors import UsageError
from kernelwright.core.settings import Settings, load_settings, parse_budget
from kernelwright.options import fitting
from kernelwright.pairs import open_pairs
from kernelwright.terminal import Answer
from kernelwright.train import PRESETS, STAGES, Trained, leave, recipe, train

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


@click.command("train")
@click.argument("stage", metavar="|".join(STAGES))
@click.option(
    "--model", required=True, metavar="PATH_OR_ID", help="A checkpoint, a .gguf, or a hub's model."
)
@click.option("--dataset", type=click.Path(path_type=Path), help="Of `kernelwright dataset build`.")
@click.option("--archive", metavar="URL", help="Where verdicts are kept; tasks without a dataset.")
@click.option("--dialect", "dialects", multiple=True, help="Default: all; repeatable.")
@click.option("--device", metavar="DEVICE", help="What kernels are judged on: cpu (default), cuda.")
@click.option(
    "--threads", type=click.IntRange(min=0), callback=fitting, help="CPU threads of candidates."
)
@click.option("--budget", metavar="TIME", help="60m (default), 8h: of the stage.")
@click.option("--steps", type=click.IntRange(min=1), help="Of the optimizer; default: by budget.")
@click.option("--preset", metavar="NAME", default="cuda-l1", help=" or ".join(PRESETS) + ".")
@click.option("--reward", metavar="NAME", help="speed, right or milestone; over the preset's.")
@click.option("--exemplars", type=click.IntRange(0, 6), help="Scored kernels in prompts; 0: none.")
@click.option("--bare", type=click.FloatRange(0, 1), help="Share of prompts that show none.")
@click.option("--smooth/--no-smooth", default=None, help="Clip the z-scores of each group.")
@click.option("--tasks", type=click.IntRange(min=1), help="Per step of reinforcement.")
@click.option("--group", type=click.IntRange(min=1), help="Answers per task and step.")
@click.option("--updates", type=click.IntRange(min=1), help="Steps on each batch of answers.")
@click.option("--turns", type=click.IntRange(min=1), help="Answers in a row, each to a verdict.")
@click.option("--batch", type=click.IntRange(min=1), help="That fits the trainer's device.")
@click.option(
    "--recompute/--no-recompute", default=None, help="Keep activations: faster, more memory."
)
@click.option("--epochs", type=click.IntRange(min=1), help="Of sft.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Of one answer.")
@click.option("--max-prompt-tokens", type=click.IntRange(min=1), help="Of one prompt.")
@click.option("--rank", type=click.IntRange(min=0), help="Of the adapter; 0 trains all weights.")
@click.option("--learning-rate", type=click.FloatRange(0, min_open=True))
@click.option("--temperature", type=click.FloatRange(0, min_open=True), help="Of sampling.")
@click.option("--checkpoint-every", type=click.IntRange(min=1), metavar="STEPS")
@click.option("--jobs", type=click.IntRange(min=1), help="Tasks judged side by side.")
@click.option("--vllm", metavar="colocate|URL", help="Writes the answers of reinforcement.")
@click.option("--seed", type=int)
@click.option("--out", metavar="DIR", help="Default: kernelwright-out/train.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(
    stage: str, dataset: Path | None, budget: str | None, archive: str | None,
    device: str | None, threads: int | None, seed: int | None, out: str | None,
    preset: str, as_json: bool, **told: Any,
) -> Answer:  # fmt: skip
    """Train a model to write kernels: sft, then selfsup, then contrastive.

    Each stage writes STAGE/model below --out, a checkpoint for `--proposer policy --model`, for the
    next stage, or for any server, and STAGE/adapter. The same command goes on where it stopped.
    """
    settings = load_settings(
        Path.cwd(), archive=archive, device=device, threads=threads, seed=seed, out=out
    )
    given = {key: value for key, value in told.items() if value not in (None, ())}
    if budget is not None:
        given["budget_s"] = _seconds(budget)
    wanted = recipe(
        stage, preset, archive=settings.archive, device=settings.device, seed=settings.seed,
        threads=settings.threads, out=out or str(Path(Settings.out) / "train"), **given,
    )  # fmt: skip
    if stage == "sft" and dataset is None:
        raise UsageError(
            "sft learns from a dataset, and none is given",
            seen="no --dataset",
            do="kernelwright dataset build --out DIR, then --dataset DIR",
        )
    pairs = () if dataset is None else open_pairs(dataset)
    trained = train(wanted, pairs)
    leave()
    return _answer(trained, wanted.folder)


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
    every = max(1, len(lines) // N_ROWS)
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
