"""The text of a task from its builder, written the way people write tasks."""

from __future__ import annotations

import re

from kernelwright.suites.composed.task_builder import TaskBuilder


def text(builder: TaskBuilder, *, is_trial: bool = False) -> str:
    """Return the task in KernelBench's format; with ``is_trial``, long axes are cut short so that
    it can be tried out."""
    return (
        "\n".join(
            [*_imports(builder), "", "", *_module(builder), "", "", *_inputs(builder, is_trial)]
        )
        + "\n"
    )


def title(builder: TaskBuilder) -> str:
    """Return a description of the task as a sentence."""
    words = builder.words
    said = words[0] if len(words) == 1 else f"{', '.join(words[:-1])}, then {words[-1]}"
    return said[0].upper() + said[1:] + "."


def slug(builder: TaskBuilder) -> str:
    """Return a description of the task as a file name."""
    plain = (re.sub(r"\W+", "_", word.lower()).strip("_") for word in builder.words)
    return "_".join(plain)[:60].strip("_")


def _imports(builder: TaskBuilder) -> list[str]:
    lines = ["import torch", "import torch.nn as nn"]
    if any("F." in line for line in (*builder.forward, *builder.init)):
        lines.append("import torch.nn.functional as F")
    return lines


def _module(builder: TaskBuilder) -> list[str]:
    said = _wrapped(title(builder), 88)
    lines = ["class Model(nn.Module):", f'    """{said[0]}']
    lines += [f"    {line}" for line in said[1:]]
    lines[-1] += '"""'
    arguments = ", ".join(["self", *builder.arguments])
    lines += ["", f"    def __init__({arguments}):", "        super().__init__()"]
    lines += [f"        {line}" for line in builder.init]
    given = ", ".join(["self", *builder.inputs])
    lines += ["", f"    def forward({given}):"]
    lines += [f"        {line}" for line in builder.forward]
    return [*lines, "        return x"]


def _inputs(builder: TaskBuilder, is_trial: bool) -> list[str]:
    lines = [f"{name} = {values[is_trial]}" for name, values in builder.numbers.items()]
    lines += ["", "", "def get_inputs():"]
    lines += [f"    {name} = {how}" for name, how in builder.inputs.items()]
    lines += [f"    return [{', '.join(builder.inputs)}]", "", ""]
    return [*lines, "def get_init_inputs():", f"    return [{', '.join(builder.arguments)}]"]


def _wrapped(sentence: str, width: int) -> list[str]:
    lines = [""]
    for word in sentence.split():
        if len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
