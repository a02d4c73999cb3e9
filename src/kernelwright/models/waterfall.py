"""Waterfall: where a model's time goes, what was tried for it, and what each kernel brought."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from kernelwright.core.places import written_whole
from kernelwright.models import forms
from kernelwright.report.facts import duration_text, ratio_text, speedup_facts
from kernelwright.report.table import plain_table

if TYPE_CHECKING:
    from kernelwright.models.accelerate import Accelerated, Step

WIDTH = 120
HOW = {
    forms.KERNELS: "",
    forms.OWN: "; no kernel pays, and result.fastest(inputs) makes a CUDA graph of compiled code",
    forms.WITH_KERNELS[forms.GRAPH]: "; result.fastest(inputs) makes a CUDA graph of it for this",
    forms.WITH_KERNELS[forms.COMPILE]: "; call torch.compile on it for this",
    forms.WITH_KERNELS[
        forms.COMPILE_GRAPH
    ]: "; result.fastest(inputs) compiles it and makes a CUDA graph of that for this",
    forms.WITH_KERNELS[forms.REDUCE_OVERHEAD]: '; torch.compile it with mode="reduce-overhead"',
}
"""How a user gets the model's fastest form."""


def step_table(accelerated: Accelerated) -> Table:
    """A row for each kind of modules, in the order in which they were tried."""
    table = plain_table("modules", "share", "room", "kernel alone", "in the model", "outcome")
    for step in accelerated.steps:
        group = step.group
        where = group.paths[0] or "the model"
        where += " …" if len(group.paths) > 1 else ""
        name = f"{len(group.paths)} × {group.kind} ({where})"
        alone = step.result.evaluation.speedup if step.result and step.result.evaluation else None
        why = f"{step.outcome}: {step.why}" if step.why else step.outcome
        table.add_row(
            name,
            f"{group.share:.0%}",
            f"{group.room:.0%}",
            ratio_text(alone) if alone else "",
            ratio_text(step.brought) if step.brought else "",
            why,
        )
    return table


def form_table(accelerated: Accelerated) -> Table:
    """The whole model's times: as the library runs it, in a CUDA graph of compiled code, and with
    kernels."""
    table = plain_table("whole model", "median", "times the fastest of the library")
    fastest = accelerated.library
    for name, samples in accelerated.times_ns.items():
        usual = statistics.median(samples)
        over = ratio_text(accelerated.over_library(name)) if name != fastest else ""
        table.add_row(name, duration_text(usual), over)
    for name, why in accelerated.failed_forms.items():
        table.add_row(name, "", f"not measured: {why}")
    return table


def headline(accelerated: Accelerated) -> str:
    """One line that says what was reached."""
    name = type(accelerated.model).__name__
    if accelerated.speedup is None:
        return f"{name}: nothing pays in the whole model; it is as it was"
    how = HOW[accelerated.form]
    if ratio := accelerated.by_kernels:
        how += f"\nits kernels bring {ratio_text(ratio)} of that, over {accelerated.plain}"
    off = ""
    if accelerated.deviation is not None and accelerated.kernels:
        mine, theirs = accelerated.deviation.kernels, accelerated.deviation.library
        off = f"\noff by {mine:.2g} of the outputs' largest number, the library by {theirs:.2g}"
        if not accelerated.deviation.is_exact:
            off += "; the model does not run in float64, so the library is what it is compared with"
    return (
        f"{name}: {ratio_text(accelerated.speedup)} times as fast as the fastest form of the "
        f"library ({accelerated.library}), end to end{how}{off}{_not_compiled(accelerated)}"
    )


def _not_compiled(accelerated: Accelerated) -> str:
    """A line where no form of the library's compiler is among those that were timed."""
    compiled = [form for form in forms.LIBRARY if form in forms.COMPILED]
    if not accelerated.times_ns.keys().isdisjoint(compiled):
        return ""
    reasons = dict.fromkeys(accelerated.failed_forms.get(form, "") for form in compiled)
    return f"\nthe library's compiler is not among these: {'; '.join(filter(None, reasons))}"


def facts_of(accelerated: Accelerated) -> dict[str, Any]:
    """The same for a program."""
    ratio = accelerated.speedup
    return {
        "model": type(accelerated.model).__name__,
        "speedup": None if ratio is None else [ratio.low, ratio.median, ratio.high],
        "by_kernels": None
        if (by := accelerated.by_kernels) is None
        else [by.low, by.median, by.high],
        "library": accelerated.library or None,
        "form": accelerated.form or None,
        "times_ns": {name: statistics.median(each) for name, each in accelerated.times_ns.items()},
        "failed_forms": accelerated.failed_forms,
        "is_exact": accelerated.deviation.is_exact if accelerated.deviation else None,
        "steps": [_step_facts(step) for step in accelerated.steps],
        "interrupted": accelerated.interrupted,
    }


def _step_facts(step: Step) -> dict[str, Any]:
    found = step.result.evaluation if step.result else None
    return {
        "kind": step.group.kind,
        "paths": step.group.paths,
        "share": step.group.share,
        "room": step.group.room,
        "outcome": step.outcome,
        "why": step.why or None,
        "kernel": speedup_facts(found) if found else None,
        "brought": None
        if step.brought is None
        else [step.brought.low, step.brought.median, step.brought.high],
    }


def write_page(accelerated: Accelerated, path: Path) -> Path:
    """Write both tables as one HTML page that opens offline."""
    with Path("/dev/null").open("w") as nowhere:
        console = Console(record=True, file=nowhere, width=WIDTH)
        console.print(headline(accelerated), step_table(accelerated), form_table(accelerated))
        text = console.export_html(inline_styles=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as partial:
        partial.write_text(text, encoding="utf-8")
    return path
