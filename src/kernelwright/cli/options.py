"""The options that several commands take, and what they mean."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernelwright.core.cores import fitting_threads
from kernelwright.core.errors import UsageError
from kernelwright.core.option import Option, options_of
from kernelwright.core.settings import Settings
from kernelwright.suites.suite import LEVELS, SUITES
from kernelwright.workers.asked import WorkersAsked

if TYPE_CHECKING:  # it imports torch, which many commands need not
    from kernelwright.workers.workers import Workers

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
"""A decorator that adds options to a command's function."""


def grouped(*options: Decorator) -> Decorator:
    """One decorator from several, applied in the order in which they are written."""
    return lambda function: functools.reduce(lambda f, o: o(f), reversed(options), function)


def fitting(_context: click.Context, _option: click.Parameter, threads: int | None) -> int | None:
    """A number of threads, refused before anything is loaded where there are fewer cores."""
    return threads and fitting_threads(threads)


def field_options(kind: type, *names: str) -> Decorator:
    """The options that give these fields of a dataclass, made from the fields' metadata."""
    about = options_of(kind)
    return grouped(*(_option(name, getattr(kind, name, ""), about[name]) for name in names))


def _option(name: str, default: Any, about: Option) -> Decorator:
    flag = about.flag or f"--{name.replace('_', '-')}"
    usual = f"{default}" if about.default is None else about.default
    text = f"{about.help} Default: {usual}." if usual else about.help
    if isinstance(default, bool):
        return click.option(f"{flag}/--no-{flag[2:]}", name, default=None, help=text)
    return click.option(
        flag,
        name,
        type=_type(default, about),
        multiple=isinstance(default, tuple),
        metavar=about.metavar,
        callback=_CALLBACKS.get(name),
        help=text,
    )


def _type(default: Any, about: Option) -> click.ParamType[Any]:
    """What the option's text is read as: the kind of the default, within the field's bounds."""
    if about.choices:
        return click.Choice(about.choices)
    if isinstance(default, (str, tuple)):
        return click.STRING
    least = about.least if about.above is None else about.above
    if least is None and about.most is None:
        return click.INT if isinstance(default, int) else click.FLOAT
    is_open = about.above is not None
    if isinstance(default, int):
        low, high = (None if bound is None else int(bound) for bound in (least, about.most))
        return click.IntRange(low, high, min_open=is_open)
    return click.FloatRange(least, about.most, min_open=is_open)


def _words(given: tuple[str, ...]) -> tuple[str, ...]:
    """The names in 'rules,swarm', with blanks or without."""
    names = (name.strip() for text in given for name in text.split(","))
    return tuple(name for name in names if name)


_CALLBACKS: dict[str, Callable[..., Any]] = {
    "threads": fitting,
    "proposers": lambda _context, _option, given: _words(given),
}
"""What is done with an option's value at once, by the field's name."""
JSON = click.option(
    "--json", "as_json", is_flag=True, help="One JSON object on stdout; talk goes to stderr."
)
INPUTS = grouped(
    click.option(
        "--input",
        "inputs",
        multiple=True,
        metavar="SPEC",
        help='An input, e.g. "float32[64,1024]", "(float32[8,64], float32[8,64])" or '
        '"mask=bool[64]"; once per input, for tasks that are classes. "float32[512|64,1024]" '
        'lists sizes, and "float32[1..4096,1024]" is a range of them: each is judged and timed.',
    ),
    click.option(
        "--init",
        metavar="ARGUMENTS",
        help="The constructor's arguments: a JSON list, an object of keyword arguments, or as in a "
        'call, e.g. "transformers.LlamaConfig(hidden_size=256), layer_idx=0".',
    ),
)
MACHINE = field_options(Settings, "device", "threads", "cache", "precision", "mode", "max_autotune")
PROPOSING = grouped(
    field_options(
        Settings,
        "proposers",
        "models",
        "contexts",
        "attached",
        "prices",
        "try_admitted",
        "tries_uses",
    ),
    click.option(
        "--budget",
        multiple=True,
        metavar="LIMIT",
        help="Search each task for 60s (default), 5m, 1.5h; for models also 200ktok, 2usd; "
        "repeatable.",
    ),
)
ARCHIVE = field_options(Settings, "archive")
RECEIPT = click.option(
    "--receipt",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the verdict to FILE, with all that repeating it needs.",
)
PART = grouped(
    click.option(
        "--path",
        type=click.Path(path_type=Path),
        help="Where the suite's tasks are: a checkout of KernelBench or Atrex-Bench, a folder of "
        "FlashInfer-Bench or SOL-ExecBench, or a folder of tasks.",
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
        help="Take only this problem of the suite, or all shapes of this operator; repeatable. "
        "Default: all.",
    ),
)
"""Which tasks of a suite."""
SUITE = grouped(
    click.option("--suite", type=click.Choice(SUITES), help="Take every task of this suite."), PART
)
NODES = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Work on the nodes of a Ray cluster: auto, HOST:PORT or ray://HOST:PORT. Default: on this "
    "machine.",
)
"""The nodes of a cluster, whatever devices they have."""
CLUSTER = grouped(
    NODES,
    click.option(
        "--gpu-model",
        metavar="NAME",
        help="Work on the cluster's GPUs of this model, by Ray's name: H100. Default: its only "
        "one.",
    ),
)
"""The nodes of a cluster that have the device."""
WORKERS = grouped(
    click.option(
        "--gpus",
        metavar="N",
        help="With --device cuda: work on this many GPUs, or all. Default: 1.",
    ),
    CLUSTER,
)
"""Where the tasks of a suite are worked on."""


def workers_asked(given: Mapping[str, Any]) -> WorkersAsked:
    """The workers that the options ask for."""
    names = (field.name for field in dataclasses.fields(WorkersAsked))
    return WorkersAsked(**{name: given[name] for name in names if given.get(name)})


@contextlib.contextmanager
def cluster_workers(
    cluster: str | None, gpu_model: str | None = None, settings: Settings | None = None
) -> Iterator[Workers | None]:
    """The workers of a cluster; None without one. With ``settings`` their device and their archive
    are used; without, only processors."""
    if not cluster and not gpu_model:
        yield None
        return
    from kernelwright.workers.opening import workers_for

    asked = WorkersAsked(cluster=cluster or "", gpu_model=gpu_model or "")
    with workers_for(settings.device if settings else "cpu", asked) as workers:
        if settings is not None:
            workers.target(settings)  # refuses what cannot be done there
        yield workers


def _numbers(given: tuple[str, ...]) -> tuple[int, ...]:
    """The levels in '1,2', each given once or several times."""
    words = [word.strip() for word in _words(given)]
    if not all(word.isdecimal() for word in words):
        raise UsageError("--level is not a number", seen=" ".join(given), do="write --level 1,2,3")
    return tuple(map(int, words))
