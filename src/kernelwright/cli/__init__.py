"""The command line: it knows its commands by name, and imports the one that is called."""

from __future__ import annotations

import importlib

import click

from kernelwright.console.signals import held_back
from kernelwright.console.terminal import Commands

COMMANDS = {
    "accelerate": "Make a whole model faster by kernels where they pay.",
    "bench": "Search every task of a suite, or examine checkpoints on it.",
    "check": "Judge packaged kernels again, here and now.",
    "dataset": "Make training pairs, and grids of measured schedules.",
    "doctor": "Show what this machine can do, and what is missing.",
    "export": "Write a judged kernel as a package that runs elsewhere.",
    "judge": "Judge a kernel, or folders of kernels.",
    "optimize": "Search for a kernel faster than the library.",
    "port": "Translate CUDA programs to HIP, and check them.",
    "port-corpus": "Port a tree of CUDA files, and keep the verified pairs.",
    "report": "Write the HTML report of an archive.",
    "serve": "Serve searches and verdicts to a team, over HTTP.",
    "show": "Print the best source of an archive, or any candidate.",
    "status": "Show the searches of an archive that have not ended.",
    "tasks": "Make tasks to search or to train on.",
    "train": "Train a model to write kernels.",
}
"""Command → its purpose. The commands import torch, which takes seconds, and listing them should
not."""


class Called(Commands):
    """A group whose commands are imported when they are called; see ``commands/``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        home = f"kernelwright.cli.commands.{cmd_name.replace('-', '_')}"
        with held_back():
            command: click.Command = importlib.import_module(home).command
            return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Called, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="kernelwright")
def main() -> None:
    """A PyTorch module in, a faster judged kernel out."""
