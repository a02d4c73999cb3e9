"""A candidate as numbers, for cost models: its dialect, its steps with their knobs and sizes, and
what the prior makes of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kernelwright.core.trial import Outline, StepOutline
from kernelwright.tuner.prior import Knobs, Machine, prior_ns, programs_of, step_ns

DIALECTS = ("cpp", "triton", "cuda", "torch")
VARIANTS = ("own matmul", "channels last", "recomputation", "per reduction")
"""Words in the names of variants."""
KINDS = ("nest", "product", "convolution", "recurrence", "attention")
SIZES = ("bytes", "flops", "rows", "columns", "k", "batch", "passes")
FORMS = (
    "point",
    "exchanged",
    "window",
    "row",
    "column",
    "gather",
    "bounds",
    "exp",
    "sum",
    "max",
    "bfloat16",
)
"""The words of a step's form that a schedule depends on."""
NUMBERS = (
    "block", "block_m", "block_n", "block_k", "warps", "stages", "group", "parts", "rows",
    "threads", "vector", "together", "lead", "mr", "nv", "mc", "nc", "kc", "lanes", "keep_cost",
    "square", "chunks",
)  # fmt: skip
"""Knobs with a number or a truth value."""
FLAGS = ("keep", "few", "prefetch", "stream", "descriptors")
WORDS = {
    "shape": ("lanes", "row", "rows", "column", "tiles"),
    "parallel": ("none", "outer", "inner"),
    "precision": ("ieee", "native", "tf32", "parts", "bf16x3_6", "fp16x2_3"),
    "split": ("before", "inside"),
    "layout": ("as is", "last", "shifted"),
}
"""Knobs with a word, and the words that they have."""
N_STEPS = 2
"""Number of steps whose knobs are told, those that take longest by the prior."""
ABSENT = -1.0


def features(
    outline: Outline, schedule: Mapping[str, Any], dialect: str, on: Machine
) -> list[float]:
    """Return the features of a candidate, as many for every one."""
    kernels, variant = schedule.get("kernels", {}), str(schedule.get("variant"))
    own = [step for step in outline.steps if step.name]
    library = [step for step in outline.steps if not step.name]
    found = [float(dialect == name) for name in DIALECTS]
    found += [float(word in variant) for word in VARIANTS]
    found += [
        float(on.n_units),
        math.log(prior_ns(outline, schedule, on)),
        float(bool(kernels.get("graph"))),
        float(len(own)),
        float(len(library)),
        _log(sum(step.sizes["bytes"] for step in own)),
        _log(sum(step.sizes["bytes"] for step in library)),
        _log(sum(step.sizes["flops"] for step in own)),
        _log(sum(step.sizes["flops"] for step in library)),
    ]
    times = {step.name: step_ns(step, kernels.get(step.name) or {}, on) for step in own}
    longest = sorted(own, key=lambda step: -times[step.name])[:N_STEPS]
    for step in longest:
        found += _step(step, kernels.get(step.name) or {}, on)
    found += [ABSENT] * ((N_STEPS - len(longest)) * N_OF_STEP)
    return found


def _step(step: StepOutline, knobs: Knobs, on: Machine) -> list[float]:
    found = [float(step.kind == kind) for kind in KINDS]
    found += [_log(step.sizes[name]) if name in step.sizes else ABSENT for name in SIZES]
    found += [float(step.form.get(word, 0)) for word in FORMS]
    found.append(float(sum(step.form.values())))
    found += [_log(knobs[name]) if name in knobs else ABSENT for name in NUMBERS]
    found += [float(knobs[name]) if name in knobs else ABSENT for name in FLAGS]
    for name, words in WORDS.items():
        found += [float(knobs.get(name) == word) for word in words]
    n_programs = programs_of(step, knobs)
    if n_programs is None:
        return [*found, ABSENT, ABSENT]
    points = step.sizes.get("rows", 1.0) * step.sizes.get("columns", 1.0)
    return [*found, _log(n_programs / on.n_units), _log(points / n_programs)]


def _log(value: float) -> float:
    return math.log2(1.0 + abs(float(value)))


N_OF_STEP = len(_step(StepOutline("", "nest", {}, {}), {}, Machine("cpu", 1.0, 1.0, 1.0, 1)))
"""Number of features of one step."""
