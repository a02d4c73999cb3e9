"""``kernelwright report``: the HTML report of an archive."""

from __future__ import annotations

from pathlib import Path

import click

from kernelwright.archive import Archive
from kernelwright.cli.options import JSON
from kernelwright.console import answers
from kernelwright.console.terminal import Answer
from kernelwright.core.settings import Settings
from kernelwright.report.choice import chosen_task
from kernelwright.report.page import NAME, write


@click.command("report")
@click.argument("archive", metavar="ARCHIVE")
@click.option(
    "--out",
    type=click.Path(),
    help="Write this page, or report.html in this folder. Default: beside the archive.",
)
@click.option(
    "--task", metavar="NAME", help="Report only this task, by name or digest. Default: all."
)
@JSON
def command(archive: str, out: str | None, task: str | None, as_json: bool) -> Answer:
    """Write the HTML report of ARCHIVE: one file that opens offline."""
    with Archive(archive, create=False) as opened:
        chosen = None if task is None else chosen_task(opened, task).digest
        path = write(opened, out or _beside(archive), task=chosen)
    return Answer({"report": str(path)}, answers.DONE, [str(path)])


def _beside(archive: str) -> Path:
    """Return the default path of an archive's report: in its folder, if it has one."""
    path = Path(archive)
    folder = path if path.is_dir() else path.parent if path.is_file() else Path(Settings.out)
    return folder / NAME
