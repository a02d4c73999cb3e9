"""Winners of an archive under Atrex-Bench's own evaluator, beside our judge's verdicts.

    kernelwright bench --suite atrex --path CHECKOUT --device cuda --archive ARCHIVE
    python -m benchmarks.atrex_evaluator ARCHIVE --checkout CHECKOUT [--jobs 4] [--total-s 600]

Each winner becomes a file with ``class Model``, as Atrex-Bench asks for. Its evaluator compares it
with the reference on ``--cases`` draws of inputs, and times it, the reference and
``torch.compile(reference)`` with ``triton.testing.do_bench``. The evaluator runs in processes of
its own: ``--jobs`` of them check side by side, and compile what is timed later; one alone measures.
After a process dies, a new one goes on with the next winner. A file raises an error where its
kernels cannot serve a call, so that no figure is of a reference in a winner's place.

verdict: the evaluator's, with the largest error that it found
ours:    our judge's median ratios over eager, over torch.compile, and over the strongest setting
its:     the same ratios of the evaluator's means, and the smaller of the two

Needs a GPU for times; on a CPU only the verdicts are found. The rows are also written, as they are
found, to ``--out`` as lines of JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from kernelwright.archive import Archive, ranking
from kernelwright.core.evaluation import Evaluation
from kernelwright.suites import atrex
from kernelwright.suites.device_text import on_any_device

AS_MODEL = """

Model = ModelNew
Model.on_miss = "raise"
"""
CANDIDATE, EAGER, COMPILE = "candidate", "eager", "compile"
CHECK, TIME = "check", "time"
"""The two passes: all winners are checked, side by side, before any is timed."""
RUNNING: set[subprocess.Popen[str]] = set()
"""The processes that have not ended, which end with this one."""


@dataclass(frozen=True)
class Winner:
    """A winner's file, and where its reference is in the checkout."""

    name: str
    file: str
    reference: str
    shape: str
    ours: dict[str, float]
    """Our judge's ratios by baseline, and over the 'strongest'."""


def winners(archive: Archive, checkout: Path, folder: Path) -> list[Winner]:
    """Write every winner on a shape of Atrex-Bench to a file in ``folder``."""
    data = checkout / "data" if is_on_gpu() else _on_any_device(checkout / "data", folder)
    shapes = {
        f"{file.parent.name}_{shape}": (file.with_name("reference.py"), shape)
        for file in sorted(data.glob("*/shapes.json"))
        for shape in json.loads(file.read_text())
    }
    found = []
    for task in archive.tasks():
        best = ranking.best(archive.history(task.digest))
        if task.origin != atrex.NAME or task.name not in shapes or best is None:
            continue
        file = folder / f"{task.name}.py"
        file.write_text(best[0].candidate.source + AS_MODEL)
        reference, shape = shapes[task.name]
        found.append(Winner(task.name, str(file), str(reference), shape, ratios(best[1])))
    return sorted(found, key=lambda winner: winner.name)


def _on_any_device(data: Path, folder: Path) -> Path:
    """A copy of the operators whose inputs are not made on "cuda" alone."""
    copy = folder / "data"
    shutil.copytree(data, copy, dirs_exist_ok=True)
    for file in copy.glob("*/*.py"):
        file.write_text(on_any_device(file.read_text()))
    return copy


def ratios(verdict: Evaluation) -> dict[str, float]:
    timing = verdict.timing
    assert timing is not None
    found = {name: ratio.median for name, ratio in timing.speedups.items()}
    return {**found, "strongest": found[timing.strongest]}


def serve(stage: str, cases: int) -> None:
    """Answer each line of stdin, a winner, with a line of what the evaluator finds."""
    answer = {CHECK: lambda one: checked(one, cases), TIME: timed}[stage]
    for line in sys.stdin:
        with contextlib.redirect_stdout(sys.stderr):
            try:
                found = answer(Winner(**json.loads(line)))
            except Exception as error:
                found = {"verdict": "stopped", "why": f"{type(error).__name__}: {error}"[-600:]}
        print(json.dumps(found), flush=True)
        empty_cache()


def checked(winner: Winner, cases: int) -> dict[str, Any]:
    from atrex_bench.eval import benchmark_reference_torch_compile, check_correctness

    reference, candidate = Path(winner.reference), Path(winner.file)
    if is_on_gpu():  # torch keeps what it compiles
        benchmark_reference_torch_compile(reference, shape_id=winner.shape, bench_iters=1)
    found = check_correctness(
        reference, candidate, shape_id=winner.shape, num_correctness_cases=cases
    )
    outputs = [one for case in found.cases for one in case.outputs]
    why = [found.reason, *(case.error for case in found.cases), *(one.error for one in outputs)]
    return {
        "verdict": found.status,
        "why": " ".join(filter(None, why))[-600:],
        "error": max((one.max_elementwise_abs_diff or 0.0 for one in outputs), default=None),
    }


