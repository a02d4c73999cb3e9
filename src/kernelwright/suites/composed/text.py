"""A draft as the text of a task, as people write them."""

from __future__ import annotations

import re

from kernelwright.suites.composed.draft import Draft


def text(draft: Draft, *, is_trial: bool = False) -> str:
    """The task in KernelBench's format; ``is_trial``: with long axes cut short, to be
    tried out."""
    return "\n".join([*_imports(draft), "", "", *_module(draft), "", "",
                      *_inputs(draft, is_trial)]) + "\n"  # fmt: skip


def title(draft: Draft) -> str:
    """What it does, as a sentence."""
    words = draft.words
    said = words[0] if len(words) == 1 else f"{', '.join(words[:-1])}, then {words[-1]}"
    return said[0].upper() + said[1:] + "."


def slug(draft: Draft) -> str:
    """What it does, as a file name."""
    plain = (re.sub(r"\W+", "_", word.lower()).strip("_") for word in draft.words)
    return "_".join(plain)[:60].strip("_")


def _imports(draft: Draft) -> list[str]:
    lines = ["import torch", "import torch.nn as nn"]
    if any("F." in line for line in (*draft.forward, *draft.init)):
        lines.append("import torch.nn.functional as F")
    return lines


def _module(draft: Draft) -> list[str]:
    said = _wrapped(title(draft), 88)
    lines = ["class Model(nn.Module):", f'    """{said[0]}']
    lines += [f"    {line}" for line in said[1:]]
    lines[-1] += '"""'
    arguments = ", ".join(["self", *draft.arguments])
    lines += ["", f"    def __init__({arguments}):", "        super().__init__()"]
    lines += [f"        {line}" for line in draft.init]
    given = ", ".join(["self", *draft.inputs])
    lines += ["", f"    def forward({given}):"]
    lines += [f"        {line}" for line in draft.forward]
    return [*lines, "        return x"]


def _inputs(draft: Draft, is_trial: bool) -> list[str]:
    lines = [f"{name} = {values[is_trial]}" for name, values in draft.numbers.items()]
    lines += ["", "", "def get_inputs():"]
    lines += [f"    {name} = {how}" for name, how in draft.inputs.items()]
    lines += [f"    return [{', '.join(draft.inputs)}]", "", ""]
    return [*lines, "def get_init_inputs():", f"    return [{', '.join(draft.arguments)}]"]


def _wrapped(sentence: str, width: int) -> list[str]:
    lines = [""]
    for word in sentence.split():
        if len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
