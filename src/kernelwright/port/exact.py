"""Texts of files as they are: every byte, line endings included, survives reading and writing."""

from __future__ import annotations

from pathlib import Path


def read_exact(path: Path) -> str:
    """Return a file's text; bytes that are no UTF-8 become surrogates."""
    return path.read_bytes().decode(errors="surrogateescape")


def write_exact(path: Path, text: str) -> None:
    """Write a text that :func:`read_exact` returned, or one made from it."""
    path.write_bytes(text.encode(errors="surrogateescape"))
