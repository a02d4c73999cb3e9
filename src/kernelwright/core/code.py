"""Code: a word that programs decide by, with a line that says what it means to a person."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Code(StrEnum):
    """The base of enumerations whose members are written ``NAME = "name", "What it means."``."""

    meaning: str

    def __new__(cls, name: str, meaning: str) -> Self:
        code = str.__new__(cls, name)
        code._value_ = name
        code.meaning = meaning
        return code
