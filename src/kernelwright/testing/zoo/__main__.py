"""``python -m kernelwright.testing.zoo``: judge the zoo and print the table."""

from __future__ import annotations

import sys

import click
from rich.console import Console

from kernelwright.core.device import Device
from kernelwright.core.errors import KernelwrightError, UsageError, nearest
from kernelwright.testing.zoo.cases import cases
from kernelwright.testing.zoo.outcomes import Outcome
from kernelwright.testing.zoo.run import run
from kernelwright.testing.zoo.table import row, summary, table


@click.command()
@click.argument("names", nargs=-1)
@click.option("--device", default="cpu", help="cpu or cuda.")
@click.option("--quick", is_flag=True, help="Leave out the cases that take long.")
@click.option("--part", default="1/1", help="K/N: the K-th of N parts, whole tasks each.")
@click.option("--jobs", default=1, help="Tasks side by side, each in a process of its own.")
@click.option("--untimed", is_flag=True, help="Check results only: no baselines, no clock.")
def main(
    names: tuple[str, ...], device: str, quick: bool, part: str, jobs: int, untimed: bool
) -> None:
    """Judge the cases NAMES, or all of them; exit 1 on an escape or a false accusation."""
    known = {case.name: case for case in cases(Device.parse(device).kind)}
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


if __name__ == "__main__":
    try:
        main()
    except KernelwrightError as error:
        click.echo(error, err=True)
        sys.exit(error.exit_code)