def timed(winner: Winner) -> dict[str, Any]:
    from atrex_bench.eval import benchmark_performance, benchmark_reference_torch_compile

    reference = Path(winner.reference)
    each: dict[str, Callable[[], Any]] = {
        CANDIDATE: lambda: benchmark_performance(
            Path(winner.file), reference, shape_id=winner.shape
        ),
        EAGER: lambda: benchmark_performance(reference, reference, shape_id=winner.shape),
        COMPILE: lambda: benchmark_reference_torch_compile(reference, shape_id=winner.shape),
    }
    found: dict[str, Any] = {"ms": {}, "why": ""}
    for name, measure in each.items():
        result = measure()
        if result.samples:
            found["ms"][name] = result.samples[0].end_to_end_time_ms
        else:
            found["why"] += f"{name}: {(result.error or 'not timed')[-300:]} "
    return found


def empty_cache() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def answers(
    chosen: Sequence[Winner], command: list[str], checkout: Path
) -> Iterator[tuple[Winner, dict[str, Any]]]:
    """Each winner with what the evaluator finds, in processes that follow one another."""
    left = list(chosen)
    path = os.pathsep.join([str(checkout / "src"), *sys.path])
    while left:
        asked = "".join(json.dumps(asdict(winner)) + "\n" for winner in left)
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
            text=True,
        ) as process:
            assert process.stdin is not None and process.stdout is not None
            RUNNING.add(process)
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(asked)
                process.stdin.close()
            for line in process.stdout:
                yield left.pop(0), json.loads(line)
        RUNNING.discard(process)
        if left:
            why = f"its process ended with code {process.returncode}"
            yield left.pop(0), {"verdict": "died", "why": why}


def evaluated(
    chosen: Sequence[Winner], stage: str, given: argparse.Namespace
) -> Iterator[tuple[Winner, dict[str, Any]]]:
    """What one pass finds of each winner, as it is found; no more once the time is up."""
    command = [sys.executable, "-m", "benchmarks.atrex_evaluator", "", "--worker", stage]
    command += ["--cases", str(given.cases)]
    n_jobs = given.jobs if stage == CHECK else 1
    shares = [chosen[n::n_jobs] for n in range(n_jobs)]
    found: list[tuple[Winner, dict[str, Any]]] = []

    def work(share: Sequence[Winner]) -> None:
        found.extend(answers(share, command, given.checkout))

    pool = ThreadPoolExecutor(n_jobs)
    waiting = [pool.submit(work, share) for share in shares if share]
    n_told = 0
    while True:
        is_over = all(one.done() for one in waiting) or time.monotonic() > given.last
        while n_told < len(found):
            yield found[n_told]
            n_told += 1
        if is_over:
            break
        with contextlib.suppress(TimeoutError):
            next(as_completed(waiting, timeout=0.5))
        time.sleep(0.2)
    for one in waiting:
        if one.done():
            one.result()


def row(winner: Winner, found: dict[str, Any]) -> list[str]:
    ms = found.get("ms", {})
    its = {n: ms[n] / ms[CANDIDATE] for n in (EAGER, COMPILE) if n in ms and CANDIDATE in ms}
    error = "" if found.get("error") is None else f"{found['error']:.2g}"
    best = min(its.values(), default=None)
    return [
        winner.name,
        f"{found['verdict']} {error}",
        *(_figure(winner.ours.get(name)) for name in (EAGER, COMPILE, "strongest")),
        *(_figure(its.get(name)) for name in (EAGER, COMPILE)),
        _figure(best),
        found.get("why", "")[:60],
    ]


def _figure(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("archive", metavar="ARCHIVE")
    parser.add_argument("--checkout", type=Path)
    parser.add_argument("--cases", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--total-s", type=float, default=3600.0, help="stop after this")
    parser.add_argument("--out", type=Path, default=Path("atrex-evaluator.jsonl"))
    parser.add_argument("--worker", choices=(CHECK, TIME), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        serve(given.worker, given.cases)
        return
    given.last = time.monotonic() + given.total_s
    folder = given.out.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    with Archive(given.archive, create=False) as archive:
        chosen = winners(archive, given.checkout, folder)
    show(chosen, given)
    sys.stdout.flush()
    for process in list(RUNNING):
        process.kill()
    os._exit(0)  # past its time, nobody waits for the processes that still run


def show(chosen: Sequence[Winner], given: argparse.Namespace) -> None:
    """Evaluate the winners, keep every row as it is found, and print the table."""
    found: dict[str, tuple[Winner, dict[str, Any]]] = {}
    with given.out.open("a") as file:
        for stage in (CHECK, TIME):
            for winner, said in evaluated(chosen, stage, given):
                before = found.get(winner.name, (winner, {}))[1]
                found[winner.name] = winner, {**before, **said}
                print(json.dumps({"name": winner.name, "stage": stage, **said}), file=file)
                file.flush()
            chosen = [w for w, said in found.values() if said["verdict"] == "passed"]
            if not is_on_gpu():
                break
    table = Table("task", "verdict", "ours: eager", "compile", "strongest")
    for name in ("its: eager", "compile", "smaller", "why"):
        table.add_column(name)
    rows = [row(*found[name]) for name in sorted(found)]
    for cells in rows:
        table.add_row(*cells)
    console = Console(width=150)
    console.print(table, markup=False)
    for place, name in ((4, "ours"), (7, "its")):
        values = [float(cells[place]) for cells in rows if cells[place] and cells[7]]
        if values:
            mean = statistics.geometric_mean(values)
            print(f"{name}: geometric mean {mean:.3f} of {len(values)}, over the stronger setting")


def is_on_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


if __name__ == "__main__":
    main()
