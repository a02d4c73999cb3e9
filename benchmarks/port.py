"""The port bench: pass rates of our translator, and of hipify-perl beside it.

    python benchmarks/port.py [--hipify CHECKOUT [--alone]] [--arch LIST] [--only WORD] [--json F]

For every program: compiled for gfx90a, gfx942 and gfx1100 (or LIST), and run under the emulation
at 32 and 64 lanes a wave under three schedules. hipify-perl is run from a checkout of its public
repository; it is no part of this one.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from kernelwright.propose.port import translate
from kernelwright.testing.port_bench import TARGETS, Outcome, Program, evaluate, programs


def ours(program: Program) -> str:
    return translate(program.source, file=f"{program.name}.cu").text


def hipify(script: Path) -> Callable[[Program], str]:
    """hipify-perl as a translator."""

    def run(program: Program) -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"{program.name}.cu")
            path.write_text(program.source)
            done = subprocess.run(
                ["perl", str(script), str(path)], capture_output=True, text=True, check=False
            )
        return done.stdout

    return run


def table(outcomes: list[Outcome]) -> str:
    """Pass rates by domain and in all."""
    rows: dict[str, list[Outcome]] = collections.defaultdict(list)
    for outcome in outcomes:
        rows[outcome.domain].append(outcome)
    rows["ALL"] = outcomes
    rows["with hazards"] = [o for o in outcomes if o.is_hazardous]
    lines = [f"{'domain':20}{'n':>4}{'compile':>9}{'run 32':>8}{'run 64':>8}"]
    for name, part in rows.items():
        counts = [
            sum(o.compiles() for o in part),
            *(sum(o.runs_at(w) for o in part) for w in (32, 64)),
        ]
        lines.append(f"{name:20}{len(part):4}{counts[0]:9}{counts[1]:8}{counts[2]:8}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hipify", type=Path, help="a checkout of ROCm/HIPIFY")
    parser.add_argument("--alone", action="store_true", help="hipify-perl without ours")
    parser.add_argument("--arch", default=",".join(TARGETS), help="AMD targets to compile for")
    parser.add_argument("--only", default="", help="programs whose names hold this word")
    parser.add_argument("--json", type=Path, help="write every outcome here")
    options = parser.parse_args()
    translators: dict[str, Callable[[Program], str]] = {"ours": ours}
    if options.hipify:
        translators["hipify-perl"] = hipify(options.hipify / "bin" / "hipify-perl")
    if options.alone:
        del translators["ours"]
    targets = [target for target in options.arch.split(",") if target]
    kept = {}
    for name, translator in translators.items():
        start, outcomes = time.perf_counter(), []
        for program in programs():
            if options.only in program.name:
                outcomes.append(evaluate(program, translator, targets=targets))
                for fault in outcomes[-1].faults[:2]:
                    print(f"{name}: {program.name}: {fault}", flush=True)
        print(f"\n{name}, {time.perf_counter() - start:.0f} s\n{table(outcomes)}\n", flush=True)
        kept[name] = [dataclasses.asdict(outcome) for outcome in outcomes]
    if options.json:
        options.json.write_text(json.dumps(kept, indent=1))


if __name__ == "__main__":
    main()
