"""How many programs of the port bench run as AMD instructions with their exact output.

    python benchmarks/port_isa.py [--target gfx1100] [--json FILE] [PROGRAM|DOMAIN ...]

Each program is translated by our rules, compiled for the target, and run with its kernels in the
emulator of instructions. The words: "agreed" (exact output, and instructions of its kernels were
executed), "no kernel" (exact output, but only libraries' kernels or none ran), "emulator gap" (an
instruction is unknown), "not compiled", "hangs" (no end within the limit), "wrong" (any other
output or fault). The last line gives the instructions (of whole waves) and the seconds of the runs.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from kernelwright.bench.port_bench import BenchProgram, chosen, ours
from kernelwright.dialects.simt import machine
from kernelwright.isa.host import environment, executed
from kernelwright.port.instructions import GAP, TARGETS, build
from kernelwright.port.programs import Program

WORDS = ("agreed", "no kernel", GAP, "not compiled", "hangs", "wrong")
LIMIT_S = 20.0


@dataclass(frozen=True)
class Outcome:
    """The result of one program."""

    program: str
    domain: str
    word: str
    instructions: int = 0
    run_s: float = 0.0
    detail: str = ""


def outcome(program: BenchProgram, target: str) -> Outcome:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        built = build(Program.of(ours(program), f"{program.name}.hip"), target, folder)
        if isinstance(built, str):
            return Outcome(program.name, program.domain, "not compiled", detail=built)
        report = folder / "report.json"
        how = machine.Running(limit_s=LIMIT_S, environment=environment(built[2], report))
        start = time.perf_counter()
        run = machine.run(built[0], width=TARGETS[target], how=how)
        seconds = time.perf_counter() - start
        done = executed(report)
    is_right = run.exit_code == 0 and run.output.strip() == program.expected
    if is_right:
        word, detail = ("agreed" if done.instructions else "no kernel"), ""
    elif run.exit_code == machine.LATE:
        word, detail = "hangs", f"no end within {LIMIT_S:g} s"
    elif done.fault.startswith(GAP):
        word, detail = GAP, done.fault
    else:
        word, detail = "wrong", done.fault or f"printed {run.output.strip()[:80]!r}"
    return Outcome(program.name, program.domain, word, done.instructions, seconds, detail)


def table(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the counts of words by domain, as lines."""
    domains = sorted({o.domain for o in outcomes})
    head = f"{'domain':24}" + "".join(f"{word:>14}" for word in WORDS)
    lines = [head]
    for domain in (*domains, ""):
        counts = Counter(o.word for o in outcomes if domain in ("", o.domain))
        lines.append(f"{domain or 'all':24}" + "".join(f"{counts[word]:14}" for word in WORDS))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", default="gfx1100", choices=list(TARGETS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("programs", nargs="*")
    given = parser.parse_args()
    outcomes = []
    for program in chosen(given.programs):
        outcomes.append(outcome(program, given.target))
        done = outcomes[-1]
        print(f"{done.program:32} {done.word:13} {done.instructions:10,} {done.detail}", flush=True)
    print("\n".join(table(outcomes)))
    agreed = [o for o in outcomes if o.word == "agreed"]
    n, seconds = sum(o.instructions for o in agreed), sum(o.run_s for o in agreed)
    print(f"{n:,} instructions of {given.target} in {seconds:.1f} s, starts of programs included")
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(o) for o in outcomes], indent=1))


if __name__ == "__main__":
    main()
