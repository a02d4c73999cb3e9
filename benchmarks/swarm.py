"""Models side by side on a suite: each alone, all together, and without each kind of context.

    python benchmarks/swarm.py --model openai:A --model anthropic:B --price openai:A=1.25/10 \\
        --price anthropic:B=3/15 --suite kernelbench --path KernelBench --level 1 --budget 0.5usd \\
        --ablate exemplars --ablate profile
    python benchmarks/swarm.py --gguf qwen2.5-coder-0.5b-instruct-q4_k_m.gguf \\
        --dialect cpp --dialect triton --problem softmax --problem rms_norm --budget 20ktok

The budget is that of one task in one column: a run costs tasks × columns × dialects × budget at
most. Every column differs from the swarm in one thing: it has one model, or one part less. Rows go
to rows.jsonl as they are finished, and the same command goes on after the last. The same command
several times at once shares the work (times are then disturbed, success is not); ``--table`` asks
nobody and prints what there is.

With ``--untimed``, and on a CPU for Triton's interpreter, kernels are only checked, on the small
sizes of the built-in suite, and a task is done with when something is right.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from swarm_table import show

from kernelwright.archive import Archive, ranking
from kernelwright.core import plugins
from kernelwright.core.device import Device
from kernelwright.core.errors import ProposerError, TaskError
from kernelwright.core.settings import Settings, parse_budget, parse_seconds
from kernelwright.judge import SharedForkServer, SharedForkServerProcess
from kernelwright.proposers.swarm.bandit import GENERATES
from kernelwright.proposers.swarm.context import DEFAULT, PARTS
from kernelwright.search import loop
from kernelwright.search.result import Progress
from kernelwright.suites.suite import SIZES, SuiteEntry, builtin_suite, suite_entries

START_S = 120.0  # for a server to load its model
FILE_NAME = str.maketrans("/: ", "___")
LAST_START_S = 5.0  # before the end of --total: what begins later finds nothing


@dataclass(frozen=True)
class Column:
    """One way to spend the budget."""

    name: str
    models: tuple[str, ...]
    context: str


@dataclass(frozen=True)
class Cell:
    """One task in one column, in one dialect; in all of the device's where that is ''."""

    column: Column
    entry: SuiteEntry
    dialect: str

    @property
    def key(self) -> str:
        return ".".join((self.column.name, self.entry.name, self.dialect))


def columns(models: Sequence[str], parts: Sequence[str], ablated: Sequence[str]) -> list[Column]:
    """Each model alone, all together (the whole), and the whole without one part."""
    parts_shown = ",".join(parts)
    found = [Column(short(model), (model,), parts_shown) for model in models]
    whole = whole_of(models)
    if len(models) > 1:
        found.append(Column(whole, tuple(models), parts_shown))
    for part in ablated:
        rest = ",".join(name for name in parts if name != part)
        found.append(Column(f"{whole} without {part}", tuple(models), rest))
    return found


def whole_of(models: Sequence[str]) -> str:
    """The name of the column that the others differ from in one thing: one model is no swarm."""
    return "swarm" if len(models) > 1 else short(models[0])


def short(name: str) -> str:
    """A model's name without its server's address: a port changes from run to run."""
    return name.rpartition("#")[2]


def is_timed(dialect: str, device: str) -> bool:
    known = plugins.find("kernelwright.dialects", dialect) if dialect else None
    return known is None or known.is_timed(Device.parse(device))


