"""Settings: argument beats ``kernelwright.toml`` beats default, and nothing else."""

from __future__ import annotations

import dataclasses
import math
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.core.device import Device, require_judged
from kernelwright.core.errors import UsageError, nearest
from kernelwright.core.option import Option, options_of, with_option
from kernelwright.core.task import MODES, PRECISIONS, Task

FILE_NAME = "kernelwright.toml"
BOTH_MODES = "both"
_KINDS = {
    bool: "true or false", int: "a whole number", float: "a number", str: "a text",
    tuple: "a list of texts",
}  # fmt: skip
"""What values of a type are called where no Python is written."""


@dataclass(frozen=True)
class Settings:
    """All settings of a run; they are stored complete with each run.

    Raises:
        UsageError: a value that does not fit.
    """

    device: str = with_option(
        "cpu", Option("Work on cpu (default), cuda, cuda:1, …", metavar="DEVICE", default="")
    )
    """Where candidates run: 'cpu' or 'cuda'; 'cuda:1' is the second GPU."""
    dialects: tuple[str, ...] = with_option(
        (),
        Option(
            "Propose in this dialect; repeatable.",
            flag="--dialect",
            default="all that run on the device",
        ),
    )
    """Dialects to propose in; empty means all that this machine can run on the device."""
    proposers: tuple[str, ...] = with_option(
        ("rules",),
        Option(
            "Who proposes, in order: rules (default), swarm, …; repeatable.",
            flag="--proposer",
            metavar="NAME[,NAME…]",
            default="",
        ),
    )
    """Who proposes, in order: 'rules', 'swarm', 'policy', 'inductor', 'port' or a plugin's."""
    budget_s: float = 60.0
    """Time of one search, as seconds, '60s', '5m' or '1.5h'. It is the dial: everything else that
    grows with effort follows from it."""
    budget_tokens: int = 0
    """Tokens that models may read and write in one run; 0 means not limited."""
    budget_usd: float = 0.0
    """Money that models may cost in one run; 0 means not limited."""
    models: tuple[str, ...] = with_option(
        (),
        Option(
            "Let the swarm ask openai:NAME, anthropic:NAME, google:NAME, http://HOST/v1#NAME or "
            "hf:FOLDER; repeatable.",
            flag="--model",
            metavar="MODEL",
            default="none",
        ),
    )
    """Models for proposers that ask some: 'openai:NAME', 'http://HOST/v1#NAME', 'hf:PATH'."""
    contexts: tuple[str, ...] = with_option(
        (),
        Option(
            "What prompts may draw on: reference, verdicts, exemplars, other-dialect, device, "
            "profile, roofline, kernels, counters, attached, advice. Repeated, the sets compete.",
            flag="--context",
            metavar="PART,…",
            default="all but counters, and the first two",
        ),
    )
    """Sets of parts that prompts may draw on, each 'reference,verdicts,…'; the best is found."""
    attached: tuple[str, ...] = with_option(
        (),
        Option(
            "Show prompts what another profiler says, as text or a picture; repeatable.",
            flag="--attach",
            metavar="FILE",
            default="",
        ),
    )
    """Files that prompts show: what other tools say, as text or pictures."""
    prices: tuple[str, ...] = with_option(
        (),
        Option(
            "What a model costs, in USD per million tokens read and written.",
            flag="--price",
            metavar="MODEL=IN/OUT",
            default="",
        ),
    )
    """What models cost: 'MODEL=IN/OUT' in USD per million tokens read and written."""
    try_admitted: bool = with_option(
        False,
        Option(
            "Try models' Triton kernels before they are judged, under several schedules, if a "
            "grammar admits their text.",
            flag="--try-admitted",
            default="no",
        ),
    )
    """True: what models write is tried in a warm process with the user's rights, if a grammar over
    its syntax admits it. A file with a schedule line is tried under several schedules, and the
    fastest is judged. What is right and clearly slower than the best trial gets no verdict."""
    archive: str = with_option(
        "sqlite:///kernelwright-out/archive.sqlite",
        Option(
            "Keep all in this file, folder or database URL.",
            metavar="URL",
            default="kernelwright-out/archive.sqlite",
        ),
    )
    """A file, a folder, or any SQLAlchemy URL."""
    out: str = with_option(
        "kernelwright-out", Option("Write sources and reports here.", metavar="DIR")
    )
    """Folder for the best sources and the reports."""
    threads: int = with_option(
        0, Option("CPU threads; 0 (default): all cores.", default="", least=0)
    )
    """CPU threads for candidates and baselines alike; 0 means all cores of this process."""
    seed: int = with_option(0, Option("Random seed of the proposers."))
    """Seed of the proposers. The judge's seeds are drawn fresh and recorded in each verdict."""
    cache: str = with_option(
        "cold",
        Option(
            "Flush caches before each timed call (cold, default) or not.",
            default="",
            choices=("cold", "warm"),
        ),
    )
    """'cold': caches are flushed before each timed call; 'warm': they are not."""
    max_autotune: bool = with_option(
        False,
        Option(
            "Measure torch.compile's max-autotune as well, which takes minutes to compile.",
            default="no",
        ),
    )
    """True: torch.compile's max-autotune, on a GPU with and without CUDA graphs, is among the
    library settings of which the strongest counts."""
    compiled: bool = True
    """False: torch.compile is not among the library settings, so that a verdict says how a
    candidate compares with eager code. Whole models are searched so: there the model is compiled,
    with and without the candidate."""
    timed: bool = True
    """False: candidates are only checked. Nothing can win then, and a dialect is done with when
    something in it is right."""
    tries_uses: bool = with_option(
        True,
        Option(
            "At the end use the winner as programs use modules, and tell which ways it serves.",
            default="yes",
        ),
    )
    """False: a winner is not used as programs use modules, to see which of the ways it serves."""
    precision: str = with_option(
        "",
        Option(
            "Let kernels and the library round to it; fp32 forbids TF32 as well.",
            default="as the task",
            choices=PRECISIONS,
        ),
    )
    """'tf32', 'bf16' or 'fp16': what candidates and baselines may round to; 'fp32': they round to
    none of these, although the library's flags may allow TF32; '': as the task."""
    backward: bool = with_option(
        False,
        Option(
            "Make training steps faster: forward and backward together, judged on gradients too.",
            default="no",
        ),
    )
    """True: the task is a training step, whose results are the module's and all gradients."""
    mode: str = with_option(
        "",
        Option(
            "Put the module into eval or train mode, or search both, one after the other.",
            default="as it is constructed or given",
            choices=(*MODES, BOTH_MODES),
        ),
    )
    """'eval', 'train' or 'both'; '': the mode that the module is constructed or given in."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value, kind = getattr(self, field.name), type(field.default)
            if not _is_a(kind, value):
                raise _misfit(field.name, value, f"give {_KINDS[kind]}")
        for name, about in options_of(Settings).items():
            value = getattr(self, name)
            if about.choices and value not in (*about.choices, getattr(Settings, name)):
                raise _misfit(name, value, nearest(value, about.choices))
        require_judged(Device.parse(self.device))
        if not 0 < self.budget_s < math.inf:
            raise _misfit("budget_s", self.budget_s, "give seconds, more than 0")
        for name in ("budget_tokens", "budget_usd"):
            if not 0 <= getattr(self, name) < math.inf:
                raise _misfit(name, getattr(self, name), "give a number, or 0 for no limit")

    def applied_to(self, task: Task) -> Task:
        """The task in the precision and the mode of these settings.

        Raises:
            UsageError: they are not the task's own, or both modes are asked for at once.
        """
        return task.in_precision(self.precision).in_mode(self.mode)


def load_settings(folder: Path, **arguments: Any) -> Settings:
    """Settings from ``folder/kernelwright.toml`` (if there) and ``arguments`` (None: not given).

    Raises:
        UsageError: an unknown key, or a value that does not fit; the message names the nearest key.
    """
    path = folder / FILE_NAME
    values: dict[str, Any] = {}
    if path.exists():
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(
                f"{path} is not TOML", seen=str(error), do="mend the line named"
            ) from error
    values |= {key: value for key, value in arguments.items() if value is not None}
    fields = {field.name: field for field in dataclasses.fields(Settings)}
    for key, value in values.items():
        if key not in fields:
            raise UsageError(f'unknown setting "{key}"', seen=key, do=nearest(key, fields))
        values[key] = _converted(key, value, type(fields[key].default))
    return Settings(**values)


def _converted(key: str, value: Any, kind: type) -> Any:
    """The value, in the form that settings have it in where TOML or a caller has another."""
    if kind is tuple and isinstance(value, (list, str)):
        return tuple([value] if isinstance(value, str) else value)
    if key == "budget_s" and isinstance(value, str):
        return parse_seconds(value)
    if kind is float and type(value) is int:
        return float(value)
    return value


def _is_a(kind: type, value: Any) -> bool:
    """Whether a value is of a setting's type: a whole number is a number, a bool is none."""
    if isinstance(value, bool):
        return kind is bool
    if isinstance(value, tuple):
        return kind is tuple and all(isinstance(part, str) for part in value)
    return isinstance(value, (int, float) if kind is float else kind)


