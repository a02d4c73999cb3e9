"""The data card of a folder of tables, and that no README.md of somebody else is lost to it."""

from __future__ import annotations

from pathlib import Path

from kernelwright.core.places import require_file, written_whole

CARD = "README.md"
MARK = "Made with kernelwright "


def require_place(folder: Path) -> None:
    """Nothing where tables and their card can be written: asked before what takes long.

    Raises:
        UsageError: a README.md that is no card of ours is there.
        OSError: nothing can be written there.
    """
    require_file(folder / CARD, "data card", MARK)


def write(folder: Path, text: str) -> Path:
    """Write a card, in which MARK stands, into ``folder``; its path."""
    with written_whole(folder / CARD) as partial:
        partial.write_text(text)
    return folder / CARD