def measure(
    cell: Cell, settings: Settings, out: Path, fork_server: SharedForkServer
) -> dict[str, Any]:
    """One cell: what was asked, judged and found.

    Raises:
        ProposerError: no model could be asked; where they were and none answered, that is a row.
    """
    began = time.monotonic()
    column, entry = cell.column, cell.entry
    archive = made(out / f"{column.name} {cell.dialect}".strip().translate(FILE_NAME))
    told = {"models": column.models, "contexts": (column.context,), "archive": str(archive)}
    result, silence = None, None
    try:
        result = loop.optimize(
            entry.task,
            settings=replace(settings, **told),
            on_progress=_show,
            fork_server=fork_server,
        )
    except ProposerError as error:
        silence = error
    if result and result.interrupted:
        raise KeyboardInterrupt  # and this cell is done with another time
    with Archive(archive) as opened:
        calls = opened.calls(entry.task.digest)
    if silence is not None and not calls:
        raise silence
    evaluated = result.evaluated if result else []
    ranked = ranking.ranked(evaluated)
    best = ranked[0][1].speedup if ranked else None
    winner = result.best if result else None
    written = [call for call in calls if call.purpose in GENERATES]
    right = [proposal for proposal, found in ranking.latest(evaluated) if found.passed]
    return {
        "column": column.name,
        "models": [short(model) for model in column.models],
        "level": entry.level,
        "task": entry.name,
        "dialect": cell.dialect,
        "timed": settings.timed and is_timed(cell.dialect, settings.device),
        "generated": len(written),
        "judged": len(evaluated),
        "passed": len(right),
        "asked_of": dict(Counter(short(call.model) for call in written)),
        "passed_of": dict(Counter(short(proposal.lineage[0]) for proposal in right)),
        "outcomes": dict(Counter(call.outcome.value for call in written)),
        "statuses": dict(Counter(found.status.value for _, found in evaluated)),
        "best": best.median if best else None,
        "wins": winner is not None,
        "winner": short(winner.lineage[0]) if winner else None,
        "tokens": sum(call.tokens for call in calls),
        "cost_usd": math.fsum(call.cost_usd or 0.0 for call in calls),
        "asking_s": math.fsum(call.took_s for call in calls),
        "took_s": time.monotonic() - began,
    }


def made(path: Path) -> Path:
    """The archive of this name, which one process makes while the others wait."""
    archive = path.with_name(f"{path.name}.sqlite")
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        Archive(archive).close()
    return archive


class Record:
    """The rows of a folder, which several processes fill."""

    def __init__(self, out: Path) -> None:
        self._path = out / "rows.jsonl"
        self._locks = out / "cells"
        self._locks.mkdir(parents=True, exist_ok=True)

    def rows(self) -> list[dict[str, Any]]:
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        return [json.loads(line) for line in lines]

    def add(self, row: dict[str, Any]) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps(row) + "\n")

    @contextlib.contextmanager
    def claim(self, cell: Cell) -> Iterator[bool]:
        """Whether the cell is this process's to measure; a claim ends with its process."""
        with (self._locks / cell.key.translate(FILE_NAME)).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            key = (cell.column.name, cell.entry.name, cell.dialect)
            yield key not in {(r["column"], r["task"], r["dialect"]) for r in self.rows()}


