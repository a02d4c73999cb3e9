"""The command line's entry: one answer per command, and clear errors."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click
from rich.console import Console, RenderableType

from kernelwright.console.signals import TERMINATED, Termination
from kernelwright.console.streams import (
    escape_what_cannot_be_written,
    open_closed,
    silence_stdout,
    stdout_kept,
)
from kernelwright.core.errors import DeviceError, KernelwrightError, UsageError, nearest
from kernelwright.judge.baselines.library_settings import HUGE_PAGES

PLAIN_WIDTH = 140
"""Width in columns of a table that is written to a file or a pipe."""
INTERRUPTED = 1
"""Exit code after Ctrl-C, the same as if nothing passed: there is no result and no fault."""
MACHINE_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOMEM}
"""System errors that the machine is to blame for."""


@dataclass(frozen=True)
class Answer:
    """A command's answer: the JSON facts, the exit code, and the tables and texts to print."""

    facts: dict[str, Any]
    exit_code: int
    shown: Sequence[RenderableType]


class Commands(click.Group):
    """Commands that return an Answer. With ``--json`` stdout gets exactly one JSON object."""

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> Any:
        words = list(sys.argv[1:] if args is None else args)
        as_json = "--json" in words
        # Without huge pages, page faults take half the time of the judge's float64 arithmetic.
        # Torch reads these variables at its first allocation; the judge's children have their own.
        os.environ |= HUGE_PAGES
        open_closed()
        escape_what_cannot_be_written()
        kept = stdout_kept() if as_json else contextlib.nullcontext(1)
        with kept as stdout, Termination() as termination:
            answer = self._answer(words, termination)
            if isinstance(answer, Answer):
                answer = _delivered(answer, stdout, as_json)
        # If an exec of text was interrupted, which imports do, Python kills itself with SIGINT at
        # exit, unless a later exec has succeeded (run_eval_code_obj in Python/pythonrun.c).
        exec("")
        if termination.has_come:
            sys.exit(TERMINATED)
        sys.exit(answer.exit_code if isinstance(answer, Answer) else answer)

    def _answer(self, words: list[str], termination: Termination) -> Answer | int:
        """Run the command; return its answer, its error as an answer, or 0 after --help."""
        try:
            return super().main(words, prog_name="kernelwright", standalone_mode=False)
        except click.ClickException as error:
            return _failure(_from_click(error))
        except (KeyboardInterrupt, click.Abort):
            seen = "SIGTERM" if termination.has_come else "Ctrl-C"
            facts = {"what": "interrupted", "seen": seen, "do": "run the same command again"}
            click.echo(f"{facts['what']}; {facts['do']}", err=True)
            return Answer({"error": facts}, INTERRUPTED, [])
        except KernelwrightError as error:
            return _failure(error)
        except OSError as error:
            return _failure(_from_system(error))
        except Exception as error:  # the edge of the process: a calling program gets an answer
            traceback.print_exc()
            return _failure(_fault(error))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show the help if the group is called without a command."""
        return super().parse_args(ctx, args or ["--help"])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in known:
            raise UsageError(f'no command "{args[0]}"', seen=args[0], do=nearest(args[0], known))
        return super().resolve_command(ctx, args)


def error_facts(error: KernelwrightError) -> dict[str, str]:
    """Return the JSON form of an error."""
    return {"what": error.what, "seen": error.seen, "do": error.do}


def _delivered(answer: Answer, stdout: int, as_json: bool) -> Answer:
    """Write the answer to stdout and return it; return an error if stdout cannot be written."""
    try:
        if as_json:
            with os.fdopen(os.dup(stdout), "w") as file:
                file.write(json.dumps(_strict(answer.facts)) + "\n")
        else:
            _print(answer)
            sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        silence_stdout()
    except OSError as error:
        silence_stdout()
        return _failure(_from_system(error))
    return answer


def _print(answer: Answer) -> None:
    console = Console(highlight=False, soft_wrap=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=PLAIN_WIDTH)
    for thing in answer.shown:
        if isinstance(thing, str):
            click.echo(thing)
        else:
            console.print(thing)


def _failure(error: KernelwrightError) -> Answer:
    with contextlib.suppress(OSError):  # if stderr cannot be written, the exit code must do
        click.echo(str(error), err=True)
    return Answer({"error": error_facts(error)}, error.exit_code, [])


def _from_click(error: click.ClickException) -> KernelwrightError:
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "kernelwright"
    if isinstance(error, click.NoSuchOption) and context:
        known = [word for option in context.command.get_params(context) for word in option.opts]
        remedy = nearest(error.option_name, [word for word in known if word.startswith("-")])
        return UsageError(
            f'no option "{error.option_name}"',
            seen=error.option_name,
            do=f"{remedy} See {path} --help",
        )
    return UsageError(error.format_message(), seen=path, do=f"see {path} --help")


def _from_system(error: OSError) -> KernelwrightError:
    """Convert a system error that no module handles, mostly from writing a source or a report."""
    seen = str(error)
    if error.errno in MACHINE_ERRORS:
        return DeviceError(
            "the machine has no room, or its disk fails",
            seen=seen,
            do="free some space and run the same command again; all results are in the archive",
        )
    return UsageError(
        "a file cannot be read or written", seen=seen, do="check the path and its permissions"
    )


def _fault(error: Exception) -> KernelwrightError:
    return DeviceError(
        "kernelwright itself failed; this is a bug",
        seen=f"{type(error).__name__}: {error}",
        do="please report it with the traceback above",
    )


def _strict(value: Any) -> Any:
    """Return the value with NaN and infinities, which JSON lacks, replaced by None."""
    if isinstance(value, dict):
        return {str(key): _strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
