"""Models side by side on a suite: each alone, all together, and without each kind of context.

    python benchmarks/swarm.py --model openai:A --model anthropic:B --price openai:A=1.25/10 \\
        --price anthropic:B=3/15 --suite kernelbench --path KernelBench --level 1 --budget 0.5usd \\
        --ablate exemplars --ablate profile
    python benchmarks/swarm.py --gguf qwen2.5-coder-0.5b-instruct-q4_k_m.gguf --problem softmax \\
        --problem rms_norm --dialect cpp --budget 20ktok

The budget is that of one task in one column: a run costs tasks × columns × budget at most. Rows go
to rows.jsonl as they are finished, and the same command goes on after the last. Several processes
share the work with ``--shard 1/4`` to ``--shard 4/4``; ``--shard 0/4`` prints the table. Times are
then disturbed, success is not. Shares have 95 %
intervals; a speedup is that of the best right kernel over the strongest library
setting, and 1 where nothing beat it, since that setting is then what a user gets.
"""

from __future__ import annotations

import contextlib
import json
import math
import socket
import statistics
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
from rich.console import Console
from rich.table import Table
from shares import share

from kernelwright import search, select
from kernelwright.archive import Archive
from kernelwright.bench import suite_entries
from kernelwright.core.errors import ProposerError
from kernelwright.core.settings import Settings, parse_budget
from kernelwright.load.suite import SuiteEntry
from kernelwright.propose.swarm.bandit import GENERATES
from kernelwright.propose.swarm.context import DEFAULT, LEAN, PARTS

START_S = 120.0  # for a server to load its model
TOGETHER = "swarm"


@dataclass(frozen=True)
class Column:
    """One way to spend the budget."""

    name: str
    models: tuple[str, ...]
    contexts: tuple[str, ...]


def columns(models: Sequence[str], parts: Sequence[str], ablated: Sequence[str]) -> list[Column]:
    """Each model alone with all parts, all models with a choice of parts, all without one part."""
    whole = ",".join(parts)
    found = [Column(model, (model,), (whole,)) for model in models]
    found.append(Column(TOGETHER, tuple(models), tuple(dict.fromkeys((whole, ",".join(LEAN))))))
    for part in ablated:
        rest = ",".join(name for name in parts if name != part)
        found.append(Column(f"{TOGETHER} without {part}", tuple(models), (rest,)))
    return found


def short(name: str) -> str:
    """A column's name without its server's address: a port changes from run to run."""
    return name.rpartition("#")[2]


def measure(entry: SuiteEntry, column: Column, settings: Settings, out: Path) -> dict[str, Any]:
    """One task in one column: what was asked, judged and found.

    Raises:
        ProposerError: no model could be asked; where they were and none answered, that is a row.
    """
    began = time.monotonic()
    archive = out / f"{short(column.name).translate(str.maketrans('/: ', '___'))}.sqlite"
    told = {"models": column.models, "contexts": column.contexts, "archive": str(archive)}
    result, silence = None, None
    try:
        result = search.optimize(entry.task, settings=replace(settings, **told), on_progress=_show)
    except ProposerError as error:
        silence = error
    with Archive(archive) as opened:
        calls = opened.calls(entry.task.digest)
    if silence is not None and not calls:
        raise silence
    evaluated = result.evaluated if result else []
    ranked = select.ranked(evaluated)
    best = ranked[0][1].speedup if ranked else None
    winner = result.best if result else None
    return {
        "column": column.name,
        "level": entry.level,
        "task": entry.name,
        "generated": sum(call.purpose in GENERATES for call in calls),
        "judged": len(evaluated),
        "passed": sum(found.passed for _, found in evaluated),
        "statuses": dict(Counter(found.status.value for _, found in evaluated)),
        "best": best.median if best else None,
        "wins": winner is not None,
        "winner": winner.lineage[0] if winner else None,
        "tokens": sum(call.tokens for call in calls),
        "cost_usd": math.fsum(call.cost_usd or 0.0 for call in calls),
        "asking_s": math.fsum(call.took_s for call in calls),
        "took_s": time.monotonic() - began,
    }


