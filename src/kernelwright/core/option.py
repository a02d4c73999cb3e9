"""Fields that a user sets by an option of the command line.

A field's metadata says how its option is called, what it takes and what its help says, so that
options, their bounds and their help are made from one place. What a field means stands below it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_OPTION = "option"


@dataclass(frozen=True)
class Option:
    """The option that gives a field."""

    help: str
    """A sentence with its verb first."""
    flag: str = ""
    """The option's name where it is not the field's: '--dialect' for ``dialects``."""
    metavar: str | None = None
    default: str | None = None
    """The default in words. None: the field's own value; empty: the help has said it."""
    choices: tuple[str, ...] = ()
    """All values that a text may have, if it is not free."""
    least: float | None = None
    """The smallest number that the option takes."""
    above: float | None = None
    """The number that the option's must be above."""
    most: float | None = None
    """The largest number that the option takes."""


def with_option(default: Any, option: Option) -> Any:
    """A field with this default (``dataclasses.MISSING``: with none) that this option gives."""
    return dataclasses.field(default=default, metadata={_OPTION: option})


def options_of(kind: type) -> Mapping[str, Option]:
    """The options of a dataclass, by the names of the fields that they give."""
    return {
        field.name: field.metadata[_OPTION]
        for field in dataclasses.fields(kind)
        if _OPTION in field.metadata
    }
