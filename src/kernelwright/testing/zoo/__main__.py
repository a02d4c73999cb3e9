"""``python -m kernelwright.testing.zoo``: judge the zoo and print the table."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
from rich.console import Console

from kernelwright.core.device import Device
from kernelwright.core.errors import KernelwrightError, UsageError, nearest
from kernelwright.testing.zoo.cases import ZOO, cases
from kernelwright.testing.zoo.outcomes import Outcome
from kernelwright.testing.zoo.run import run
from kernelwright.testing.zoo.table import row, summary, table


@click.command()
@click.argument("words", nargs=-1, metavar="[PATH] [NAMES]...")
@click.option("--device", default="cpu", help="cpu or cuda.")
@click.option("--quick", is_flag=True, help="Leave out the cases that take long.")
@click.option("--part", default="1/1", help="K/N: the K-th of N parts, whole tasks each.")
@click.option("--jobs", default=1, help="Tasks side by side, each in a process of its own.")
@click.option("--untimed", is_flag=True, help="Check results only: no baselines, no clock.")
def main(
    words: tuple[str, ...], device: str, quick: bool, part: str, jobs: int, untimed: bool
) -> None:
    """Judge the cases NAMES of the zoo at PATH, or all of them.

    PATH is a folder with a catalogue.toml; without it, the folder zoo of a checkout is taken.
    Exits with 1 on an escape or a false accusation, and with 2 where there is no zoo.
    """
    path, names = _path_and_names(words)
    known = {case.name: case for case in cases(path, device=Device.parse(device).kind)}
    for name in names:
        if name not in known:
            raise UsageError(f'unknown case "{name}"', seen=name, do=nearest(name, known))
    chosen = [known[name] for name in names] if names else list(known.values())
    if quick:
        chosen = [case for case in chosen if not case.slow]
    number, n_parts = map(int, part.split("/"))
    mine = sorted({case.task for case in chosen})[number - 1 :: n_parts]
    chosen = [case for case in chosen if case.task in mine]
    talk, result = Console(stderr=True), Console(width=160)

    def report(outcome: Outcome) -> None:
        talk.print("  ".join(row(outcome)), style="bold red" if outcome.is_failure else None)

    outcomes = run(device, chosen, timed=not untimed, jobs=jobs, report=report)
    result.print(table(outcomes))
    result.print(summary(outcomes))
    sys.exit(1 if any(outcome.is_failure for outcome in outcomes) else 0)


def _path_and_names(words: tuple[str, ...]) -> tuple[Path, tuple[str, ...]]:
    """A first word that is a folder, or looks like the path of one, is PATH."""
    if words and (os.sep in words[0] or Path(words[0]).is_dir()):
        return Path(words[0]), words[1:]
    return ZOO, words


if __name__ == "__main__":
    try:
        main()
    except KernelwrightError as error:
        click.echo(error, err=True)
        sys.exit(error.exit_code)
