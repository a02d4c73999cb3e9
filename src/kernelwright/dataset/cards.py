"""Writes data cards as README.md, without overwriting a README.md of anybody else."""

from __future__ import annotations

from pathlib import Path

from kernelwright.core.places import require_file, written_whole

CARD = "README.md"
MARK = "Made with kernelwright "


def require_place(folder: Path) -> None:
    """Fail early if the tables and their card could not be written to ``folder``.

    Raises:
        UsageError: the folder contains a README.md that kernelwright did not write.
        OSError: the folder is not writable.
    """
    require_file(folder / CARD, "data card", MARK)


def write(folder: Path, text: str) -> Path:
    """Write a card, whose text contains MARK, to ``folder`` and return its path."""
    with written_whole(folder / CARD) as partial:
        partial.write_text(text)
    return folder / CARD
