"""``kernelwright doctor``: what this machine can do."""

from __future__ import annotations

import click

from kernelwright.cli import doctor
from kernelwright.cli.options import JSON
from kernelwright.console import answers
from kernelwright.console.terminal import Answer


@click.command("doctor")
@JSON
def command(as_json: bool) -> Answer:
    """Show what this machine can do, what is missing, what that costs, and how to get it."""
    findings = doctor.examine()
    return Answer(doctor.as_facts(findings), answers.DONE, [doctor.as_table(findings)])
