"""Writes data cards as README.md, without overwriting a README.md of anybody else."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

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


def write(folder: Path, package: str, template: str, **facts: Any) -> Path:
    """Fill a card's template, a file of ``package``, write it to ``folder`` and return its path.

    Beside ``facts``, the template has ``mark``, with which a card begins, and ``version``.
    """
    environment = Environment(
        loader=PackageLoader(package, "."),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        undefined=StrictUndefined,
    )
    version = importlib.metadata.version("kernelwright")
    text = environment.get_template(template).render(mark=MARK, version=version, **facts)
    with written_whole(folder / CARD) as partial:
        partial.write_text(text)
    return folder / CARD