def summary(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> Table:
    """The table over all tasks, a line per column."""
    table = Table("column", "tasks solved", "calls that passed", "speedup: median, geo. mean",
                  "tasks won", "ktok/verdict", "USD/verdict", "s/verdict")  # fmt: skip
    for name in names:
        mine = [row for row in rows if row["column"] == name]
        if not mine:
            continue
        gains = [max(1.0, row["best"] or 1.0) for row in mine]
        judged = sum(row["judged"] for row in mine) or math.nan
        cost = [sum(row[key] for row in mine) / judged for key in ("tokens", "cost_usd", "took_s")]
        table.add_row(
            name,
            share(sum(row["passed"] > 0 for row in mine), len(mine)),
            share(sum(row["passed"] for row in mine), sum(row["generated"] for row in mine)),
            f"{statistics.median(gains):.2f}, {statistics.geometric_mean(gains):.2f}",
            share(sum(row["wins"] for row in mine), len(mine)),
            f"{cost[0] / 1000:.1f}",
            f"{cost[1]:.4f}",
            f"{cost[2]:.0f}",
        )
    return table


def won_by(rows: Sequence[dict[str, Any]], models: Sequence[str]) -> dict[str, int]:
    """On how many tasks each model alone had the best right kernel of all models alone."""
    counts = dict.fromkeys(models, 0)
    for task in {row["task"] for row in rows}:
        alone = [r for r in rows if r["task"] == task and r["column"] in counts and r["best"]]
        if alone:
            counts[max(alone, key=lambda row: row["best"])["column"]] += 1
    return counts


def part_of(cells: Sequence[Any], shard: str) -> Sequence[Any]:
    """What falls to one of several processes that share the work; '0/N' only prints the table."""
    number, _, count = shard.partition("/")
    return cells[int(number) - 1 :: int(count)] if int(number) else []


@contextlib.contextmanager
def served(gguf: Path | None) -> Iterator[list[str]]:
    """The name of the model in ``gguf``, while a server of its own holds it."""
    if gguf is None:
        yield []
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = str(Path(__file__).with_name("llama_server.py"))
    command = [sys.executable, program, str(gguf), "--port", str(port)]
    with Path(f"{gguf}.log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        _await(server, f"http://127.0.0.1:{port}/health")
        yield [f"http://127.0.0.1:{port}/v1#{gguf.stem}"]
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


def _show(progress: search.Progress) -> None:
    click.echo(
        f"  {progress.n_done} judged · {progress.tokens / 1000:.1f} ktok · {progress.doing[:100]}",
        err=True,
    )


@click.command()
@click.option("--model", "models", multiple=True, help="As for kernelwright optimize; repeatable.")
@click.option("--gguf", type=click.Path(exists=True, path_type=Path), help="Serve this file too.")
@click.option("--price", "prices", multiple=True, help="MODEL=IN/OUT, USD per million tokens.")
@click.option("--budget", multiple=True, required=True, help="Per task and column: 20ktok, 1usd.")
@click.option(
    "--context", default=",".join(DEFAULT[0]), show_default=True, help="All parts to use."
)
@click.option("--ablate", multiple=True, type=click.Choice(list(PARTS)), help="Also without it.")
@click.option("--suite", default="builtin", type=click.Choice(["builtin", "kernelbench"]))
@click.option("--path", type=click.Path(path_type=Path), help="The checkout of KernelBench.")
@click.option("--level", "levels", type=int, multiple=True)
@click.option("--problem", "problems", multiple=True)
@click.option("--every", default=1, show_default=True, help="Every n-th problem.")
@click.option("--device", default="cpu", show_default=True)
@click.option("--dialect", "dialects", multiple=True)
@click.option("--shard", default="1/1", show_default=True, help="Only every N-th cell: K/N.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("kernelwright-out/swarm"))
def main(
    models: tuple[str, ...], gguf: Path | None, prices: tuple[str, ...], budget: tuple[str, ...],
    context: str, ablate: tuple[str, ...], dialects: tuple[str, ...], shard: str, out: Path,
    **suite: Any,
) -> None:  # fmt: skip
    """Compare models, the swarm of them, and what each part of the context is worth."""
    out.mkdir(parents=True, exist_ok=True)
    record = out / "rows.jsonl"
    lines = record.read_text().splitlines() if record.exists() else []
    rows = [json.loads(line) for line in lines]
    with served(gguf) as local:
        named = (*models, *local)
        chosen = columns(named, context.split(","), ablate)
        settings = Settings(proposers=("swarm",), prices=prices, device=suite["device"],
                            dialects=dialects, out=str(out), **parse_budget(budget))  # fmt: skip
        known = {(row["column"], row["task"]) for row in rows}
        entries = suite_entries(suite.pop("suite"), **suite)
        cells = [(entry, column) for column in chosen for entry in entries]
        for entry, column in part_of(cells, shard):
            name = short(column.name)
            if (name, entry.name) in known:
                continue
            click.echo(f"{entry.name}: {name}", err=True)
            rows.append(measure(entry, column, settings, out) | {"column": name})
            with record.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    names = [short(column.name) for column in chosen]
    for level in sorted({row["level"] for row in rows}):
        Console(width=160).print(
            f"level {level}", summary([r for r in rows if r["level"] == level], names)
        )
    for model, n in won_by(rows, names[: len(named)]).items():
        click.echo(f"{model} alone is the best single model on {n} tasks")


if __name__ == "__main__":
    main()
