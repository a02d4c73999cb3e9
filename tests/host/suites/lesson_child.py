"""Runs in a process of its own: Triton decides when it is imported whether it interprets.

Prints one JSON object: by lesson what is wrong with its kernel.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import torch

from kernelwright.suites.composed.lessons import FORMS, Lesson, lessons
from kernelwright.suites.composed.lessons.functions import WRITTEN, kernel_lines
from kernelwright.suites.composed.operators import Operator

EACH, SCHEDULES, SEED = 3, 2, 5
SMALL, ALIKE, LONG, LONG_SEED = 2.0**-8, 0.7, 11_587, 11
TASK = """import torch
import torch.nn.functional as F


def function(x):
    return {form}
"""
KERNEL = """import triton
import triton.language as tl


@triton.jit
def kernel(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at)
    {lines}
    tl.store(out + at, v)
"""


def wrong(lesson: Lesson, folder: Path) -> str:
    """Return how the kernel differs from its reference; empty if it does not."""
    reference = loaded(lesson.task.source, folder / "reference.py")
    candidate = loaded(lesson.candidate.source, folder / "candidate.py")
    torch.manual_seed(0)
    module = reference.Model(*reference.get_init_inputs())
    mine = candidate.ModelNew(*reference.get_init_inputs())
    mine.load_state_dict(module.state_dict())
    drawn = reference.get_inputs()
    alike = [torch.full_like(x, ALIKE) if x.is_floating_point() else x for x in drawn]
    for inputs, least in ((drawn, 0.0), (alike, 10 * ALIKE)):  # a norm may make much of roundings
        with torch.no_grad():
            expected, found = module(*inputs), mine(*inputs)
        largest = max(least, float(expected.abs().max()))
        try:
            torch.testing.assert_close(
                found, expected, rtol=2e-4, atol=2e-5 * largest, equal_nan=True
            )
        except AssertionError as error:
            return f"{error}\n{lesson.task.source}\n{lesson.candidate.source}"
    return ""


def wrong_when_small(operator: Operator, folder: Path) -> str:
    """Return how a step's lines differ from float64 on small values; empty if they do not."""
    a, b = operator.numbers[0]
    form = operator.forms[0].format(x="x", a=a, b=b)
    lines = "\n    ".join(kernel_lines(operator, form, a, b))
    kernel = loaded(KERNEL.format(lines=lines), folder / "kernel.py").kernel
    function = loaded(TASK.format(form=form), folder / "task.py").function
    x = torch.randn(1024, generator=torch.Generator().manual_seed(0)) * SMALL
    found = torch.empty_like(x)
    kernel[(1,)](x, found, BLOCK=1024)
    exact = function(x.double())
    own = (function(x) - exact).abs().max()
    error = (found - exact).abs().max()
    allowed = 4 * own + 4e-6 * exact.abs().max()
    return "" if error <= allowed else f"off by {error:.3g}, {allowed:.3g} is allowed"


def of_long_rows() -> Lesson:
    """The standard deviation of rows so long that rounding may make the variance negative."""
    for lesson in lessons(100, seed=LONG_SEED, size="gpu", forms=["reduction"]):
        axes = dict(re.findall(r"^(\w+) = (\d+)$", lesson.task.source, re.M))
        if "deviation" in lesson.task.name and len(axes) == 3 and axes.get("dim") == "1":
            rows, row, _ = axes
            source = re.sub(rf"^{rows} = .*", f"{rows} = 2", lesson.task.source, flags=re.M)
            source = re.sub(rf"^{row} = .*", f"{row} = {LONG}", source, flags=re.M)
            return replace(lesson, task=replace(lesson.task, source=source))
    raise LookupError("no lesson takes the deviation of rows")


def loaded(text: str, path: Path):
    """A module; Triton reads its functions' text from the file."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    said = {}
    for form in FORMS:
        told = lessons(EACH, seed=SEED, forms=[form], schedules=SCHEDULES)
        for number, lesson in enumerate(told):
            with tempfile.TemporaryDirectory() as folder:
                said[f"{form} {number} {lesson.task.name}"] = wrong(lesson, Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        said["long rows"] = wrong(of_long_rows(), Path(folder))
    for operator in WRITTEN:
        with tempfile.TemporaryDirectory() as folder:
            said[operator.word] = wrong_when_small(operator, Path(folder))
    json.dump(said, sys.stdout)
