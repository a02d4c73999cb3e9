"""A stated sample of KernelBench on this machine's GPU: verdict and baselines for each problem.

    python benchmarks/kernelbench.py --path KernelBench --device cuda --jobs 4 --budget 40s

The sample is every fifth problem of levels 1, 2 and 3, beginning with the first (problems 1, 6,
11, ...): 20 + 20 + 10 problems, chosen by number and not by result. Each problem is one
`kernelwright optimize` of its own; ``--jobs`` of them build side by side, while the judge's lock on
the device keeps measuring exclusive. With ``--anchors FILE`` (columns level, problem, eager_ms,
compile_ms, best_library_ms) the baselines are compared with figures from elsewhere.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

STRIDE = 5
LEVELS = (1, 2, 3)

Row = dict[str, Any]


def sample(path: Path, levels: list[int]) -> list[tuple[int, int, Path]]:
    """(level, problem, file) of the stated sample, in order."""
    found = []
    for level in levels:
        for file in (path / "KernelBench" / f"level{level}").glob("*.py"):
            problem = int(file.name.split("_")[0])
            if problem % STRIDE == 1:
                found.append((level, problem, file))
    return sorted(found)


def run(entry: tuple[int, int, Path], options: argparse.Namespace) -> Row:
    """Optimize one problem in a process of its own; its JSON object, with level and problem."""
    level, problem, file = entry
    command = [sys.executable, "-m", "kernelwright.cli", "optimize", str(file), "--json"]
    command += ["--device", options.device, "--budget", options.budget]
    command += ["--out", options.out, "--archive", f"sqlite:///{options.out}/{file.stem}.sqlite"]
    started = time.monotonic()
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=options.limit_s, check=False
        )
        answer = json.loads(done.stdout) if done.stdout else {"error": {"what": done.stderr[-300:]}}
    except subprocess.TimeoutExpired:
        answer = {"error": {"what": f"no end within {options.limit_s} s"}}
    row = {"level": level, "problem": problem, "name": file.stem, **answer}
    row["wall_s"] = round(time.monotonic() - started, 1)
    print(line(row), flush=True)
    return row


def line(row: Row) -> str:
    """One row of the printed table."""
    head = f"L{row['level']}/{row['problem']:<3} {row['name'][:44]:<44} {row['wall_s']:>6.1f}s "
    if "error" in row:
        error = row["error"]
        return head + f"error: {error.get('what', '')}: {error.get('seen', '')}".replace("\n", " ")
    counts = " ".join(f"{status}:{n}" for status, n in row["candidates"].items())
    baselines = " ".join(f"{k}={v / 1e6:.3f}ms" for k, v in row["baseline_ns"].items())
    if row["best"] is None:
        return head + f"library stays best ({row['strongest']})  {baselines}  [{counts}]"
    best = row["best"]
    speedup = best["speedup"][row["strongest"]]
    return head + (
        f"{best['dialect']:<6} {'/'.join(best['kinds']):<14} "
        f"{speedup['median']:.3f} [{speedup['low']:.3f}, {speedup['high']:.3f}] "
        f"vs {row['strongest']}  {baselines}  [{counts}]"
    )


def summary(rows: list[Row]) -> None:
    """Geometric means per level; a problem where the library stays best counts 1."""
    for level in LEVELS:
        gains = [gain(row) for row in rows if row["level"] == level and "error" not in row]
        if gains:
            print(
                f"level {level}: {len(gains)} problems, wins {sum(g > 1 for g in gains)}, "
                f"geometric mean {geometric_mean(gains):.3f}, median {median(gains):.3f}"
            )


def gain(row: Row) -> float:
    if row["best"] is None:
        return 1.0
    return max(1.0, row["best"]["speedup"][row["strongest"]]["median"])


def compare(rows: list[Row], anchors: Path) -> None:
    """How this run's eager and strongest baselines stand beside the anchors'."""
    with anchors.open() as file:
        known = {(int(r["level"]), int(r["problem"])): r for r in csv.DictReader(file)}
    for name, column in (("eager", "eager_ms"), ("strongest", "best_library_ms")):
        ratios = []
        for row in rows:
            anchor = known.get((row["level"], row["problem"]))
            if anchor is None or "error" in row or not anchor[column]:
                continue
            series = row["strongest"] if name == "strongest" else "eager"
            ratios.append(row["baseline_ns"][series] / 1e6 / float(anchor[column]))
        if ratios:
            print(
                f"{name} here / anchor: median {median(ratios):.3f}, "
                f"range {min(ratios):.3f} to {max(ratios):.3f} over {len(ratios)} problems"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--path", type=Path, required=True, help="a KernelBench checkout")
    parser.add_argument("--levels", type=int, nargs="*", default=list(LEVELS))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--budget", default="40s")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--limit-s", type=float, default=240.0, help="per problem")
    parser.add_argument("--total-s", type=float, default=1e9, help="start no problem after this")
    parser.add_argument("--out", default="kernelwright-out/kernelbench")
    parser.add_argument("--anchors", type=Path)
    options = parser.parse_args()
    stop = time.monotonic() + options.total_s

    def timely(entry: tuple[int, int, Path]) -> Row | None:
        return run(entry, options) if time.monotonic() < stop else None

    entries = sample(options.path, options.levels)
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = [row for row in pool.map(timely, entries) if row is not None]
    Path(options.out, "rows.json").write_text(json.dumps(rows, indent=1))
    print("\n".join(line(row) for row in rows))
    summary(rows)
    if options.anchors:
        compare(rows, options.anchors)


if __name__ == "__main__":
    main()
