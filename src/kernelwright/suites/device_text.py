"""Lets a text that makes its tensors on "cuda" make them on the device that the task runs on."""

from __future__ import annotations

import ast

DEVICE_OF_THE_TASK = "torch.get_default_device()"
"""The loader draws a task's inputs with its device as the default device."""


def on_any_device(source: str) -> str:
    """Return the text with each argument ``device="cuda"`` replaced; nothing else changes.

    Raises:
        SyntaxError: the text is not Python.
    """
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    text = source.encode()
    named = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.keyword)]
    places = [
        (starts[value.lineno - 1] + value.col_offset, starts[value.end_lineno - 1] + end)
        for value in (one.value for one in named if one.arg == "device")
        if isinstance(value, ast.Constant)
        and isinstance(value.value, str)
        and value.value.partition(":")[0] == "cuda"
        and value.end_lineno is not None
        and (end := value.end_col_offset) is not None
    ]
    for start, end in sorted(places, reverse=True):
        text = text[:start] + DEVICE_OF_THE_TASK.encode() + text[end:]
    return text.decode()
