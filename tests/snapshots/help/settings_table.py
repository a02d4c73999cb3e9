"""The table of settings in docs/cli.md, from the fields of Settings."""

import dataclasses
import json
from typing import Any

import click

from kernelwright.cli import main
from kernelwright.core.settings import Settings
from kernelwright.core.told import told_of

BUDGET = {
    "budget_s": "`--budget 5m`",
    "budget_tokens": "`--budget 200ktok`",
    "budget_usd": "`--budget 2usd`",
}
"""One option that gives three settings."""
KINDS = {
    "str": "text", "int": "whole number", "float": "number", "bool": "true or false",
    "tuple[str, ...]": "list of texts",
}  # fmt: skip


def table() -> str:
    """The table, a row for each setting."""
    rows = ["| setting | `optimize` | is | default | meaning |", "|---|---|---|---|---|"]
    options, meanings = given_by(), meaning()
    for field in dataclasses.fields(Settings):
        cells = (
            f"`{field.name}`", options.get(field.name, "—"), kind(field.type),
            default(field.default), meanings[field.name],
        )  # fmt: skip
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(rows) + "\n"


def given_by() -> dict[str, str]:
    """The option of ``optimize`` that gives each setting."""
    command = main.get_command(click.Context(main), "optimize")
    options = {
        option.name: f"`{option.opts[0]}`"
        for option in command.params
        if isinstance(option, click.Option)
    }
    return options | BUDGET


def meaning() -> dict[str, str]:
    """What each field of Settings says of itself."""
    return {name: about.meaning for name, about in told_of(Settings).items()}


def kind(annotation: str) -> str:
    """In the words of the settings file; None is what is left out there."""
    return KINDS[annotation.removesuffix(" | None")]


def default(value: Any) -> str:
    """As it would be written in the settings file."""
    if value is None or value == () or value == "":
        return "none"
    if isinstance(value, tuple):
        return f"`{json.dumps(value)}`"
    return f"`{str(value).lower()}`" if isinstance(value, bool) else f"`{value}`"