def _misfit(key: str, value: Any, remedy: str) -> UsageError:
    return UsageError(f'setting "{key}" does not fit', seen=repr(value), do=remedy)


def parse_seconds(text: str) -> float:
    """Seconds from '90', '60s', '5m', '1.5h'.

    Raises:
        UsageError: not a positive time.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h)?", text.strip())
    seconds = float(match[1]) * {"s": 1, "m": 60, "h": 3600, None: 1}[match[2]] if match else 0.0
    if seconds <= 0:
        raise UsageError(f'"{text}" is not a time', seen=text, do="write 60s, 5m or 1.5h")
    return seconds


DAY_S = 86_400.0
"""The limit in time of a run that was limited in something else: it still ends."""


def parse_budget(texts: Iterable[str]) -> dict[str, float | int]:
    """The settings behind '60s', '200ktok', '2usd': budget_s, budget_tokens, budget_usd.

    Where tokens or money are given without a time, the time is a day.

    Raises:
        UsageError: not a budget, or two of one kind.
    """
    found: dict[str, float | int] = {}
    for text in texts:
        match = re.fullmatch(r"(\d+(?:\.\d+)?)(k|M)?(tok|usd)", text.strip())
        if match is None:
            key, amount = "budget_s", parse_seconds(text)
        else:
            amount = float(match[1]) * {"k": 1e3, "M": 1e6, None: 1}[match[2]]
            key = {"tok": "budget_tokens", "usd": "budget_usd"}[match[3]]
            amount = int(amount) if match[3] == "tok" else amount
        if key in found or amount <= 0:
            raise UsageError(
                f'"{text}" is not a budget, or is a second one of its kind',
                seen=" ".join(texts),
                do="write 60s, 200ktok or 2usd, each once",
            )
        found[key] = amount
    return {"budget_s": DAY_S} | found if found else {}
