"""Fields that a user sets: each says in its metadata how the command line and the documents tell
of it, so that options, checks and tables are made from one place."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_TOLD = "told"


@dataclass(frozen=True)
class Told:
    """What an option of the command line and a table of the documents say about a field."""

    help: str = ""
    """The option's help, as a sentence with its verb first; empty where no option gives it."""
    meaning: str = ""
    """What the documents' table says, where there is one."""
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
    """What the option's number must be above."""
    most: float | None = None
    """The largest number that the option takes."""


def told(default: Any, of: Told) -> Any:
    """A field with this default (``dataclasses.MISSING``: with none) that says this of itself."""
    return dataclasses.field(default=default, metadata={_TOLD: of})


def told_of(kind: type) -> Mapping[str, Told]:
    """What the fields of a dataclass say of themselves, by their names."""
    return {
        field.name: field.metadata[_TOLD]
        for field in dataclasses.fields(kind)
        if _TOLD in field.metadata
    }
