"""``kernelwright accelerate``: kernels for the modules of a whole model, where they pay in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kernelwright.cli.options import (
    CLUSTER,
    INPUTS,
    JSON,
    MACHINE,
    PROPOSING,
    cluster_workers,
    field_options,
)
from kernelwright.console import answers
from kernelwright.console.progress import ShowProgress
from kernelwright.console.terminal import Answer
from kernelwright.core.settings import Settings, load_settings, parse_budget
from kernelwright.loaders import load, open_reference
from kernelwright.loaders.reference import CHECK_SEED
from kernelwright.models import waterfall
from kernelwright.models.accelerate import accelerate


@click.command("accelerate")
@click.argument("model")
@INPUTS
@MACHINE
@field_options(Settings, "dialects")
@PROPOSING
@field_options(Settings, "seed", "archive", "out")
@CLUSTER
@JSON
def command(
    model: str,
    inputs: tuple[str, ...],
    init: str | None,
    budget: tuple[str, ...],
    cluster: str | None,
    gpu_model: str | None,
    as_json: bool,
    **settings: Any,
) -> Answer:
    """Find the modules of MODEL where kernels pay, and keep those that make all of it faster.

    MODEL is named as a task is: a KernelBench-format file, file.py:Class or package.module:Class.
    It is profiled, equal modules are searched as one task, and what is kept is measured in the
    whole model against the library. The kernels are written to a folder that kw.load_accelerated
    reads. Ctrl-C keeps the results so far; the same command resumes from there.
    """
    given = {key: value for key, value in settings.items() if value not in (None, ())}
    given |= parse_budget(budget)
    resolved = load_settings(Path.cwd(), **given)
    task = resolved.applied_to(load(model, inputs=list(inputs) or None, init=init))
    reference = open_reference(task)
    where = resolved.device
    built = reference.build(CHECK_SEED)
    if not any(weight.is_meta for weight in built.parameters()):  # accelerate says what is wrong
        built = built.to(where)
    with cluster_workers(cluster, gpu_model, resolved) as workers, ShowProgress() as progress:
        found = accelerate(
            built,
            reference.inputs(CHECK_SEED, where),
            on_progress=progress,
            workers=workers,
            **given,
        )
    page = waterfall.write_page(found, Path(resolved.out, f"{task.name}-accelerated.html"))
    lines = [waterfall.headline(found)]
    facts = waterfall.facts_of(found) | {"report": str(page), "folder": None}
    if found.kernels:
        folder = found.save(Path(resolved.out, f"{task.name}-accelerated"))
        facts["folder"] = str(folder)
        lines.append(f"kernels: {folder} (kw.load_accelerated puts them into a model)")
    lines.append(f"report: {page}")
    if found.interrupted:
        lines.append("stopped early; the same command resumes from here")
    shown = [waterfall.step_table(found)]
    if found.times_ns:
        shown.append(waterfall.form_table(found))
    return Answer(facts, answers.DONE, [*shown, "\n".join(lines)])
