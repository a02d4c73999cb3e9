"""The options that several commands take, and what they mean."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from kernelwright.core.cores import fitting_threads
from kernelwright.core.errors import UsageError
from kernelwright.core.task import PRECISIONS
from kernelwright.suites.suite import LEVELS, SUITES


def _options(*options: Callable) -> Callable:
    """One decorator from several, applied in the order in which they are written."""
    return lambda function: functools.reduce(lambda f, o: o(f), reversed(options), function)


def fitting(_context: click.Context, _option: click.Parameter, threads: int | None) -> int | None:
    """A number of threads, refused before anything is loaded where there are fewer cores."""
    return threads and fitting_threads(threads)


JSON = click.option(
    "--json", "as_json", is_flag=True, help="One JSON object on stdout; talk goes to stderr."
)
INPUTS = _options(
    click.option(
        "--input",
        "inputs",
        multiple=True,
        metavar="SPEC",
        help='An input, e.g. "float32[64,1024]"; once per input, for file.py:Class tasks.',
    ),
    click.option(
        "--init",
        metavar="JSON",
        help="The constructor's arguments: a JSON list, or an object of keyword arguments.",
    ),
)
MACHINE = _options(
    click.option("--device", metavar="DEVICE", help="Work on cpu (default), cuda, cuda:1, …"),
    click.option(
        "--threads",
        type=click.IntRange(min=0),
        callback=fitting,
        help="CPU threads; 0 (default): all cores.",
    ),
    click.option(
        "--cache",
        type=click.Choice(["cold", "warm"]),
        help="Flush caches before each timed call (cold, default) or not.",
    ),
    click.option(
        "--precision",
        type=click.Choice(PRECISIONS),
        help="Let kernels and the library round to it. Default: as the task.",
    ),
)
PROPOSING = _options(
    click.option(
        "--proposer",
        "proposers",
        multiple=True,
        callback=lambda _context, _option, given: _words(given),
        metavar="NAME[,NAME…]",
        help="Who proposes, in order: rules (default), swarm, …; repeatable.",
    ),
    click.option(
        "--model",
        "models",
        multiple=True,
        metavar="MODEL",
        help="Let the swarm ask openai:NAME, anthropic:NAME, google:NAME, http://HOST/v1#NAME or "
        "hf:FOLDER; repeatable. Default: none.",
    ),
    click.option(
        "--context",
        "contexts",
        multiple=True,
        metavar="PART,…",
        help="What prompts may draw on: reference, verdicts, exemplars, other-dialect, device, "
        "profile, roofline, kernels, counters, attached, advice. Repeated, the sets compete. "
        "Default: all but counters, and the first two.",
    ),
    click.option(
        "--attach",
        "attached",
        multiple=True,
        metavar="FILE",
        help="Show prompts what another profiler says, as text or a picture; repeatable.",
    ),
    click.option(
        "--price",
        "prices",
        multiple=True,
        metavar="MODEL=IN/OUT",
        help="What a model costs, in USD per million tokens read and written.",
    ),
    click.option(
        "--budget",
        multiple=True,
        metavar="LIMIT",
        help="Search each task for 60s (default), 5m, 1.5h; for models also 200ktok, 2usd; "
        "repeatable.",
    ),
)
ARCHIVE = click.option(
    "--archive",
    metavar="URL",
    help="Keep all in this file, folder or database URL. Default: kernelwright-out/archive.sqlite.",
)
RECEIPT = click.option(
    "--receipt",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the verdict to FILE, with all that repeating it needs.",
)
PART = _options(
    click.option(
        "--path",
        type=click.Path(path_type=Path),
        help="Where the suite's tasks are: a KernelBench checkout, or a folder.",
    ),
    click.option(
        "--level",
        "--levels",
        "levels",
        multiple=True,
        callback=lambda _context, _option, given: _numbers(given),
        metavar="N[,N…]",
        help=f"Take only these levels of kernelbench; repeatable. Default: "
        f"{','.join(map(str, LEVELS))}.",
    ),
    click.option(
        "--problem",
        "problems",
        multiple=True,
        metavar="NUMBER|NAME",
        help="Take only this problem of the suite; repeatable. Default: all.",
    ),
)
"""Which tasks of a suite."""
SUITE = _options(
    click.option("--suite", type=click.Choice(SUITES), help="Take every task of this suite."), PART
)
GPUS = click.option(
    "--gpus", metavar="N", help="With --device cuda: work on this many GPUs, or all. Default: 1."
)


def init_of(text: str | None) -> Any:
    """The constructor's arguments that ``--init`` gives; None where it was left out."""
    if text is None:
        return None
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(
            "--init is not JSON", seen=f"{text} ({error})", do="write '[1024]'"
        ) from None
    if not isinstance(value, (list, dict)):
        raise UsageError("--init is neither a list nor an object", seen=text, do="write '[1024]'")
    return value


def _numbers(given: tuple[str, ...]) -> tuple[int, ...]:
    """The levels in '1,2', each given once or several times."""
    words = [word.strip() for word in _words(given)]
    if not all(word.isdecimal() for word in words):
        raise UsageError("--level is not a number", seen=" ".join(given), do="write --level 1,2,3")
    return tuple(map(int, words))


def _words(given: tuple[str, ...]) -> tuple[str, ...]:
    """The names in 'rules,swarm', with blanks or without."""
    names = (name.strip() for text in given for name in text.split(","))
    return tuple(name for name in names if name)
