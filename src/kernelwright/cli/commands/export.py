"""``kernelwright export``: a judged kernel as a package that runs elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kernelwright import api
from kernelwright.cli.options import ARCHIVE, JSON
from kernelwright.console import answers
from kernelwright.console.terminal import Answer
from kernelwright.shipping.export import FORMATS, LICENSE
from kernelwright.shipping.source import BEST


@click.command("export")
@click.argument("which", metavar="[best|DIGEST|FILE]", default=BEST)
@click.option(
    "--to",
    type=click.Choice(list(FORMATS)),
    required=True,
    help=f"Write {'; '.join(f'{name}, {about}' for name, about in FORMATS.items())}.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="The new folder to write."
)
@click.option("--name", help="The package's and its operators' name. Default: the task's name.")
@click.option("--license", default=LICENSE, help=f"An SPDX expression. Default: {LICENSE}.")
@click.option(
    "--task", metavar="NAME", help="Export the best of this task. Default: the one run last."
)
@ARCHIVE
@JSON
def command(which: str, to: str, out: Path, as_json: bool, **options: Any) -> Answer:
    """Write a judged kernel as a package, with its license, its provenance and its receipt.

    The kernel is the best one of the archive, or the one whose digest begins with DIGEST, or the
    one in FILE: a receipt, or a candidate's file with a receipt beside it or a verdict in the
    archive. The package holds the task's own text: name the license that you give it.
    """
    path = api.export(which, to=to, out=out, **options)
    files = sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())
    return Answer({"package": str(path), "files": files}, answers.DONE, [f"package: {path}"])
