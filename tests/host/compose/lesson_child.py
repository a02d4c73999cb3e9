"""Runs in a process of its own: Triton decides when it is imported whether it interprets.

Prints one JSON object: by lesson what is wrong with its kernel.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from pathlib import Path

import torch

from kernelwright.compose.lessons import FORMS, Lesson, lessons

EACH, SCHEDULES, SEED = 3, 2, 5


def wrong(lesson: Lesson, folder: Path) -> str:
    """How the kernel differs from its reference; empty where it does not."""
    reference = loaded(lesson.task.source, folder / "reference.py")
    candidate = loaded(lesson.candidate.source, folder / "candidate.py")
    torch.manual_seed(0)
    module = reference.Model(*reference.get_init_inputs())
    mine = candidate.ModelNew(*reference.get_init_inputs())
    mine.load_state_dict(module.state_dict())
    inputs = reference.get_inputs()
    with torch.no_grad():
        expected, found = module(*inputs), mine(*inputs)
    try:
        torch.testing.assert_close(
            found, expected, rtol=2e-4, atol=2e-5 * float(expected.abs().max())
        )
    except AssertionError as error:
        return f"{error}\n{lesson.task.source}\n{lesson.candidate.source}"
    return ""


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
    json.dump(said, sys.stdout)
