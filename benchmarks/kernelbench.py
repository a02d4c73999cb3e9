"""`kernelwright bench` on a stated sample of KernelBench, its baselines beside figures of others.

    python benchmarks/kernelbench.py --path KernelBench --device cuda --jobs 4 --budget 40s

The sample is every fifth problem of levels 1, 2 and 3, beginning with the first (problems 1, 6,
11, ...): 20 + 20 + 10 problems, chosen by number and not by result. With ``--anchors FILE``
(columns level, problem, eager_ms, compile_ms, best_library_ms) the baselines are compared with
figures from elsewhere. All other options are those of `kernelwright bench`.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

STRIDE = 5


def compare(rows: list[dict[str, Any]], anchors: Path) -> None:
    """How this run's eager and strongest baselines stand beside the anchors'."""
    with anchors.open() as file:
        known = {(int(r["level"]), int(r["problem"])): r for r in csv.DictReader(file)}
    for name, column in (("eager", "eager_ms"), ("strongest", "best_library_ms")):
        ratios = []
        for row in rows:
            anchor = known.get((int(row["level"]), row["problem"]))
            if anchor is None or not row.get("baseline_ns") or not anchor[column]:
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
    parser.add_argument("--anchors", type=Path)
    parser.add_argument("--out", default="kernelwright-out/kernelbench")
    options, others = parser.parse_known_args()
    command = [sys.executable, "-m", "kernelwright", "bench", "--suite", "kernelbench"]
    command += ["--every", str(STRIDE), "--out", options.out]
    command += ["--archive", f"{options.out}/archive.sqlite", *others]
    done = subprocess.run(command, check=False)
    if options.anchors:
        told = json.loads(Path(options.out, "bench-kernelbench.json").read_text())
        compare(told["tasks"], options.anchors)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
