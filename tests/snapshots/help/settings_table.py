"""The table of settings in docs/cli.md, from the fields of Settings."""

import ast
import dataclasses
import inspect
import json
from typing import Any

import click

from kernelwright.cli import main
from kernelwright.core.settings import Settings

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
    """Return the docstring of each field of Settings, as one line."""
    (body,) = ast.parse(inspect.getsource(Settings)).body
    found, name = {}, ""
    for statement in body.body:
        if isinstance(statement, ast.AnnAssign):
            name = statement.target.id
        elif isinstance(statement, ast.Expr) and name:
            found[name] = " ".join(statement.value.value.split())
    return found


def kind(annotation: str) -> str:
    """Return the type in the words of the settings file; None is left out."""
    return KINDS[annotation.removesuffix(" | None")]


def default(value: Any) -> str:
    """Return the value as it would be written in the settings file."""
    if value is None or value == () or value == "":
        return "none"
    if isinstance(value, tuple):
        return f"`{json.dumps(value)}`"
    return f"`{str(value).lower()}`" if isinstance(value, bool) else f"`{value}`"