@contextlib.contextmanager
def served(gguf: Path) -> Iterator[str]:
    """The name of the model in ``gguf``, while a server of its own holds it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = str(Path(__file__).with_name("llama_server.py"))
    command = [sys.executable, program, str(gguf), "--port", str(port)]
    with Path(f"{gguf}.log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        _await(server, f"http://127.0.0.1:{port}/health")
        yield f"http://127.0.0.1:{port}/v1#{gguf.stem}"
    finally:
        server.kill()
        server.wait()


def _await(server: subprocess.Popen, url: str) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and server.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.5)
    raise click.ClickException(f"the model's server did not start: see its log ({url})")


def _show(progress: Progress) -> None:
    click.echo(
        f"  {progress.n_done} judged · {progress.tokens / 1000:.1f} ktok · {progress.doing[:100]}",
        err=True,
    )


def in_order(entries: Sequence[SuiteEntry], problems: Sequence[str]) -> list[SuiteEntry]:
    """As the problems were named: where the time ends early, the first are whole."""
    places = {name: place for place, name in enumerate(problems)}
    return sorted(entries, key=lambda e: places.get(e.name, places.get(str(e.problem), 0)))


def sized(entries: Sequence[SuiteEntry], device: str, size: str) -> list[SuiteEntry]:
    """The same tasks of the built-in suite in another size; others have only their own."""
    known = {entry.name: entry for entry in builtin_suite(device, size=size)}
    return [known[entry.name] if entry.level == "builtin" else entry for entry in entries]


@click.command()
@click.option("--model", "models", multiple=True, help="As for kernelwright optimize; repeatable.")
@click.option("--gguf", "ggufs", multiple=True, type=click.Path(exists=True, path_type=Path),
              help="Serve this file too; repeatable.")  # fmt: skip
@click.option("--price", "prices", multiple=True, help="MODEL=IN/OUT, USD per million tokens.")
@click.option("--budget", multiple=True, required=True, help="Of a cell: 20ktok, 1usd, 90s.")
@click.option("--total", default="24h", show_default=True, help="No cell goes on after it.")
@click.option(
    "--context", default=",".join(DEFAULT[0]), show_default=True, help="All parts to use."
)
@click.option("--ablate", multiple=True, type=click.Choice(list(PARTS)), help="Also without it.")
@click.option("--suite", default="builtin", type=click.Choice(["builtin", "kernelbench"]))
@click.option("--path", type=click.Path(path_type=Path), help="The checkout of KernelBench.")
@click.option("--level", "levels", type=int, multiple=True)
@click.option("--problem", "problems", multiple=True)
@click.option("--every", default=1, show_default=True, help="Every n-th problem.")
@click.option("--size", type=click.Choice(SIZES), help="Of built-in tasks; small where untimed.")
@click.option("--device", default="cpu", show_default=True)
@click.option("--dialect", "dialects", multiple=True, help="A table each.")
@click.option("--untimed", is_flag=True, help="Only check kernels, as one must in an interpreter.")
@click.option("--table", "is_table", is_flag=True, help="Only print what there is.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("kernelwright-out/swarm"))
def main(
    models: tuple[str, ...], ggufs: tuple[Path, ...], prices: tuple[str, ...],
    budget: tuple[str, ...], total: str, context: str, ablate: tuple[str, ...], size: str | None,
    dialects: tuple[str, ...], untimed: bool, is_table: bool, out: Path, **suite: Any,
) -> None:  # fmt: skip
    """Compare models, the swarm of them, and what each part of the context is worth."""
    deadline = time.monotonic() + parse_seconds(total)
    record = Record(out)
    device = suite["device"]
    entries = in_order(suite_entries(suite.pop("suite"), **suite), suite["problems"])
    with contextlib.ExitStack() as stack:
        named = list(models)
        named += [g.stem if is_table else stack.enter_context(served(g)) for g in ggufs]
        chosen = columns(named, context.split(","), ablate)
        if len({column.name for column in chosen}) < len(chosen):
            raise click.UsageError("two models have one name: give each server's its own")
        broken: set[str] = set()
        fork_server = stack.enter_context(SharedForkServerProcess())
        told = Settings(proposers=("swarm",), prices=prices, device=device, out=str(out),
                        timed=not untimed, **parse_budget(budget))  # fmt: skip
        for dialect in () if is_table else dialects or ("",):
            timed = not untimed and is_timed(dialect, device)
            wanted = size or ("" if timed else "small")
            here = sized(entries, device, wanted) if wanted else entries
            settings = replace(told, dialects=(dialect,) if dialect else ())
            for cell in [Cell(column, entry, dialect) for entry in here for column in chosen]:
                left_s = deadline - time.monotonic()
                if left_s < LAST_START_S:
                    break
                limited = replace(settings, budget_s=min(settings.budget_s, left_s))
                with record.claim(cell) as is_mine:
                    if not is_mine or cell.entry.name in broken:
                        continue
                    click.echo(f"{cell.entry.name} {dialect}: {cell.column.name}", err=True)
                    try:
                        row = measure(cell, limited, out, fork_server)
                    except TaskError as error:
                        broken.add(cell.entry.name)
                        click.echo(str(error), err=True)
                        continue
                    if limited.budget_s == settings.budget_s or time.monotonic() < deadline:
                        record.add(row)  # one that ``--total`` cut off had less than the others
    show(record.rows(), [column.name for column in chosen], whole_of(named))


if __name__ == "__main__":
    main()
